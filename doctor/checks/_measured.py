"""What every check about measurements asks first."""

from __future__ import annotations

from ..findings import NotExamined, Skip
from ..snapshot import Measured, Missing, NeedsFact, Snapshot

NOTHING = "nothing was measured; run gpudoctor prove"
NO_SPEED = "speed was not measured; run gpudoctor prove --quick"


def measured(s: Snapshot) -> Measured:
    """The measurements; skipped if there are none, unknown if a fix has made them stale."""
    level = s.measured.level
    if isinstance(level, Missing):
        if level.reason == "not-asked":
            raise NotExamined(NOTHING)
        raise NeedsFact("measured.level", level)
    for fact in (s.driver.cu_init, s.gpus, s.torch_run.cuda_available, s.torch_run.kernel_ran):
        if isinstance(fact, Missing) and fact.reason == "recheck":
            raise NeedsFact("measured", Missing("recheck", "measured before the fix; run gpudoctor prove"))
    return s.measured


def none_of(m: Measured, kind: str, *steps: str) -> Exception:
    """Why there is no rate of a kind on a GPU: a skip if it was not asked for, else what went wrong."""
    for end in m.ended:
        if end.agent == "torch_speed" and end.step.startswith(steps or (kind,)) and end.device != "cpu":
            return NeedsFact("measured.rates", Missing("error", f"{end.step}: {end.detail or end.fault}"))
    if isinstance(m.rates, Missing) and m.rates.reason not in ("not-asked", "absent"):
        return NeedsFact("measured.rates", m.rates)
    return Skip("only the CPU was measured", without="gpu") if m.device == "cpu" else NotExamined(NO_SPEED)
