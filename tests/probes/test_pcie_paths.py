"""How GPUs and RDMA cards hang on the PCIe tree: a /sys of real files, as the kernel lays it out."""

from __future__ import annotations

from pathlib import Path

from doctor.snapshot import ABSENT, Missing, PciePath, known

from .tree import MODALIAS, Tree

SWITCH = "pci0000:00/0000:00:01.0/0000:02:00.0"
ACS_AT, OTHER_AT = 0x148, 0x100


def config(control: int | None, whole: bool = True) -> bytes:
    """A bridge's configuration space with an ACS capability behind another one; None: without."""
    space = bytearray(4096)
    space[OTHER_AT : OTHER_AT + 4] = (0x0001 | 2 << 16 | (ACS_AT if control is not None else 0) << 20).to_bytes(
        4, "little"
    )
    if control is not None:
        space[ACS_AT : ACS_AT + 4] = (0x000D | 1 << 16).to_bytes(4, "little")
        space[ACS_AT + 6 : ACS_AT + 8] = control.to_bytes(2, "little")
    return bytes(space if whole else space[:64])


def hang(tree: Tree, path: str, vendor: str = "10DE", nic: str = "", numa: str = "0", iommu: str = "DMA-FQ") -> None:
    """A device at a path below /sys/devices, in the list of PCI devices, and as a network card."""
    folder, address = f"/sys/devices/{path}", path.rpartition("/")[2]
    base, sub = ("02", "07") if nic else ("03", "02")
    tree.file(f"{folder}/modalias", MODALIAS.format(vendor=vendor, device="2330", base=base, sub=sub))
    tree.file(f"{folder}/numa_node", f"{numa}\n").file(f"{folder}/local_cpulist", "0-23,48-71\n")
    if iommu:
        tree.link(f"{folder}/iommu_group", "/sys/kernel/iommu_groups/" + address)
        tree.file(f"/sys/kernel/iommu_groups/{address}/type", f"{iommu}\n")
    tree.link(f"/sys/bus/pci/devices/{address}", f"../../../devices/{path}")
    if nic:
        tree.link(f"/sys/class/infiniband/{nic}", f"../../devices/{path}/infiniband/{nic}")
        tree.link(f"{folder}/infiniband/{nic}/device", "../..")


def bridge(tree: Tree, path: str, control: int | None, whole: bool = True) -> None:
    """A bridge with its configuration space."""
    tree.file(f"/sys/devices/{path}/config", config(control, whole))


def test_two_gpus_and_a_card_below_one_switch(tmp_path: Path) -> None:
    tree = Tree(tmp_path).kernel()
    hang(tree, f"{SWITCH}/0000:03:00.0/0000:04:00.0")
    hang(tree, f"{SWITCH}/0000:03:01.0/0000:05:00.0", numa="-1", iommu="")
    hang(tree, f"{SWITCH}/0000:03:02.0/0000:06:00.0", vendor="15B3", nic="mlx5_0", iommu="identity")
    bridge(tree, "pci0000:00/0000:00:01.0", 0x1D)
    bridge(tree, SWITCH, None)
    for port, control in (("00", 0x1D), ("01", 0x1), ("02", 0x1D)):
        bridge(tree, f"{SWITCH}/0000:03:{port}.0", control)
    paths = known(tree.look().driver.pcie_paths)
    above = ("pci0000:00", "0000:00:01.0", "0000:02:00.0")
    assert paths == (
        PciePath(address="0000:04:00.0", bridges=(*above, "0000:03:00.0"), numa_node=0, cpus="0-23,48-71",
                 iommu="DMA-FQ", acs_redirects=("0000:00:01.0", "0000:03:00.0")),
        PciePath(address="0000:05:00.0", bridges=(*above, "0000:03:01.0"), numa_node=ABSENT, cpus="0-23,48-71",
                 iommu=ABSENT, acs_redirects=("0000:00:01.0",)),
        PciePath(address="0000:06:00.0", bridges=(*above, "0000:03:02.0"), nic="mlx5_0", numa_node=0,
                 cpus="0-23,48-71", iommu="identity", acs_redirects=("0000:00:01.0", "0000:03:02.0")),
    )  # fmt: skip
    assert paths is not None and paths[0].shared(paths[2]) == 3


def test_registers_that_only_root_may_read(tmp_path: Path) -> None:
    tree = Tree(tmp_path).kernel()
    for bus in ("1", "2"):
        bridge(tree, f"pci0000:00/0000:00:0{bus}.0", 0x1D, whole=False)
        hang(tree, f"pci0000:00/0000:00:0{bus}.0/0000:0{bus}:00.0")
    paths = known(tree.look().driver.pcie_paths) or ()
    assert [path.acs_redirects for path in paths] == [
        Missing("denied", "only root can read the bridges' registers")
    ] * 2


def test_one_gpu_alone_is_not_asked_for(tmp_path: Path) -> None:
    tree = Tree(tmp_path).kernel()
    hang(tree, "pci0000:00/0000:00:01.0/0000:01:00.0")
    assert known(tree.look().driver.pcie_paths) is None


def test_a_capability_list_that_runs_in_a_circle_or_over_the_end(tmp_path: Path) -> None:
    for after in (0x100, 0xFFC, 0x40):
        tree = Tree(tmp_path / f"{after}").kernel()
        space = bytearray(4096)
        space[0x100:0x104] = (0x0001 | after << 20).to_bytes(4, "little")
        for bus in ("1", "2"):
            tree.file(f"/sys/devices/pci0000:00/0000:00:0{bus}.0/config", bytes(space))
            hang(tree, f"pci0000:00/0000:00:0{bus}.0/0000:0{bus}:00.0")
        assert [path.acs_redirects for path in known(tree.look().driver.pcie_paths) or ()] == [(), ()]
