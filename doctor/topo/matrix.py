"""The matrix of links between devices: what it holds, and nvidia-smi's words for a link."""

from __future__ import annotations

from msgspec import Struct

LEGEND = {
    "X": "the device itself",
    "SYS": "PCIe and the link between NUMA nodes (QPI, UPI)",
    "NODE": "PCIe and the link between host bridges of one NUMA node",
    "PHB": "PCIe and a host bridge, usually the CPU's",
    "PXB": "several PCIe bridges, but no host bridge",
    "PIX": "at most one PCIe bridge",
    "NV#": "a bond of # NVLinks",
    "PSB": "two GPUs on one board",
}
SLOWEST_FIRST = ("SYS", "NODE", "PHB", "PXB", "PIX", "PSB")


class Gap(Exception):
    """A fact that is missing, in one line."""


class Device(Struct, frozen=True, kw_only=True):
    """A GPU or a NIC. model: as its maker names it; nic: what a NIC is called by the system; '' where not known."""

    name: str
    model: str = ""
    cpu_affinity: str = ""
    numa: str = ""
    nic: str = ""
    pcie_gen: int | None = None
    pcie_gen_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    nvlinks_up: int | None = None
    nvlinks_built: int | None = None
    fabric_state: int | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU."""
        return self.name.startswith("GPU")


class Table(Struct, frozen=True, kw_only=True):
    """links[i][j]: what lies between devices i and j (X, SYS ... PIX, NV4); notes: what else the source tells."""

    devices: tuple[Device, ...]
    links: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def between_gpus(self) -> list[str]:
        """Each two GPUs' link, once."""
        gpus = [i for i, device in enumerate(self.devices) if device.is_gpu]
        return [self.links[i][j] for at, i in enumerate(gpus) for j in gpus[at + 1 :]]

    def between_each(self) -> list[list[str]]:
        """Each GPU's links to all GPUs, itself included."""
        gpus = [i for i, device in enumerate(self.devices) if device.is_gpu]
        return [[self.links[i][j] for j in gpus] for i in gpus]

    def bonds(self) -> list[list[int]]:
        """How many NVLinks join each two GPUs."""
        return [[int(cell[2:]) if cell.startswith("NV") else 0 for cell in row] for row in self.between_each()]

    def nearest_nics(self) -> dict[str, list[str]]:
        """NICs on the shortest way from each GPU."""
        found = {}
        nics = [j for j, device in enumerate(self.devices) if not device.is_gpu]
        for i, device in enumerate(self.devices):
            ranks = {j: SLOWEST_FIRST.index(self.links[i][j]) for j in nics if self.links[i][j] in SLOWEST_FIRST}
            if device.is_gpu and ranks:
                best = max(ranks.values())
                found[device.name] = [self.devices[j].name for j, rank in ranks.items() if rank == best]
        return found
