"""What copies from GPU to GPU should reach, based on NVLink's generation and links, else on PCIe.

Copy engines reach 84 to 92 % of NVLink's rate (A100 276 of 300 GB/s, H100 380 of 450, GB300 769 of 900); clusters
accept nodes from 74 % on (335 of 450 on H100, 235 of 300 on A100). Over PCIe below one switch they are about as fast as
copies from the host; through the processors' root ports each platform has its own rate, so there is no range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .expectation import Expectation
from .performance import expected

if TYPE_CHECKING:
    from .rows_gpu import Gpu, GpuSpec
    from .store import Store

_LOW, _TYPICAL, _HIGH, _FLOOR = 0.7, 0.86, 0.95, 0.5
_ONE_SWITCH = 20
"""NVML's topology: 10 one switch, 20 several switches, 30 a root port, 40 a NUMA node, 50 between NUMA nodes."""
_PCIE_LOW, _PCIE_FLOOR = 0.6, 0.3


def peer_expected(
    m: Store,
    gpus: Sequence[Gpu],
    *,
    nvlinks: int = 0,
    topology: int | None = None,
    peer_access: bool = True,
    pcie_gen: int | None = None,
    pcie_width: int | None = None,
) -> Expectation:
    """The rate one way, GB/s, between two of these products. `nvlinks`: how many join the two; 0: PCIe, of
    `pcie_gen` and `pcie_width`, at NVML's `topology` level."""
    if not gpus:
        return Expectation(basis="unknown", reason="this GPU is not listed in this matrix")
    if nvlinks:
        return _nvlink(m, gpus, nvlinks)
    if not peer_access:
        return Expectation(basis="unknown", reason="copies go through host memory")
    if topology is None or topology > _ONE_SWITCH:
        return Expectation(basis="unknown", reason="copies go through the processor's PCIe root ports")
    host = expected(m, gpus, "h2d", pcie_gen=pcie_gen, pcie_width=pcie_width)
    if host.basis == "unknown":
        return host
    return Expectation(
        basis="peak",
        low=_PCIE_LOW * host.typical,
        typical=host.typical,
        high=host.high,
        floor=_PCIE_FLOOR * host.typical,
        peak=host.peak,
        unit="GB/s",
        reason=f"{host.reason}, on the same PCIe switch",
        rows=host.rows,
    )


def _nvlink(m: Store, gpus: Sequence[Gpu], links: int) -> Expectation:
    specs: dict[str, GpuSpec] = m.memo("gpu specs by id", lambda: {spec.id: spec for spec in m.gpu_specs})
    rows = [spec for gpu in gpus if (spec := specs.get(gpu.id)) and spec.nvlink_links and spec.nvlink_total_gb_s]
    rows = [spec for spec in rows if spec.nvlink_confidence != "memory"]
    if len(rows) < len(gpus):
        return Expectation(basis="unknown", reason=f"NVLink's rate on {gpus[0].name} is not reliably listed")
    # nvlink_total_gb_s counts both directions.
    peak = min(
        (s.nvlink_total_gb_s or 0.0) / 2 / (s.nvlink_links or 1.0) * min(links, s.nvlink_links or 0.0) for s in rows
    )
    generation = f" generation {rows[0].nvlink_gen:.0f}" if rows[0].nvlink_gen else ""
    return Expectation(
        basis="peak",
        low=_LOW * peak,
        typical=_TYPICAL * peak,
        high=_HIGH * peak,
        floor=_FLOOR * peak,
        peak=peak,
        unit="GB/s",
        reason=f"NVLink{generation}, {links} link{'s' * (links != 1)} on {gpus[0].name}",
        rows=tuple(rows),
    )
