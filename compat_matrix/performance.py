"""What a GPU should reach: measured rows of the same model first, else a share of its dense peak.

Bands are honest, not tight: single user-submitted samples differ by a tenth, boards at their power limit by more.
`low` is 80 % of the smallest comparable measurement (of the peak, where that is less), `floor` 60 % of the median and
only where this model was measured;
from a peak `low` is 80 % of the share that nine of ten listed models reach, at most half of the peak for a product
of matrices (L4, H100 PCIe and H100 NVL reach 57 to 66 %).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_gpu import Gpu, GpuSpec
    from .rows_more import Performance
    from .store import Store

Kind: TypeAlias = Literal["matmul", "memory", "h2d"]
WARN, FAIL = 0.8, 0.6
"""Shares of a reference below which a rate is low, and below which it is far too low."""
_SAFE_SHARE = 0.5
_FEW, _SHARE_OF_FEW = 5, 0.4
"""With fewer models than this measured in a data type, its low share of the peak."""
_SLOT_W, _THRIFT = 75.0, 0.6
"""A board on a slot's power holds its clocks for moments: a T4, 42 TFLOP/s of fp16 over 30 runs, does 24 over 100 (as
NVIDIA expects: forums.developer.nvidia.com, "About GPU peak performance")."""
_SLICE = 0.7
"""The few SMs of a MIG slice need not fill its share of the memory's bandwidth."""
_LINK_SHARE = 0.8
"""Of a PCIe generation whose copies nobody measured."""
_SANE = (60.0, 100.0)
"""Percent of the nameplate between which a bandwidth row is believed; DCGM's list has rows off by orders."""
_PEAK = {
    "fp32": "fp32_tflops", "tf32": "tf32_tensor_tflops", "fp16": "fp16_tensor_fp32acc_tflops",
    "bf16": "bf16_tensor_tflops", "fp8": "fp8_tensor_fp32acc_tflops", "int8": "int8_tensor_tops",
}  # fmt: skip
_TORCH = ("matmul_tflops", "matmul_tflops_best_shape")
_MATMUL = (*_TORCH, "gemm_tops")
_PLAIN = ("fp32", "tf32", "fp16", "bf16")
"""Data types whose rows are of torch.matmul; those of fp8 and int8 are of the best of many shapes or of another
library."""
_COPY_LIKE = ("scale (copy-like)", "dcgmproftester 1005")
"""Best first; the second reads more than it writes and stays some percent below a copy."""
_APART = ("Laptop", "Thor", "Orin")
"""Their peaks in the table are those of one of many power settings."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What a rate should be. basis: measured (this model), peak (a share of its dense peak), unknown (see reason).

    low: below it the rate is low; floor: below it something is wrong (0: this basis cannot say so).
    """

    basis: Literal["measured", "peak", "unknown"]
    low: float = 0.0
    typical: float = 0.0
    high: float = 0.0
    floor: float = 0.0
    peak: float = 0.0
    """Dense peak, nameplate bandwidth or the link's rate; 0 where not listed."""
    unit: str = ""
    reason: str = ""
    rows: tuple[Row, ...] = ()


def expected(
    m: Store,
    gpus: Sequence[Gpu],
    kind: Kind,
    what: str = "",
    *,
    power_limit_w: float | None = None,
    power_default_w: float | None = None,
    mig_profile: str = "",
    pcie_gen: int | None = None,
    pcie_width: int | None = None,
) -> Expectation:
    """The expectation for one of these products (`m.gpu(...).rows`); where they differ, the widest band."""
    if not gpus:
        return Expectation(basis="unknown", reason="this GPU is not listed in this matrix")
    found = [_one(m, row, kind, what, mig_profile, pcie_gen, pcie_width) for row in gpus]
    if unknown := [e for e in found if e.basis == "unknown"]:
        return unknown[0]
    ratio = min((_power_ratio(m, row, power_limit_w, power_default_w) for row in gpus), default=1.0)
    if kind == "h2d" or mig_profile:  # the link does not follow the limit; a slice rarely reaches the board's
        ratio = 1.0
    # Speed falls less than power does; bandwidth less still.
    low, typical = (ratio, ratio**0.5) if kind == "matmul" else (ratio**0.5, ratio**0.25)
    first = found[0]
    scaled = ratio < 1.0
    return Expectation(
        basis=first.basis if len({e.basis for e in found}) == 1 else "peak",
        low=min(e.low for e in found) * low,
        typical=median(e.typical for e in found) * typical,
        high=max(e.high for e in found),
        floor=0.0 if scaled else min(e.floor for e in found),
        peak=max(e.peak for e in found),
        unit=first.unit,
        reason=first.reason + (f", for a power limit of {ratio:.0%} of the usual one" if scaled else ""),
        rows=tuple({id(row): row for e in found for row in e.rows}.values()),
    )


def _one(m: Store, row: Gpu, kind: Kind, what: str, mig: str, gen: int | None, width: int | None) -> Expectation:
    specs: dict[str, GpuSpec] = m.memo("gpu specs by id", lambda: {spec.id: spec for spec in m.gpu_specs})
    spec = specs.get(row.id)
    if spec is None:
        return Expectation(basis="unknown", reason=f"no specifications of {row.name} are listed")
    if kind == "h2d":
        return _link(m, row, spec, mig, gen, width)
    if row.form_factor.startswith("SoM"):
        return Expectation(basis="unknown", reason=f"the speed of {row.name} follows its power mode")
    thrift = _THRIFT if kind == "matmul" and spec.tdp_w and spec.tdp_w <= _SLOT_W else 1.0
    if kind == "memory":
        peak, unit, measured = spec.mem_bw_gb_s, "GB/s", _bandwidth_rows(m, row.name)
        shares = _shares(m, "memory", what)
    else:
        peak = getattr(spec, _PEAK[what], None) if what in _PEAK else None
        unit = "TOP/s" if what == "int8" else "TFLOP/s"
        own = _rows(m).get(row.name, ()) if what in _PLAIN else ()
        measured = [r for r in own if r.metric in _TORCH and r.pattern == what]
        shares = _shares(m, "matmul", what)
    if not peak:
        return Expectation(basis="unknown", reason=f"{row.name} has no listed peak for {what or kind}")
    fraction = _mig_fraction(m, row, spec, kind, mig)
    if fraction is None:
        return Expectation(basis="unknown", reason=f"MIG profile {mig} of {row.name} is not listed")
    if measured and not mig and row.form_factor != "laptop":
        # Of several samples one may be an outlier (an RTX 3080 at 42 % of the others), and a sample above the peak is
        # of a board that boosts above its listed clock: not every board does.
        least = min(peak, *(max(r.min or 0.0, FAIL * (r.median or 0.0)) for r in measured))
        best = max(r.max or r.median or 0.0 for r in measured)
        middle = median(r.median or 0.0 for r in measured)
        return Expectation(
            basis="measured",
            low=thrift * WARN * least,
            typical=middle,
            high=best,
            floor=thrift * FAIL * min(middle, peak, least / WARN),
            peak=peak,
            unit=unit,
            reason=f"rates measured on {row.name}",
            rows=tuple(measured),
        )
    least, middle, most = shares
    least *= thrift * (_SLICE if mig and kind == "memory" else 1.0)
    return Expectation(
        basis="peak",
        low=least * peak * fraction,
        typical=middle * peak * fraction,
        high=most * peak * fraction,
        peak=peak * fraction,
        unit=unit,
        reason=f"a share of the {'nameplate' if kind == 'memory' else 'dense peak'} of {row.name}"
        + (f" in a MIG slice {mig}" if mig else ""),
        rows=(spec,),
    )


def _rows(m: Store) -> dict[str, list[Performance]]:
    def make() -> dict[str, list[Performance]]:
        index: dict[str, list[Performance]] = {}
        for row in m.performance:
            if row.gpu_name and not row.gpu_name.startswith("Orin"):  # four modules of one name
                index.setdefault(row.gpu_name, []).append(row)
        return index

    return m.memo("performance by gpu", make)


def _bandwidth_rows(m: Store, name: str) -> list[Performance]:
    for pattern in _COPY_LIKE:
        if found := [r for r in _rows(m).get(name, ()) if r.pattern == pattern and _sane(r)]:
            return found
    return []


def _sane(row: Performance) -> bool:
    low = 70.0 if row.pattern == _COPY_LIKE[0] else _SANE[0]
    return row.metric == "device_memory_bw" and low <= (row.median_pct or 0.0) <= _SANE[1]


def _shares(m: Store, kind: str, what: str) -> tuple[float, float, float]:
    """(low, typical, high) share of the peak over every listed model."""

    def make() -> tuple[float, float, float]:
        found = sorted(
            (row.median_pct or 0.0) / 100
            for row in m.performance
            if row.median_pct
            and not any(word in row.gpu_name for word in _APART)
            and (_sane(row) if kind == "memory" else row.metric in _MATMUL and row.pattern == what)
        )
        if len(found) < _FEW:
            return _SHARE_OF_FEW, found[len(found) // 2] if found else 0.7, 1.0
        low = WARN * found[len(found) // 10]
        return low if kind == "memory" else min(low, _SAFE_SHARE), median(found), found[int(len(found) * 0.9)]

    return m.memo(f"shares of {kind} {what if kind == 'matmul' else ''}", make)


def _power_ratio(m: Store, row: Gpu, limit: float | None, default: float | None) -> float:
    """Of the board's default, or of the listed TDP where that is more: older laptop GPUs have the desktop's name."""
    usual = max([default or 0.0, *(spec.tdp_w or 0.0 for spec in m.gpu_specs if spec.id == row.id)])
    return min(1.0, limit / usual) if limit and usual else 1.0


def _mig_fraction(m: Store, row: Gpu, spec: GpuSpec, kind: Kind, profile: str) -> float | None:
    """Share of the board's SMs or memory that a slice such as `1g.10gb`, or `1c.3g.40gb`, a third of the SMs of one,
    has; 1 without MIG, None where not known."""
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


def _link(m: Store, row: Gpu, spec: GpuSpec, mig: str, gen: int | None, width: int | None) -> Expectation:
    if mig:
        return Expectation(basis="unknown", reason="a MIG slice has a share of the copy engines that is not listed")
    chip = [r for r in _rows(m).get(row.name, ()) if r.metric == "h2d_bw" and "C2C" in r.pattern]
    if chip:
        least, middle, best = (mean(getattr(r, f) or 0.0 for r in chip) for f in ("min", "median", "max"))
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
        return Expectation(basis="unknown", reason=f"copies over the link of {row.name} are not listed")
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
