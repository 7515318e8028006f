"""What a GPU should reach: measured rows of the same model first, else a share of its dense peak.

Bands are honest, not tight: sound boards differ by a tenth, boards at their power limit by more. `low` is 90 % of the
smallest comparable measurement, or less if the samples of that row differ by more (80 % at least). `floor` is 60 % of
the median and set only if this model was measured, or comes from what NVIDIA accepts for it (memory); from a peak,
`low` is what the slowest board in the same pool reaches (GeForce separate from data-center and workstation boards: in
TF32 the former reach about 104 % of the peak, the latter 59 to 98 %), and 80 % of that for GeForce, whose pool is
narrow. Boards powered only by their slot say nothing about others.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from .expectation import FAIL, WARN, Expectation, Kind, measured_rows, rows_of
from .performance_link import link_rate, mig_fraction

if TYPE_CHECKING:
    from .rows_gpu import Gpu, GpuSpec
    from .rows_more import Performance
    from .store import Store

_SAFE_SHARE = 0.5
"""Share of the peak, for data types whose rows are the best of many shapes."""
_BARELY = 0.97
"""Lower than the slowest of many boards at many power limits, by more than two runs differ."""
_FEW, _SHARE_OF_FEW = 5, 0.4
"""With fewer models than this measured in a data type, its low share of the peak."""
_SLOT_W, _THRIFT = 75.0, 0.6
"""A board powered only by its slot holds its clocks briefly: a T4 does 42 TFLOP/s in fp16 over 30 runs, 24 over 100 (as
NVIDIA expects: forums.developer.nvidia.com, "About GPU peak performance")."""
_SUSTAINED = "sustained"
"""In the conditions of a row whose smallest sample is of large products, which reach the power limit of many boards."""
_GEFORCE = "consumer"
_SLICE = 0.55
"""The few SMs of a MIG slice may not use its full share of the memory bandwidth."""
_SANE = (60.0, 100.0)
"""Range, in percent of the nameplate, in which a bandwidth row is plausible; DCGM's list has rows that are far off."""
_SOUND = 0.9
"""Sound boards and tools differ by up to a tenth."""
_PEAK = {
    "fp32": "fp32_tflops", "tf32": "tf32_tensor_tflops", "fp16": "fp16_tensor_fp32acc_tflops",
    "bf16": "bf16_tensor_tflops", "fp8": "fp8_tensor_fp32acc_tflops", "int8": "int8_tensor_tops",
    "fp4": "fp4_tensor_tflops",
}  # fmt: skip
_TORCH = ("matmul_tflops", "matmul_tflops_best_shape")
_MATMUL = (*_TORCH, "gemm_tops")
_PLAIN = ("fp32", "tf32", "fp16", "bf16")
"""Data types whose rows come from torch.matmul; fp8 and int8 rows are the best of many shapes or from another library,
and there are none for fp4."""
_BANDWIDTH = "device_memory_bw"
_COPY_LIKE = ("copy", "scale (copy-like)")
"""Patterns of device_memory_bw that are as fast as a copy. Small peer copies are not among them: on H100
boards p2pBandwidthLatencyTest shows 2,570 GB/s, where copies of 0.27 to 2 GiB reach 2,900 to 3,020."""
_TRIAD = "triad"
"""Reads twice as much as it writes, which is a few percent faster than a copy, so it is not used for the lowest."""
_ACCEPTED = ("dcgmproftester 1005", "memory bandwidth test", "tool not named")
"""Tools that gave the value in a comment of DCGM's list of products, from which its thresholds come: mixed units, an
H100 at 2,540 GB/s that copies 3,000. Not a measure of what is usual."""
_MOST_KEPT = 4096
"""Number of cached answers."""
_APART = ("Laptop", "Thor", "Orin")
"""Their peaks in the table are for one of many power settings."""


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
    """The expectation for one of these products (`m.gpu(...).rows`); if they differ, the widest band."""
    if not gpus:
        return Expectation(basis="unknown", reason="this GPU is not listed in this matrix")
    known: dict[tuple[object, ...], tuple[Sequence[Gpu], Expectation]] = m.memo("expectations", dict)
    key = (*map(id, gpus), kind, what, power_limit_w, power_default_w, mig_profile, pcie_gen, pcie_width)
    if key not in known:
        if len(known) >= _MOST_KEPT:
            known.clear()
        link = mig_profile, pcie_gen, pcie_width
        known[key] = gpus, _expected(m, gpus, kind, what, power_limit_w, power_default_w, *link)  # the ids stay theirs
    return known[key][1]


def _expected(
    m: Store, gpus: Sequence[Gpu], kind: Kind, what: str, power_limit_w: float | None, power_default_w: float | None,
    mig_profile: str, pcie_gen: int | None, pcie_width: int | None,
) -> Expectation:  # fmt: skip
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
        reason=first.reason + (f", scaled to a power limit that is {ratio:.0%} of the usual one" if scaled else ""),
        rows=tuple({id(row): row for e in found for row in e.rows}.values()),
    )


def _one(m: Store, row: Gpu, kind: Kind, what: str, mig: str, gen: int | None, width: int | None) -> Expectation:
    specs: dict[str, GpuSpec] = m.memo("gpu specs by id", lambda: {spec.id: spec for spec in m.gpu_specs})
    spec = specs.get(row.id)
    if spec is None:
        return Expectation(basis="unknown", reason=f"no specifications for {row.name} are listed")
    if kind == "h2d":
        return link_rate(m, row, spec, mig, gen, width)
    if row.form_factor.startswith("SoM"):
        return Expectation(basis="unknown", reason=f"the speed of {row.name} depends on its power mode")
    thrift = _thrift(spec) if kind == "matmul" else 1.0
    if kind == "memory":
        peak, unit, measured = spec.mem_bw_gb_s, "GB/s", _bandwidth_rows(m, row.name)
        shares = _shares(m, "memory", what, row.segment)
    else:
        peak = getattr(spec, _PEAK[what], None) if what in _PEAK else None
        unit = "TOP/s" if what == "int8" else "TFLOP/s"
        metrics = _TORCH if what in _PLAIN else _TORCH[:1]
        measured = [r for r in measured_rows(m).get(row.name, ()) if r.metric in metrics and r.pattern == what]
        shares = _shares(m, "matmul", what, row.segment)
    if not peak:
        return Expectation(basis="unknown", reason=f"{row.name} has no listed peak for {what or kind}")
    fraction = mig_fraction(m, row, spec, kind, mig)
    if fraction is None:
        return Expectation(basis="unknown", reason=f"MIG profile {mig} for {row.name} is not listed")
    if measured and not mig and row.form_factor != "laptop":
        held = any(_SUSTAINED in r.conditions for r in measured)
        thrift = 1.0 if held else thrift
        least = min(map(_least, measured))
        faster = [r for r in measured_rows(m).get(row.name, ()) if kind == "memory" and r.pattern == _TRIAD]
        best = max(r.most for r in (*measured, *faster))
        middle = median(r.median or 0.0 for r in measured)
        return Expectation(
            basis="measured",
            low=thrift * min(_sound_share(r) * _least(r) for r in measured),
            typical=middle,
            high=best,
            # An old torch or cuBLAS lacks good kernels for the newer types: slow, and no fault of the board.
            floor=thrift * FAIL * min(middle, peak, least if held else least / WARN)
            if kind == "memory" or what in _PLAIN
            else 0.0,
            peak=peak,
            unit=unit,
            reason=f"rates measured on {row.name}",
            rows=tuple(measured),
        )
    least, middle, most = shares
    least *= thrift * (_SLICE if mig and kind == "memory" else 1.0)
    low, floor = least * peak * fraction, 0.0
    if kind == "memory" and not mig and (accepted := _accepted(m, row.name)):
        low = min(low, WARN * accepted)
        floor = FAIL * accepted if _SANE[0] <= 100 * accepted / peak else 0.0
    return Expectation(
        basis="peak",
        low=low,
        typical=middle * peak * fraction,
        high=most * peak * fraction,
        floor=floor,
        peak=peak * fraction,
        unit=unit,
        reason=f"a share of {row.name}'s {'nameplate bandwidth' if kind == 'memory' else 'dense peak'}"
        + (f" in a {mig} MIG slice" if mig else ""),
        rows=(spec,),
    )


def _bandwidth_rows(m: Store, name: str) -> list[Performance]:
    return [r for r in measured_rows(m).get(name, ()) if _sane(r)]


def _least(row: Performance) -> float:
    """The smallest sample. Of several, one may be an outlier: an RTX 3080 at 42 % of the others."""
    return max(row.least, FAIL * (row.median or 0.0))


def _sound_share(row: Performance) -> float:
    """Share of a row's smallest sample that a sound board may still have: the samples themselves may differ by more.

    Where the smallest is of large products, the largest is of the best size or a burst of the same board: no spread.
    """
    most = (row.median if _SUSTAINED in row.conditions else row.most) or 1.0
    return max(WARN, min(_SOUND, row.least / most))


def _accepted(m: Store, name: str) -> float:
    """The lowest value that NVIDIA's own check of this board's memory accepts, in GB/s; 0 if none is listed."""
    rows = [r for r in rows_of(m).get(name, ()) if r.metric == _BANDWIDTH and r.pattern in _ACCEPTED]
    return median([r.median or 0.0 for r in rows] or [0.0])


def _sane(row: Performance) -> bool:
    """A measured copy in device memory; one tool reached only 66 % on an H200 because of its own kernel."""
    if row.kind != "measured" or row.metric != _BANDWIDTH or row.pattern not in _COPY_LIKE:
        return False
    return row.pattern == _COPY_LIKE[0] or 70.0 <= row.percent <= _SANE[1]


def _usual(row: Performance) -> bool:
    """A copy that is representative of other boards: the few SMs of an H20 cannot use all of its bandwidth (56 %)."""
    return _sane(row) and row.percent >= 70.0


def _thrift(spec: GpuSpec) -> float:
    """The share of its clocks that a board can sustain within its power limit."""
    return spec.sustained_share or (_THRIFT if spec.tdp_w and spec.tdp_w <= _SLOT_W else 1.0)


def _shares(m: Store, kind: str, what: str, segment: str) -> tuple[float, float, float]:
    """(low, typical, high) share of the peak over every listed model in the pool; over all models if it has too few."""

    def make() -> tuple[float, float, float]:
        segments = {row.name: row.segment for row in m.gpus}
        thrifty = {row.name for row in m.gpus if (spec := specs.get(row.id)) and _thrift(spec) < 1.0}
        every = [
            row
            for row in m.performance
            if row.percent
            and not any(word in row.gpu_name for word in _APART)
            and (kind == "memory" or row.gpu_name not in thrifty)
            and row.kind == "measured"
            and (_usual(row) if kind == "memory" else row.metric in _MATMUL and row.pattern == what)
        ]
        pool = [row for row in every if (segments.get(row.gpu_name) == _GEFORCE) is geforce]
        pool = pool if len(pool) >= _FEW else every
        found = sorted(row.percent / 100 for row in pool)
        if len(found) < _FEW:
            return _SHARE_OF_FEW, found[len(found) // 2] if found else 0.7, 1.0
        low = found[0] * (WARN if geforce or kind == "memory" else _BARELY)
        if kind == "matmul" and what not in _PLAIN:
            low = min(WARN * found[0], _SAFE_SHARE)
        return low, median(found), found[int(len(found) * 0.9)]

    geforce = segment == _GEFORCE
    specs: dict[str, GpuSpec] = m.memo("gpu specs by id", lambda: {spec.id: spec for spec in m.gpu_specs})
    return m.memo(f"shares of {kind} {what if kind == 'matmul' else ''} {'geforce' if geforce else ''}", make)


def _power_ratio(m: Store, row: Gpu, limit: float | None, default: float | None) -> float:
    """Share of the board's default, or of the listed TDP if that is more: older laptop GPUs have the desktop's name."""
    usual = max([default or 0.0, *(spec.tdp_w or 0.0 for spec in m.gpu_specs if spec.id == row.id)])
    return min(1.0, limit / usual) if limit and usual else 1.0
