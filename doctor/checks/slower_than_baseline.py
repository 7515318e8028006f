"""A rate is lower than in the baseline report.

What is wrong: `gpudoctor prove --baseline old.json` measured a rate that is lower than in that report by
`--regression-percent` (default 10) or more, and the ranges of the two measurements do not overlap (a range reaches half
the spread below and above the median).

Symptoms: the same program is slower than it was on the same GPU.

Why it happens: a different driver or torch version (the finding names both), a lower power limit, heat, another program
on the GPU or on the host's cores, or a link with fewer lanes.

How to fix it: measure again on a free GPU. If the driver or torch changed, go back to the earlier version and measure;
if not, other findings in the report name the power limit, heat or link.

GPUs are matched by their key (the UUID, or else the PCI address), which is masked in the same way in both reports.
Smaller losses and improvements whose ranges do not overlap are only a note. The launch time depends on the host's clock
and load, so for launches a loss counts only if the speed fell by half or more. If another program was using the GPU,
the finding is only a warning. If no rate in the earlier report was measured on the same GPU, the result is UNKNOWN.

Source: medians and spreads (10th to 90th percentile) in both reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Findings, Matrix, NotExamined, Policy
from ..snapshot import Snapshot, known
from ._measured import measured
from ._readings import name_of

if TYPE_CHECKING:
    from ..findings.baseline import Baseline
    from ..findings.measured_baseline import Change

CHECK = Check(
    __name__,
    title="A rate is lower than in the baseline",
    sound="No rate is clearly lower than in the baseline",
    severity="error",
    layer="speed",
    tags=("measured", "gpu", "speed"),
    needs_gpu=False,
)
_LEAST = {"launch": 50.0}
"""The launch time depends on the host: its clock and its load change it by tens of percent from one run to the next."""
_LISTED = 12
"""Changes that a note lists, the largest first."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU (or the CPU) with a rate that fell by the percentage, to a range that does not overlap."""
    if p.baseline is None:
        raise NotExamined("no baseline was given; run gpudoctor prove --baseline old.json")
    measured(s)
    from ..findings.measured_baseline import compared

    base = p.baseline
    found = compared(s, base)
    if not found.changes:
        names = ", ".join(dict.fromkeys(name or key for name, key in found.gone))
        why = (
            f"The baseline measured {names}, but this run did not."
            if names
            else "The two reports have no rate in common."
        )
        yield CHECK.unknown("No rate can be compared with the baseline", why)
        return
    clear = [change for change in found.changes if change.clear]
    lost = [c for c in clear if c.percent <= -max(base.regression_percent, _LEAST.get(c.was.kind, 0.0))]
    for key in dict.fromkeys(change.key for change in lost):
        yield _lost(s, base, key, [change for change in lost if change.key == key])
    others = sorted((change for change in clear if change not in lost), key=lambda c: -abs(c.percent))
    words = [f"{len(found.changes)} rates are in both reports", _software(s, base)]
    if others:
        more = f" and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
        words.append(f"Changes whose ranges do not overlap: {'; '.join(map(_words, others[:_LISTED]))}{more}")
    if found.gone:
        words.append(f"Only in the earlier report: {', '.join(dict.fromkeys(name or key for name, key in found.gone))}")
    if found.left_out:
        words.append(f"Rates not measured again: {len(found.left_out)}")
    counted = f"{len(others)} rates" if len(others) > 1 else "A single rate"
    title = f"{counted} changed since the baseline" if others else "The other rates did not clearly change"
    if not others and not lost:
        title = "No rate clearly changed since the baseline"
    yield CHECK.remark(title, ". ".join(words) + ".", facts={**_facts(s, base), "changes": [_fact(c) for c in others]})


def _lost(s: Snapshot, base: Baseline, key: str, lost: list[Change]) -> Finding:
    from ..fixes.speed import here

    gpu = next((gpu for gpu in known(s.gpus) or () if gpu.key == key), None)
    device = lost[0].now.device
    busy = any(proof.busy for proof in known(s.measured.torch) or () if proof.device in device.split(">"))
    busy = busy or any(bool(known(load.others)) for load in known(s.measured.loads) or () if load.key in key.split(">"))
    worst = min(lost, key=lambda change: change.percent)
    words = [f"{'; '.join(map(_words, sorted(lost, key=lambda c: c.percent)))}. {_software(s, base)}."]
    if busy:
        words.append("Another program was using this GPU: measure again when the GPU is free.")
    name = name_of(gpu) if gpu else device.replace(">", " to ")
    return (CHECK.warn if busy else CHECK.fail)(
        f"{name} is {-worst.percent:.0f} % slower than in the baseline: {worst.name}"
        + (f" and {len(lost) - 1} more" if len(lost) > 1 else ""),
        " ".join(words),
        facts={**_facts(s, base), "changes": [_fact(change) for change in lost]},
        subject=key,
        fixes=(
            here(
                "prove-again",
                "Measure again on a free GPU",
                "Add the same --baseline REPORT; without it, nothing is compared.",
            ),
        ),
    )


def _words(change: Change) -> str:
    was, now = change.was, change.now
    return f"{change.name} {_figure(was.value)} -> {_figure(now.value)} {was.unit} ({change.percent:+.0f} %)"


def _figure(value: float) -> str:
    from ..findings.measured_rates import number

    return number(value)


def _software(s: Snapshot, base: Baseline) -> str:
    pairs = (("driver", base.driver, known(s.driver.version)), ("torch", base.torch, known(s.torch.version)))
    words = []
    for name, was, now in pairs:
        was, now = was or "unknown", now or "unknown"
        words.append(f"{name} {now}" + (" (unchanged)" if was == now else f" (previously {was})"))
    return ", ".join(words)


def _facts(s: Snapshot, base: Baseline) -> dict[str, object]:
    return {
        "driver": known(s.driver.version) or "",
        "driver_then": base.driver,
        "torch": known(s.torch.version) or "",
        "torch_then": base.torch,
        "day_then": base.day,
        "regression_percent": base.regression_percent,
    }


def _fact(change: Change) -> dict[str, object]:
    return {
        "key": change.key,
        "kind": change.was.kind,
        "what": change.was.what,
        "was": change.was.value,
        "now": change.now.value,
        "unit": change.was.unit,
        "percent": round(change.percent, 1),
    }
