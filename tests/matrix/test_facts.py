"""Facts written down a second time, by rule instead of row by row, so that a slip in a data file is noticed."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.versions import numbers

from ..rows import for_each

OLD = "3.7 5.0 6.0 7.0"
MAXWELL_UP = "5.0 6.0 7.0 7.5 8.0 8.6 9.0"
TURING_UP = "7.5 8.0 8.6 9.0 10.0 12.0"
VOLTA_UP = "7.0 " + TURING_UP

# CUDA tag, first and last torch, machine code of the Linux x86_64 build (which Windows shares, see below).
X86 = [
    ("cu101", "1.8.0", "1.8.1", OLD), ("cu102", "1.8.0", "1.12.1", OLD),
    *((tag, "1.8.0", "2.0.1", OLD + " 7.5 8.0 8.6") for tag in ("cu111", "cu113", "cu115", "cu116", "cu117")),
    ("cu118", "2.0.0", "2.7.1", OLD + " 7.5 8.0 8.6 9.0"), ("cu121", "2.1.0", "2.5.1", MAXWELL_UP),
    ("cu124", "2.4.0", "2.6.0", MAXWELL_UP), ("cu126", "2.6.0", "2.15.0", MAXWELL_UP),
    ("cu128", "2.7.0", "2.7.1", TURING_UP), ("cu128", "2.8.0", "2.10.0", VOLTA_UP), ("cu128", "2.11.0", "2.11.0", TURING_UP),
    ("cu129", "2.8.0", "2.10.0", VOLTA_UP), ("cu129", "2.11.0", "2.13.0", TURING_UP),
    ("cu130", "2.9.0", "2.15.0", TURING_UP), ("cu132", "2.12.0", "2.15.0", TURING_UP),
    ("cu134", "2.14.0", "2.15.0", TURING_UP),
]  # fmt: skip
ARM = {
    "cu124": "9.0", "cu126": "8.0 9.0", "cu128": "8.0 9.0 10.0 12.0", "cu129": "8.0 9.0 10.0 12.0",
    "cu130": "8.0 9.0 10.0 11.0 12.0", "cu132": "8.0 9.0 10.0 11.0 12.0", "cu134": "8.0 9.0 10.0 11.0 12.0",
}  # fmt: skip


def _x86(tag: str, torch: str) -> str:
    return next(s for t, a, b, s in X86 if t == tag and numbers(a) <= numbers(torch) <= numbers(b))


def test_machine_code_of_every_build(m: Matrix) -> None:
    for build in m.builds:
        name = f"{build.torch} {build.tag} {build.platform}"
        held = " ".join(build.sass)
        if build.platform == "linux_x86_64":
            assert held == _x86(build.tag, build.torch), name
        elif build.platform == "linux_aarch64":
            old = numbers(build.torch) < (2, 8)  # without Ampere
            if build.confidence != "memory":
                assert held == (ARM[build.tag].removeprefix("8.0 ") if old else ARM[build.tag]), name
        else:
            # Windows and conda add 6.1 where Pascal is in, and 7.5 to the builds that lack it.
            wanted = set(_x86(build.tag, build.torch).split())
            wanted |= {"6.1", "7.5"} if "6.0" in wanted else {"7.5"}
            if (build.tag, build.platform) == ("cu129", "windows"):
                wanted.discard("7.0")
            assert set(build.sass) == wanted, name


PYTHONS = [
    # first torch of the span, first and last plain Python of the Linux x86_64 wheels
    ("1.8.0", "3.6", "3.9"), ("1.11.0", "3.7", "3.10"), ("1.13.0", "3.7", "3.11"), ("2.0.0", "3.8", "3.11"),
    ("2.2.0", "3.8", "3.12"), ("2.5.0", "3.9", "3.13"), ("2.9.0", "3.10", "3.14"), ("2.15.0", "3.11", "3.15"),
]  # fmt: skip


def test_pythons_of_every_release(m: Matrix) -> None:
    for row in m.releases:
        _, first, last = next(span for span in reversed(PYTHONS) if numbers(span[0]) <= numbers(row.torch))
        plain = [text for text in row.pythons_linux_x86_64 if not text.endswith("t")]
        wanted = [f"3.{minor}" for minor in range(numbers(first)[1], numbers(last)[1] + 1)]
        assert plain == wanted, row.torch
        assert m.python_for_torch(row.torch, f"3.{numbers(first)[1] - 1}").grade == "too-old"


def test_default_of_every_release(m: Matrix) -> None:
    spans = [("1.8.0", "cu102"), ("1.13.0", "cu117"), ("2.1.0", "cu121"), ("2.5.0", "cu124"), ("2.7.0", "cu126"),
             ("2.8.0", "cu128"), ("2.11.0", "cu130"), ("2.15.0", "cu132")]  # fmt: skip
    for row in m.releases:
        wanted = next(tag for first, tag in reversed(spans) if numbers(first) <= numbers(row.torch))
        assert row.pypi_linux_x86_64 == wanted
        assert row.pypi_windows == "cpu"
        arm = wanted if numbers(row.torch) >= (2, 11) else "none" if row.torch == "1.9.1" else "cpu"
        assert row.pypi_linux_aarch64 == arm


def test_companions_of_every_release(m: Matrix) -> None:
    """torchvision counts 0.15 at torch 2.0 (0.9 at 1.8), torchaudio takes torch's number from 2.0 on."""
    slips = {
        "1.10.0": "0.11.1", "1.10.1": "0.11.2", "1.10.2": "0.11.3", "2.0.0": "0.15.1", "2.0.1": "0.15.2",
        "2.14.0": "0.29.2", "2.14.1": "0.29.2", "2.15.0": "0.29.2",
    }  # fmt: skip
    for row in m.releases:
        major, minor, patch = numbers(row.torch)
        fits = {answer.package: answer for answer in m.companions(row.torch)}
        assert fits["torchvision"].version == slips.get(row.torch, f"0.{minor + (15 if major == 2 else 1)}.{patch}")
        audio = fits["torchaudio"].version
        if major == 1:
            assert audio == f"0.{minor}.{patch}"
        elif (major, minor) == (2, 0):
            assert audio == f"2.0.{patch + 1}"
        else:
            assert audio == (row.torch if minor <= 10 else "2.11.1")
        assert ("triton" in fits) == (major == 2)
        if major == 2:
            assert fits["triton"].version == row.triton.removeprefix("~=")
            assert fits["triton"].relation == ("~=" if minor >= 14 else "==")


END_OF_LIFE = {
    340: "2019-12-31", 390: "2022-11-22", 418: "2022-03", 440: "2020-11", 450: "2023-07", 460: "2022-01", 465: "2022-04-19", 470: "2024-07",
    495: "2022-10-12", 510: "2023-01", 515: "2023-05", 520: "2023-10", 525: "2023-12", 530: "2023-06-24", 535: "2026-06",
    545: "2024-10-01", 550: "2025-02", 555: "2025-06-01", 560: "2025-08-22", 565: "2025-10-01", 570: "2026-01-27",
    575: "2026-06-03", 580: "2028-06", 590: "2026-12-22", 595: "2027-03", 610: "2026-08", 620: "2029-09",
}  # fmt: skip
WINDOWS = {
    418: (418, 427), 440: (440, 446), 450: (451, 454), 470: (471, 475), 510: (511, 514), 520: (520, 522), 525: (526, 529),
    530: (531, 531), 535: (535, 539), 545: (545, 546), 550: (551, 553), 560: (560, 561), 565: (565, 566), 570: (570, 573),
    575: (575, 576), 580: (580, 582), 590: (591, 591), 595: (595, 596),
}  # fmt: skip


def test_every_branch(m: Matrix) -> None:
    rows = {row.branch: row for row in m.drivers}
    assert {branch: row.end_of_life for branch, row in rows.items() if row.end_of_life} == END_OF_LIFE
    for branch, span in WINDOWS.items():
        assert (rows[branch].windows_first, rows[branch].windows_last) == span
        assert m.driver_branch(f"{span[1]}.99", "windows").row is not None
    for branch, row in rows.items():
        oldest = (
            "1.0"
            if branch < 343
            else "2.0"
            if branch < 396
            else "3.0"
            if branch < 495
            else "5.0"
            if branch < 590
            else "7.5"
        )
        assert row.min_compute_capability == oldest
        rule = "none" if branch < 515 else "alpha" if branch < 545 else "beta" if branch < 560 else "default"
        assert row.open_module == (rule if branch < 590 else "only-turing-up")


FLOORS = """10.1.243 418.39 418.96; 11.0.3 450.51.06 451.82; 11.1.1 455.32 456.81; 11.2.2 460.32.03 461.33;
11.4.1 470.57.02 471.41; 11.4.4 470.82.01 472.50; 11.5.1 495.29.05 496.13; 11.6.2 510.47.03 511.65;
11.7.1 515.48.07 516.31; 11.8.0 520.61.05 520.06; 12.0.1 525.85.12 528.33; 12.1.1 530.30.02 531.14;
12.2.1 535.86.09 536.67; 12.2.2 535.104.05 537.13; 12.3.1 545.23.08 546.12; 12.4.1 550.54.15 551.78;
12.5.1 555.42.06 555.85; 12.6.1 560.35.03 560.94; 12.6.3 560.35.05 561.17; 12.8.1 570.124.06 572.61;
12.9.1 575.57.08 576.57; 13.0.1 580.82.07 -; 13.0.2 580.95.05 -; 13.1.1 590.48.01 -; 13.2.1 595.58.03 -"""


@for_each("line", FLOORS.replace("\n", " ").split("; "))
def test_floor_of_an_update(m: Matrix, line: str) -> None:
    version, linux, windows = line.split()
    row = m.toolkit(version)
    assert row is not None and (row.min_driver_linux, row.min_driver_windows or "-") == (linux, windows)


GCC = [("9.0", 6), ("9.2", 7), ("10.1", 8), ("11.0", 9), ("11.1", 10), ("11.4.1", 11), ("12.0", 12), ("12.4", 13),
       ("12.8", 14), ("13.0", 15), ("13.4", 16)]  # fmt: skip


def test_host_compiler_of_every_toolkit(m: Matrix) -> None:
    for row in m.toolkits:
        if row.host_gcc_max_major is not None:
            wanted = next(gcc for first, gcc in reversed(GCC) if numbers(first) <= numbers(row.version))
            assert row.host_gcc_max_major == wanted, row.version


def test_hosts_of_every_compat_package(m: Matrix) -> None:
    table = (535, 570, 580, 590, 595, 610, 615)
    for row in m.compat_packages:
        listed = (12, 2) <= numbers(row.cuda) <= (13, 4)
        assert tuple(map(int, row.hosts)) == (table if listed else ()), row.package
    images = {
        "11.8": (450, 470, 510, 515), "12.1": (470,), "12.2": (470, 525), "12.4": (470, 525, 535), "12.5": (470, 535, 550),
        "12.9": (535, 550, 560, 565, 570), "13.0": (535, 550, 565, 570, 575), "13.2": (535, 570, 580, 590),
    }  # fmt: skip
    held = {row.cuda: row.image_hosts for row in m.compat_packages}
    assert all(set(images[cuda]) <= set(held[cuda]) for cuda in images)


def test_cudnn_floor_of_every_release(m: Matrix) -> None:
    for row in m.cudnn_rows:
        version = numbers(row.version)
        if version < (7, 3):
            assert row.min_cc == {}
        elif version < (8, 0):
            assert set(row.min_cc.values()) == {"3.0"}
        elif version < (8, 8):
            assert row.min_cc == {"10": "3.0", "11": "3.5"}
        else:
            assert set(row.min_cc.values()) == {"5.0" if version < (9, 11) else "7.5"}


IDS = """Tesla K80=102D; Tesla P100-PCIE-16GB=15F8; Tesla P4=1BB3; Tesla P40=1B38; NVIDIA GeForce GTX 1080 Ti=1B06;
NVIDIA GeForce GTX 1080=1B80; Tesla V100-SXM2-16GB=1DB1; Tesla V100-SXM2-32GB=1DB5; Tesla V100-PCIE-16GB=1DB4; Tesla T4=1EB8;
NVIDIA GeForce RTX 2080 Ti=1E04; NVIDIA A100-SXM4-40GB=20B0; NVIDIA A100-PCIE-40GB=20F1; NVIDIA A100-SXM4-80GB=20B2;
NVIDIA A100 80GB PCIe=20B5; NVIDIA A30=20B7; NVIDIA A10=2236; NVIDIA A10G=2237; NVIDIA A40=2235; NVIDIA RTX A6000=2230;
NVIDIA GeForce RTX 3090=2204; NVIDIA GeForce RTX 3080=2206; NVIDIA GeForce RTX 4090=2684; NVIDIA L4=27B8; NVIDIA L40=26B5;
NVIDIA L40S=26B9; NVIDIA H100 80GB HBM3=2330; NVIDIA H100 PCIe=2331; NVIDIA H100 NVL=2321; NVIDIA H200=2335;
NVIDIA B200=2901; NVIDIA GeForce RTX 5090=2B85; NVIDIA GeForce RTX 5080=2C02"""


@for_each("pair", IDS.replace("\n", " ").split("; "))
def test_pci_id(m: Matrix, pair: str) -> None:
    name, device = pair.split("=")
    assert name in {row.name for row in m.gpu(pci_device_id=device).rows}
