"""What copies over a GPU's link should reach, and which share of its GPU a MIG slice has."""

from __future__ import annotations

import re
from statistics import mean
from typing import TYPE_CHECKING

from .expectation import FAIL, WARN, Expectation, Kind, measured_rows

if TYPE_CHECKING:
    from .rows_gpu import Gpu, GpuSpec
    from .store import Store

_LINK_SHARE = 0.8
"""For a PCIe generation without measured copies."""


def link_rate(m: Store, row: Gpu, spec: GpuSpec, mig: str, gen: int | None, width: int | None) -> Expectation:
    """The rate of copies to the GPU, by its chip-to-chip link or its PCIe generation and lanes."""
    if mig:
        return Expectation(basis="unknown", reason="a MIG slice's share of the copy engines is not listed")
    chip = [r for r in measured_rows(m).get(row.name, ()) if r.metric == "h2d_bw" and "C2C" in r.pattern]
    if chip:
        least, middle, best = (
            mean(column) for column in zip(*((r.least, r.median or 0.0, r.most) for r in chip), strict=True)
        )
        return Expectation(
            basis="measured",
            low=WARN * least,
            typical=middle,
            high=best,
            floor=FAIL * least,
            unit="GB/s",
            reason=f"copies measured on {row.name} (NVLink-C2C)",
            rows=tuple(chip),
        )
    if row.form_factor.startswith(("Grace", "SoC", "SoM")):
        return Expectation(basis="unknown", reason=f"no copy rates are listed for {row.name}'s link")
    gens = [int(g) for g in (spec.pcie_gen, gen) if g]
    widths = [int(w) for w in (spec.pcie_lanes, width) if w]
    rate = next((r for r in m.pcie if gens and r.gen == str(min(gens))), None)
    if rate is None or not rate.x16_gb_s or not widths:
        return Expectation(basis="unknown", reason=f"the PCIe link of {row.name} is not listed")
    share = min(widths) / 16
    numbers = [float(text) for text in re.findall(r"\d+(?:\.\d+)?", rate.measured_h2d_x16)]
    typical = mean(numbers) if numbers else _LINK_SHARE * rate.x16_gb_s
    return Expectation(
        basis="measured" if numbers else "peak",
        low=WARN * typical * share,
        typical=typical * share,
        high=max(numbers, default=rate.x16_gb_s) * share,
        floor=FAIL * typical * share if numbers else 0.0,
        peak=rate.x16_gb_s * share,
        unit="GB/s",
        reason=f"PCIe generation {rate.gen}, {min(widths)} lanes",
        rows=(rate,),
    )


def mig_fraction(m: Store, row: Gpu, spec: GpuSpec, kind: Kind, profile: str) -> float | None:
    """Share of the board's SMs or memory in a slice such as `1g.10gb`, or `1c.3g.40gb` (a third of a slice's SMs);
    1 without MIG, None if unknown."""
    if not profile:
        return 1.0
    parts = re.fullmatch(r"(?:(\d)c\.)?((\d)g\.(\d+)gb(?:[+-].*)?)", profile)
    if not parts or not row.mig_max_instances or not row.memory_gib:
        return None
    if kind == "memory":
        eighths = max(1, round(8 * float(parts[4]) / row.memory_gib))
        return min(1.0, eighths / 8)
    part = min(1.0, float(parts[1]) / float(parts[3])) if parts[1] and parts[3] != "0" else 1.0
    own = [r for r in m.mig_profiles if r.profile == parts[2] and row.name in re.split(r" / |, ", r.gpu)]
    if own and own[0].sm_count and spec.sm_count:
        return part * own[0].sm_count / spec.sm_count
    return part * min(1.0, float(parts[3]) / row.mig_max_instances)
