"""Rates that are below their range: one finding for each GPU, weaker if something explains them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..findings import Check, Finding, Findings, Fix, Matrix, Policy
from ..findings.measured_rates import Ranged, below_default, ranged, share
from ..snapshot import Load, Missing, NeedsFact, Snapshot, known
from ..snapshot.measured import MEAN_OF_S
from ._boards import is_laptop, is_vgpu
from ._loads import LEAST_SAMPLES
from ._measured import measured, none_of

CAPPED_PERCENT = 25.0
AT_LIMIT = 0.9
"""Share of the current power limit at which the limit counts as holding a GPU back."""
BY_CLOCK = 0.9
"""A rate falls with the clock, and varies between two runs."""
FAR_BELOW = 0.66
"""Share of what is usual on this model, below which the power limit does not explain it."""
UNSEEN = 0.88
"""Share of the range's low end, down to which a power limit may be the reason where NVML does not show the power."""
_NEW_TYPES = ("fp8", "int8", "fp4")
"""Their range is a guess from few GPUs."""
_NO_GUESS = 20
"""Percent of it, below which a missing kernel does not explain them."""
Explain = Callable[[list[Ranged]], tuple[str, tuple[Fix, ...]]]


def low_rates(
    about: Check, s: Snapshot, m: Matrix, p: Policy, kind: str, what: str, explain: Explain, steps: tuple[str, ...] = ()
) -> Findings:
    """`what`: what the rates measure; `explain`: causes, likeliest first, and fixes, for the low rates of one GPU.

    UNKNOWN with the figures if the matrix does not list the GPU; a remark if the GPU was busy with other work, was
    measured at a smaller size, drew its own default power limit and its clock explains the rate, or is a little low
    while its power is not shown; failing only below the floor of a measured reference, on a GPU that is seen to be free
    and is not slowed down.
    """
    found_by = measured(s)
    found = ranged(s, m, kind)
    if not found:
        raise none_of(found_by, kind, *steps)
    nobody: list[Ranged] = []
    by_subject: dict[str, list[Ranged]] = {}
    for one in found:
        by_subject.setdefault(one.subject, []).append(one)
    for own in by_subject.values():
        if all(r.band.basis == "unknown" for r in own):
            nobody += own
            continue
        low = [r for r in own if r.low]
        if low:
            yield _finding(about, s, m, low, what, explain, p)
    if not nobody and (why := _left_out(s, found, kind, steps)):
        raise NeedsFact("measured.rates", Missing("error", why))
    if nobody:
        reason = f"{nobody[0].name}: {nobody[0].band.reason}. Measured: {', '.join(r.figures() for r in nobody)}"
        raise NeedsFact("compat_matrix", Missing("absent", reason))


def _left_out(s: Snapshot, found: list[Ranged], kind: str, steps: tuple[str, ...]) -> str:
    """For GPUs that have no such rate while others do: what ended there; '' if there are none."""
    seen = {r.rate.device for r in found}
    for end in s.measured.ended:
        here = end.agent == "torch_speed" and end.device.startswith("cuda:") and end.device not in seen
        if here and end.step.startswith(steps or (kind,)):
            return f"{end.device}: {end.step}: {end.detail or end.fault}"
    return ""


def _finding(
    about: Check, s: Snapshot, m: Matrix, low: list[Ranged], what: str, explain: Explain, p: Policy
) -> Finding:
    bare = [r for r in low if not _excuse(s, m, r)]  # one rate's excuse is not the others'
    worst = min(bare or low, key=lambda r: (r.band.basis != "measured", r.percent))
    words = [f"Measured: {'; '.join(r.figures() for r in low)}. The normal range comes from {worst.band.reason}."]
    facts: dict[str, Any] = {"rates": [r.facts() for r in low], **worst.facts()}
    excuse = _excuse(s, m, worst)
    if not excuse and all(r.rate.what in _NEW_TYPES and r.percent >= _NO_GUESS for r in bare):
        excuse = "Other matmuls are fast, so this torch most likely has no good 8-bit and 4-bit kernels for this GPU."
    causes, fixes = explain(low)
    free = worst.gpu is not None and worst.load is not None and known(worst.load.others) == 0
    slowed = worst.load is not None and share(worst.load, "sw-thermal", "hw-thermal", "power-brake") > 0
    slowed = slowed or (worst.rate.kind == "matmul" and share(worst.load, "power-cap") >= CAPPED_PERCENT)
    failing = any(r.far_too_low for r in low) and free and not slowed
    make = about.remark if excuse else about.fail if failing else about.warn
    name = f"{worst.name} ({worst.slice})" if worst.slice and worst.slice not in worst.name else worst.name
    return make(
        f"{name} reaches {worst.percent} % of the usual {what}",
        " ".join([*words, excuse or causes]).strip(),
        facts=facts,
        subject=worst.subject,
        fixes=() if excuse else fixes,
        direct=worst.band.basis == "measured",
    )


def _excuse(s: Snapshot, m: Matrix, r: Ranged) -> str:
    """Why a low rate is not the GPU's fault; '' if nothing explains it."""
    if r.busy:
        what = "was working on this GPU" if r.at_work else "also has a context on this GPU"
        return f"Another program {what}, so this result says little: measure again when the GPU is free."
    for end in s.measured.ended:
        if end.device == r.rate.device and "made smaller" in end.detail and end.step.endswith(r.rate.what):
            return "Little memory was free, so a smaller size was measured."
    if r.gpu and (is_vgpu(r.gpu) or is_laptop(m, r.gpu)):
        return "The speed of a virtual or laptop GPU depends on its host or chassis."
    if r.rate.kind == "matmul" and not below_default(r.gpu, r.load) and _power_explains(r):
        return "The GPU ran at its default power limit, which matmuls with random numbers reach on many boards."
    if r.rate.kind == "matmul" and _power_is_unseen(r.load) and r.rate.value >= UNSEEN * r.band.low:
        return "NVML does not show how much power the GPU drew, so it may have been at its power limit."
    return ""


def _power_is_unseen(load: Load | None) -> bool:
    return load is None or (known(load.power_w) is None and isinstance(load.reasons, Missing))


def _power_explains(r: Ranged) -> bool:
    """Whether it drew all the power it may, and the resulting clock is as low as the rate; this does not explain a rate
    far below what is usual and what was seen on this model."""
    load = r.load
    if load is None or load.samples < LEAST_SAMPLES or share(load, "power-cap") < CAPPED_PERCENT:
        return False
    power, limit = known(load.power_w), known(load.power_limit_w)
    clock, most = known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)
    if not power or not limit or not clock or not most:
        return False
    if power < AT_LIMIT * limit and (load.power_instant or load.seconds >= MEAN_OF_S):
        return False
    reached = r.rate.value / r.band.typical
    return not r.far_too_low and reached >= FAR_BELOW and reached >= BY_CLOCK * clock / most
