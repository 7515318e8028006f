"""The matrix of links of a Snapshot's facts: NVML's answers for GPUs, sysfs for network cards and affinity."""

from __future__ import annotations

from collections.abc import Iterable

from ..snapshot import CudaDevice, Gpu, GpuPair, Missing, PciePath, Snapshot, known
from .matrix import Device, Gap, Table

_LEVELS = {0: "PSB", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t."""
_FABRIC_READY = 3
_PEER = {1: "the chipset does not support it", 2: "the GPU does not support it", 3: "the I/O hub does not support it",
         4: "switched off in the driver's settings", 5: "not supported"}  # fmt: skip
"""nvmlGpuP2PStatus_t."""


def of_snapshot(s: Snapshot) -> Table:
    """The matrix of a Snapshot's GPUs and RDMA cards. Raises Gap if a fact for it is missing."""
    gpus = known(s.gpus)
    if not gpus and _none_on_bus(s):
        raise Gap(
            "there is no NVIDIA GPU here (according to the PCI bus), so there are no links to show; to paste a "
            "table, use gpudoctor topo -"
        )
    if isinstance(s.gpus, Missing) and s.gpus.reason == "not-asked":
        raise Gap("the given facts include no GPU; to paste the output of nvidia-smi topo -m, use gpudoctor topo -")
    if not gpus:
        why = "NVML lists no GPU" if gpus is not None else "NVML did not list the GPUs"
        raise Gap(f"{why}; gpudoctor check on that machine shows why; to paste a table, use gpudoctor topo -")
    names = {gpu.key: f"GPU{at if known(gpu.index) is None else known(gpu.index)}" for at, gpu in enumerate(gpus)}
    paths = known(s.driver.pcie_paths) or ()
    of_gpu = {path.address: path for path in paths if not path.nic}
    hung = [of_gpu.get(known(gpu.pci_address) or "") for gpu in gpus]
    cards = [path for path in paths if path.nic] if all(hung) else []
    cells = [[*row, *("" for _ in cards)] for row in _between_gpus(gpus, known(s.gpu_pairs) or (), names)]
    whole = [*hung, *cards]
    cells += [["" for _ in whole] for _ in cards]
    for i, one in enumerate(whole):
        for j, other in enumerate(whole):
            if max(i, j) >= len(gpus) and one is not None and other is not None:
                cells[i][j] = "X" if i == j else _level(one, other)
    devices = [_device(gpu, names[gpu.key], path) for gpu, path in zip(gpus, hung, strict=True)]
    devices += [
        Device(name=f"NIC{at}", nic=card.nic, cpu_affinity=known(card.cpus) or "", numa=_numa(card))
        for at, card in enumerate(cards)
    ]
    notes = [*_peer_notes(s, gpus, names), *_detours(of_gpu.values())]
    if len(gpus) > 1 and not all(hung):
        notes.append("CPU and NUMA affinity and NICs are not known here; nvidia-smi topo -m shows them")
    return Table(devices=tuple(devices), links=tuple(tuple(row) for row in cells), notes=tuple(notes))


def _none_on_bus(s: Snapshot) -> bool:
    """The PCI list was read, and is one on which a GPU would stand (WSL's, a Mac's and a Jetson's are not)."""
    tegra = any(node.kind == "tegra" for node in known(s.driver.device_nodes) or ())
    if s.host.wsl in (1, 2) or s.host.system == "darwin" or tegra:
        return False
    devices = known(s.driver.pci_devices)
    return bool(devices) and all(device.vendor != "10de" for device in devices or ())


def _between_gpus(gpus: tuple[Gpu, ...], pairs: Iterable[GpuPair], names: dict[str, str]) -> list[list[str]]:
    order = {gpu.key: at for at, gpu in enumerate(gpus)}
    cells = [["X" if i == j else "" for j in range(len(gpus))] for i in range(len(gpus))]
    for pair in pairs:
        if pair.a in order and pair.b in order:
            i, j = order[pair.a], order[pair.b]
            cells[i][j] = cells[j][i] = _link(gpus[i], gpus[j], pair, len(gpus), f"{names[pair.a]} and {names[pair.b]}")
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if not cell:
                raise Gap(f"the given facts do not show what connects {names[gpus[i].key]} and {names[gpus[j].key]}")
    return cells


def _link(a: Gpu, b: Gpu, pair: GpuPair, count: int, both: str) -> str:
    """NV# by the links that end at the other GPU, else by those to a switch, else by what all GPUs have."""
    direct, up = known(pair.nvlinks), known(a.nvlink_active)
    if direct:
        return f"NV{direct}"
    if known(pair.p2p_nvlink) == 0:
        switched = min(known(a.nvlinks_to_switch) or 0, known(b.nvlinks_to_switch) or 0)
        if switched:
            return f"NV{switched}"
        if not up or not (known(a.fabric_state) == _FABRIC_READY or (count == 2 and direct is None)):
            raise Gap(f"{both} are connected by NVLink, but the given facts do not show by how many links")
        return f"NV{up}"
    topology = known(pair.topology)
    return "" if topology is None else _LEVELS.get(topology, "")


def _level(one: PciePath, other: PciePath) -> str:
    """What lies between two devices by their ways down the PCIe tree, as nvidia-smi and NCCL name such levels."""
    common = one.shared(other)
    if not common:
        same = known(one.numa_node) == known(other.numa_node)  # neither has one: a machine of one node
        return "NODE" if same else "SYS"
    if common == 1:
        return "PHB"
    return "PIX" if len(one.bridges) - common <= 1 and len(other.bridges) - common <= 1 else "PXB"


def _numa(path: PciePath) -> str:
    node = known(path.numa_node)
    return "N/A" if node is None else f"{node}"


def _device(gpu: Gpu, name: str, path: PciePath | None) -> Device:
    up, down = known(gpu.nvlink_active), known(gpu.nvlink_inactive)
    return Device(
        name=name,
        model=known(gpu.name) or "",
        cpu_affinity=(known(path.cpus) or "") if path else "",
        numa=_numa(path) if path else "",
        pcie_gen=known(gpu.pcie_gen),
        pcie_gen_max=known(gpu.pcie_gen_max),
        pcie_width=known(gpu.pcie_width),
        pcie_width_max=known(gpu.pcie_width_max),
        nvlinks_up=up,
        nvlinks_built=None if up is None or down is None else up + down,
        fabric_state=known(gpu.fabric_state),
    )


def _peer_notes(s: Snapshot, gpus: tuple[Gpu, ...], names: dict[str, str]) -> list[str]:
    """Who may read whose memory, by NVML and by CUDA."""
    blocked: dict[str, list[str]] = {}
    pairs = known(s.gpu_pairs) or ()
    for pair in pairs:
        status = known(pair.p2p_read)
        if status and pair.a in names and pair.b in names:
            why = _PEER.get(status, f"NVML status {status}")
            blocked.setdefault(why, []).append(f"{names[pair.a]} and {names[pair.b]}")
    notes = [f"no peer access between {_first(who)}: {why}" for why, who in blocked.items()]
    if len(gpus) > 1 and not blocked and all(known(pair.p2p_read) == 0 for pair in pairs):
        notes.append("peer access (NVML): between all GPUs")
    devices = known(s.driver.cuda_devices) or ()
    if len(devices) > 1 and all(known(device.peers) is not None for device in devices):
        alone = _without_peer(devices, {known(gpu.pci_address): names[gpu.key] for gpu in gpus})
        notes.append(f"no peer access in CUDA: {_first(alone)}" if alone else "peer access (CUDA): between all GPUs")
    return notes


def _without_peer(devices: tuple[CudaDevice, ...], names: dict[str | None, str]) -> list[str]:
    def name(device: CudaDevice) -> str:
        return names.get(known(device.pci_address), f"CUDA device {device.ordinal}")

    return [
        f"{name(a)} to {name(b)}"
        for a in devices
        for b in devices
        if a.ordinal != b.ordinal and b.ordinal not in (known(a.peers) or ())
    ]


def _first(names: list[str]) -> str:
    return ", ".join(names[:4]) + ", ..." * (len(names) > 4)


def _detours(paths: Iterable[PciePath]) -> list[str]:
    """What ACS and the IOMMU do to traffic between devices."""
    listed = list(paths)
    notes = []
    bridges = sorted({bridge for path in listed for bridge in known(path.acs_redirects) or ()})
    if bridges:
        notes.append(f"ACS redirects traffic between devices at {_first(bridges)}, so it goes through the host bridge")
    elif listed and all(known(path.acs_redirects) is not None for path in listed):
        notes.append("ACS: no bridge above a GPU redirects traffic between devices")
    elif listed:
        notes.append("ACS: unknown, because only root can read it (lspci -vvv shows ACSCtl)")
    kinds = sorted({known(path.iommu) or "" for path in listed} - {""})
    if kinds:
        through = [kind for kind in kinds if kind != "identity"]
        notes.append(
            f"IOMMU: on; the GPUs' groups have type {', '.join(kinds)}"
            + (", so it translates the addresses of their traffic" if through else ", which changes no addresses")
        )
    elif listed:
        notes.append("IOMMU: the GPUs are not in any group")
    return notes
