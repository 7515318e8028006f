"""Copy rates from GPU to GPU, compared with the link between the two: NVLink, one PCIe switch, or the CPUs."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from ..snapshot import Gpu, GpuPair, PairProof, Snapshot, known
from ..snapshot.siblings import below_siblings
from .measured_gpu import gpu_of
from .measured_rates import Knows, load_of, number

Way: TypeAlias = Literal["nvlink", "switch", "host", "nodes", "unknown"]
"""What copies go over: NVLink; PCIe below one switch; through a processor; between NUMA nodes."""
WORDS: dict[Way, str] = {
    "nvlink": "NVLink", "switch": "PCIe, one switch", "host": "PCIe through the CPU",
    "nodes": "PCIe between NUMA nodes", "unknown": "PCIe",
}  # fmt: skip
ALIKE_SHARE = 0.6
"""Of the median of the pairs that are joined in the same way."""
_FULL_FABRIC = 3
"""NVML's fabric state of a GPU that has joined its NVSwitches."""
_MESH = 4
"""The most peers that boards without a switch join each other with by NVLink (DGX-1)."""


class Link(NamedTuple):
    """One direction of a pair. `band`: `compat_matrix.Expectation`; `nvlinks`: how many join the two; `alike`: the
    median of the other pairs of this kind, where this one is far below it."""

    pair: PairProof
    gpus: tuple[Gpu | None, Gpu | None]
    way: Way
    nvlinks: int
    band: Any
    busy: bool
    alike: float = 0.0

    @property
    def gb_s(self) -> float:
        return known(self.pair.gb_s) or 0.0

    @property
    def low(self) -> bool:
        """Below the range of the link between the two, or far below the pairs that are joined alike."""
        return bool(self.gb_s and ((self.band.basis != "unknown" and self.gb_s < self.band.low) or self.alike))

    @property
    def names(self) -> str:
        return f"{self.pair.source} to {self.pair.target}"

    def figures(self) -> str:
        """`cuda:0 to cuda:1 12 GB/s (normal: 315 to 428)`."""
        words = f"{self.names} {number(self.gb_s)} GB/s"
        if self.band.basis != "unknown":
            words += f" (normal: {number(self.band.low)} to {number(self.band.high)})"
        return words + (f" (pairs with the same kind of link: {number(self.alike)})" if self.alike else "")


def links(s: Snapshot, m: Knows) -> list[Link]:
    """Every direction of every pair that was measured; those of MIG slices and of wrong data are omitted."""
    found = []
    for pair in known(s.measured.pairs) or ():
        ends = gpu_of(s, pair.source), gpu_of(s, pair.target)
        if known(pair.gb_s) and known(pair.right) and not any(gpu and known(gpu.mig_enabled) for gpu in ends):
            found.append(_link(s, m, pair, ends))
    groups: dict[tuple[object, ...], dict[str, float]] = {}
    for link in found:
        groups.setdefault(_kind(link), {})[link.names] = link.gb_s
    low = {name: median for group in groups.values() for name, median in below_siblings(group, ALIKE_SHARE).items()}
    return [Link(*link[:-1], low.get(link.names, 0.0)) for link in found]


def _kind(link: Link) -> tuple[object, ...]:
    models = sorted(str(known(gpu.name)) if gpu else "" for gpu in link.gpus)
    return (link.way, link.nvlinks, known(link.pair.peer_access), *models)


def _link(s: Snapshot, m: Knows, pair: PairProof, ends: tuple[Gpu | None, Gpu | None]) -> Link:
    a, b = ends
    fact = _fact(s, a, b) if a and b else None
    nvlinks = _nvlinks(s, a, b, fact) if a and b else 0
    topology = known(fact.topology) if fact else None
    way: Way = "nvlink" if nvlinks else _way(topology)
    rows = [row for gpu in ends if gpu for row in _rows(m, gpu)]
    loads = [load_of(s.measured, gpu.key, "copy") for gpu in ends if gpu]
    gens = [known(load.pcie_gen) for load in loads if load] + [known(gpu.pcie_gen_max) for gpu in ends if gpu]
    widths = [known(load.pcie_width) for load in loads if load] + [known(gpu.pcie_width) for gpu in ends if gpu]
    band = m.peer_expected(
        rows,
        nvlinks=nvlinks,
        topology=topology,
        peer_access=known(pair.peer_access) is not False,
        pcie_gen=min((gen for gen in gens if gen), default=None),
        pcie_width=min((width for width in widths if width), default=None),
    )
    proofs = [p for p in known(s.measured.torch) or () if p.device in (pair.source, pair.target)]
    busy = any(proof.busy for proof in proofs) or any(load and known(load.others) for load in loads)
    return Link(pair, ends, way, nvlinks, band, bool(busy))


def _way(topology: int | None) -> Way:
    if topology is None:
        return "unknown"
    return "switch" if topology <= 20 else "host" if topology <= 40 else "nodes"


def _rows(m: Knows, gpu: Gpu) -> Any:
    return m.gpu(
        known(gpu.name), known(gpu.pci_device_id), known(gpu.pci_subsystem_id), known(gpu.memory_total_mib)
    ).rows


def _fact(s: Snapshot, a: Gpu, b: Gpu) -> GpuPair | None:
    return next((pair for pair in known(s.gpu_pairs) or () if {pair.a, pair.b} == {a.key, b.key}), None)


def _nvlinks(s: Snapshot, a: Gpu, b: Gpu, fact: GpuPair | None) -> int:
    """How many links join two GPUs at least: all of them through a switch, else the peers' share of them."""
    active = min(known(a.nvlink_active) or 0, known(b.nvlink_active) or 0)
    if not active or fact is None or known(fact.p2p_nvlink) != 0:
        return 0
    peers = max(_peers(s, a), _peers(s, b))
    if peers > _MESH or _FULL_FABRIC in (known(a.fabric_state), known(b.fabric_state)):
        return active
    return max(1, active // peers)


def _peers(s: Snapshot, gpu: Gpu) -> int:
    return sum(known(pair.p2p_nvlink) == 0 and gpu.key in (pair.a, pair.b) for pair in known(s.gpu_pairs) or ())
