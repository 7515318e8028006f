"""Which product is it: names that are prefixes of each other, shared PCI ids, MIG, vGPU, memory sizes."""

from __future__ import annotations

from pathlib import Path

from compat_matrix import Matrix
from compat_matrix.gpus import pci_id, subsystem_id
from compat_matrix.versions import numbers

from ..rows import for_each


@for_each(
    ("name", "capability"),
    [
        ("NVIDIA A10", "8.6"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40", "8.9"),
        ("NVIDIA L40S", "8.9"),
        ("NVIDIA H100", "9.0"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA GB200", "10.0"),
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("Tesla T4", "7.5"),
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("NVIDIA GeForce GTX 1080", "6.1"),
        ("NVIDIA Thor", "11.0"),
        ("NVIDIA GeForce RTX 3050 A Laptop GPU", "8.9"),
    ],
)
def test_whole_name(m: Matrix, name: str, capability: str) -> None:
    found = m.gpu(name=name)
    assert [row.name for row in found.rows] == [name]
    assert found.exact and found.capability == capability


def test_every_listed_name_and_id_finds_its_row(m: Matrix) -> None:
    for row in m.gpus:
        memory = row.memory_mib[0] if row.memory_mib else int((row.memory_gib or 0) * 1024)
        for device in row.device_ids or (None,):
            assert row in m.gpu(row.name, device, memory_mib=memory).rows, row.id


def test_a_prefix_is_not_a_name(m: Matrix) -> None:
    assert m.gpu(name="NVIDIA H10").rows == ()
    assert m.gpu(name="NVIDIA GeForce RTX 30").rows == ()
    assert m.gpu(name="NVIDIA GeForce RTX 3080").rows != m.gpu(name="NVIDIA GeForce RTX 3080 Ti").rows
    assert not m.gpu(name="").exact and not m.gpu().exact


def test_short_names_find_candidates_but_are_not_exact(m: Matrix) -> None:
    found = m.gpu(name="RTX 5090")
    assert [row.name for row in found.rows] == ["NVIDIA GeForce RTX 5090"] and not found.exact


def test_words_of_a_name_find_every_board_that_holds_them(m: Matrix) -> None:
    assert m.gpu(name="A100").rows == (), "a live name is compared whole"
    found = m.gpus_like("A100")
    assert found.capability == "8.0" and len(found.rows) > 1 and not found.exact
    assert {row.name for row in m.gpus_like("H100 NVL").rows} >= {"NVIDIA H100 NVL"}
    for no_board in ("NVIDIA GPU", "GeForce", "", "A1000000"):
        assert m.gpus_like(no_board).capability == ""


def test_mig_and_vgpu_names(m: Matrix) -> None:
    mig = m.gpu(name="NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    assert mig.capability == "9.0" and not mig.exact
    assert m.gpu(name="NVIDIA A40-48Q").capability == "8.6"
    assert m.gpu(name="NVIDIA GeForce RTX 4090 (UUID: GPU-0)").capability == "8.9"


def test_one_device_id_two_products(m: Matrix) -> None:
    assert {row.name for row in m.gpu(pci_device_id="25B6").rows} == {"NVIDIA A2", "NVIDIA A16"}
    assert [row.name for row in m.gpu(pci_device_id=0x25B610DE, pci_subsystem_id=0x14A910DE).rows] == ["NVIDIA A16"]
    assert [row.name for row in m.gpu(pci_device_id="0x25b6", pci_subsystem_id="10DE:157E").rows] == ["NVIDIA A2"]
    assert [row.name for row in m.gpu(name="NVIDIA A2", pci_device_id="25B6").rows] == ["NVIDIA A2"]


@for_each(
    ("device", "subsystem", "name"),
    [
        ("1E30", "1028:129E", "Quadro RTX 8000"),
        ("1E30", "103C:129E", "Quadro RTX 8000"),
        ("1E30", "1028:12BA", "Quadro RTX 6000"),
        ("2BB3", "1028:227A", "NVIDIA RTX PRO 5000 72GB Blackwell"),
        ("2BB3", "17AA:204D", "NVIDIA RTX PRO 5000 Blackwell"),
        ("249C", "1028:0A61", "NVIDIA GeForce RTX 3080 Laptop GPU"),
        ("249C", "1D05:1194", "NVIDIA GeForce RTX 3060 Laptop GPU"),
        ("25A0", "103C:8928", "NVIDIA GeForce RTX 3050 Ti Laptop GPU"),
        ("25A2", "1028:0BAF", "NVIDIA GeForce RTX 3050 Ti Laptop GPU"),
        ("25A2", "1028:0A61", "NVIDIA GeForce RTX 3050 Laptop GPU"),
    ],
)
def test_vendors_have_subsystems_of_their_own(m: Matrix, device: str, subsystem: str, name: str) -> None:
    """As NVIDIA's README lists them: the same board has a subsystem of each vendor that sells it."""
    assert [row.name for row in m.gpu(pci_device_id=device, pci_subsystem_id=subsystem).rows] == [name]


def test_mig_profiles_name_gpus_of_the_table(m: Matrix) -> None:
    names = {row.name for row in m.gpus}
    assert {name for row in m.mig_profiles for name in row.gpu.split(" / ")} <= names


def test_memory_tells_equal_names_apart(m: Matrix) -> None:
    assert len(m.gpu(name="Orin (nvgpu)").rows) == 4
    small = m.gpu(name="Orin (nvgpu)", memory_mib=7620)
    assert [row.memory_gib for row in small.rows] == [8]
    two = m.gpu(pci_device_id="17FD")
    assert len(two.rows) == 2
    assert [row.memory_gib for row in m.gpu(pci_device_id="17FD", memory_mib=24576).rows] == [24]
    assert [row.memory_gib for row in m.gpu(pci_device_id="17FD", memory_mib=11519).rows] == [12]


def test_name_and_id_in_disagreement(m: Matrix) -> None:
    found = m.gpu(name="NVIDIA L4", pci_device_id="2330")
    assert not found.exact and "disagree" in found.reason
    assert [row.name for row in found.rows] == ["NVIDIA H100 80GB HBM3"]


def test_unlisted_hardware(m: Matrix) -> None:
    assert m.gpu(name="NVIDIA Graphics Device").rows == ()
    new_id = m.gpu(name="NVIDIA H100 PCIe", pci_device_id="FFFF")
    assert new_id.capability == "9.0" and not new_id.exact


@for_each(
    ("value", "wanted"),
    [
        ("0x2330", "2330"),
        ("2330", "2330"),
        (0x233010DE, "2330"),
        (0x2330, "2330"),
        ("0x233010DE", "2330"),
        ("zz", None),
        (None, None),
        (-1, None),
        ("0x1234567890", None),
    ],
)
def test_pci_ids(value: str | int | None, wanted: str | None) -> None:
    assert pci_id(value) == wanted


def test_subsystem_ids() -> None:
    assert subsystem_id(0x16C110DE) == subsystem_id("0x16C110DE") == subsystem_id("10de:16c1") == "10DE:16C1"
    assert subsystem_id("?") is None and subsystem_id(None) is None


def test_by_capability(m: Matrix) -> None:
    assert {row.name for row in m.gpu_by_capability("12.1")} >= {"NVIDIA GB10"}
    assert m.gpu_by_capability("99.9") == ()


@for_each(
    ("name", "capability"),
    [
        ("NVIDIA GeForce MX150", "6.1"),
        ("GTX 1650 Ti", "7.5"),
        ("Quadro T1000", "7.5"),
        ("940MX", "5.0"),
        ("GeForce GTX 460", "2.1"),
        ("Tesla C2050", "2.0"),
        ("GeForce 210", "1.2"),
        ("Quadro 4000", "2.0"),
        ("GRID K2", "3.0"),
        ("GeForce GT 730", ""),
        ("GTX 560 Ti", ""),
        ("GeForce GTX 9999", ""),
    ],
)
def test_boards_beside_the_table(m: Matrix, name: str, capability: str) -> None:
    """Old, laptop and entry-level boards; one name may stand for several chips."""
    found = m.gpu(name=name)
    assert found.capability == capability
    assert not found.exact
    for row in found.rows:
        level = m.compute_capability(row.cc)
        assert level is not None and row.architecture == level.architecture and row.open_module == level.open_module


def test_boards_by_pci_device(m: Matrix) -> None:
    assert [row.name for row in m.gpu(pci_device_id="0x104A").rows] == ["GeForce GT 610"]
    assert {row.cc for row in m.gpu("GeForce GT 730", "0F02").rows} == {"2.1"}, "the device tells which of them"
    assert m.gpu(pci_device_id="0xFFFF").rows == ()


def test_every_board_is_found_by_its_name_and_device(m: Matrix) -> None:
    for board in m.boards:
        assert board.cc in {row.cc for row in m.gpu(board.name).rows}, board.name
        for device in board.device_ids:
            assert m.gpu(board.name, device).rows, board.name


def test_every_device_of_the_open_modules_readme_is_known(m: Matrix) -> None:
    """Without a driver the PCI device is all there is: it gives the capability, and the README's name goes with it."""
    lines = Path(__file__).with_name("open_module_devices.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    wrong = []
    for device, first, name in rows:
        alone, named = m.gpu(pci_device_id=device), m.gpu(name, device)
        if (
            not alone.capability and device != "29BB"
        ) or named.capability != alone.capability:  # 29BB: none is published
            wrong.append(f"{device} {name}: {alone.capability!r} alone, {named.capability!r} with its name")
        wrong += [
            f"{device} {name}: {row.id} is listed from {row.first_driver_listed} on, its device from {first}"
            for row in alone.rows
            if row.device_ids == (device,) and row.first_driver_listed
            if numbers(row.first_driver_listed) < numbers(first)
        ]
    assert len(rows) == 293
    assert not wrong, "\n".join(wrong)
    assert min(numbers(row.first_driver_listed) for row in m.gpus if row.first_driver_listed) == (515, 48, 7)


@for_each(
    ("device", "name", "capability"),
    [
        ("1E90", "GeForce RTX 2080 Mobile", "7.5"),
        ("1F15", "GeForce RTX 2060 Mobile", "7.5"),
        ("1F99", "GeForce GTX 1650 Mobile", "7.5"),
        ("21D1", "GeForce GTX 1660 Ti Mobile", "7.5"),
        ("25EC", "GeForce RTX 3050 6GB Laptop GPU", "8.6"),
        ("2DF9", "RTX PRO 500 Blackwell Embedded GPU", "12.0"),
    ],
)
def test_a_laptop_without_a_driver_is_known_by_its_device(m: Matrix, device: str, name: str, capability: str) -> None:
    found = m.gpu(pci_device_id=device)
    assert name in {row.name for row in found.rows} and found.capability == capability
