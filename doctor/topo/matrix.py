"""The matrix of links between devices, from a text or of a Snapshot's facts."""

from __future__ import annotations

from msgspec import Struct

from ..snapshot import Snapshot, known

LEGEND = {
    "X": "the device itself",
    "SYS": "PCIe and the link between NUMA nodes (QPI, UPI)",
    "NODE": "PCIe and the link between host bridges of one NUMA node",
    "PHB": "PCIe and a host bridge, usually the CPU's",
    "PXB": "several PCIe bridges, no host bridge",
    "PIX": "one PCIe bridge at most",
    "NV#": "a bond of # NVLinks",
    "PSB": "two GPUs of one board",
}
SLOWEST_FIRST = ("SYS", "NODE", "PHB", "PXB", "PIX", "PSB")
_LEVELS = {0: "PSB", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t."""
_FABRIC_READY = 3
_PEER = {1: "the chipset does not support it", 2: "the GPU does not support it", 3: "the I/O hub between them does not",
         4: "switched off in the driver's settings", 5: "not supported"}  # fmt: skip
"""nvmlGpuP2PStatus_t."""


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


def of_snapshot(s: Snapshot) -> Table:
    """The matrix of a Snapshot's GPUs. Raises Gap where a fact for it is missing."""
    gpus = known(s.gpus)
    if gpus is None:
        raise Gap("the list of GPUs is not known: there is no matrix")
    if not gpus:
        raise Gap("there is no GPU")
    names = {gpu.key: f"GPU{at if known(gpu.index) is None else known(gpu.index)}" for at, gpu in enumerate(gpus)}
    order = {gpu.key: at for at, gpu in enumerate(gpus)}
    cells = [["X" if i == j else "" for j in range(len(gpus))] for i in range(len(gpus))]
    blocked: dict[str, list[str]] = {}
    pairs = known(s.gpu_pairs) or ()
    for pair in pairs:
        if pair.a not in order or pair.b not in order:
            continue
        i, j = order[pair.a], order[pair.b]
        both = f"{names[pair.a]} and {names[pair.b]}"
        up = known(gpus[i].nvlink_active)
        topology = known(pair.topology)
        level = "" if topology is None else _LEVELS.get(topology, "")
        if known(pair.p2p_nvlink) == 0:
            switched = known(gpus[i].fabric_state) == _FABRIC_READY
            if not up or not (switched or len(gpus) == 2):
                raise Gap(f"{both} are joined by NVLink, but how many of their links join them is not in these facts")
            level = f"NV{up}"
        cells[i][j] = cells[j][i] = level
        status = known(pair.p2p_read)
        if status:
            blocked.setdefault(_PEER.get(status, f"NVML status {status}"), []).append(both)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if not cell:
                raise Gap(f"what lies between {names[gpus[i].key]} and {names[gpus[j].key]} is not in these facts")
    notes = [f"no peer access between {', '.join(who[:4])}{', ...' * (len(who) > 4)}: {why}"
             for why, who in blocked.items()]  # fmt: skip
    if len(gpus) > 1 and not blocked and all(known(pair.p2p_read) == 0 for pair in pairs):
        notes.append("peer access (NVML): between all GPUs")
    notes.append("CPU and NUMA affinity and NICs are not among these facts: nvidia-smi topo -m shows them")
    devices = []
    for gpu in gpus:
        up, down = known(gpu.nvlink_active), known(gpu.nvlink_inactive)
        devices.append(
            Device(
                name=names[gpu.key],
                model=known(gpu.name) or "",
                pcie_gen=known(gpu.pcie_gen),
                pcie_gen_max=known(gpu.pcie_gen_max),
                pcie_width=known(gpu.pcie_width),
                pcie_width_max=known(gpu.pcie_width_max),
                nvlinks_up=up,
                nvlinks_built=None if up is None or down is None else up + down,
                fabric_state=known(gpu.fabric_state),
            )
        )
    return Table(devices=tuple(devices), links=tuple(tuple(row) for row in cells), notes=tuple(notes))
