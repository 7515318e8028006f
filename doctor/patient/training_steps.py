"""Part of the agent training_speed: its steps: what runs in a child, and the lines of how it ended."""

from __future__ import annotations

import time

from .json_lines import write_line
from .movement import FAULTS, WORDS, moves
from .training_processes import AGENT, GRACE_S, Child, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Set

    from .movement import Waits
    from .training_sweep import Profiled

HANG_S = 5.0
"""Silence for longer is a hang."""


class Steps:
    """Runs measurements in children and passes on what they say. `seconds`: the whole budget."""

    def __init__(self, descriptor: int, device: str, level: str, seconds: float) -> None:
        self.descriptor, self.device, self.level = descriptor, device, level
        self.kind = "cpu" if device == "cpu" else "cuda"
        self.seconds = seconds
        self.torch: Any = None
        self.fresh = False
        self.last = ""
        self.measured: Set[int] = set()
        """Batches with a result."""
        self.ended_steps: Set[str] = set()
        """Steps without one, and why was said."""

    def emit(self, **line: Any) -> None:
        if "batch" in line:
            self.measured.add(line["batch"]["batch"])
        write_line(self.descriptor, rounded(line))

    def ended(self, step: str, fault: str, detail: str) -> None:
        self.ended_steps.add(step)
        self.emit(ended={"agent": AGENT, "step": step, "device": self.device, "fault": fault, "detail": detail})

    def supervise(self, part: str, until: float, profiled: Profiled, work: Callable[..., None], *arguments: Any) -> str:
        """Run a measurement in a child and pass on its lines; its fault, empty where it came to its end."""
        child = Child(work, *arguments, fresh=self.fresh)
        self.emit(field="pids", value=[child.pid])
        step, pending, fault, heard = part, None, "", time.monotonic()
        known = False  # the step has its result, or why it has none was said
        try:
            for _, line in lines_of([child], until + min(GRACE_S, 0.1 * self.seconds)):
                silent, heard = time.monotonic() - heard, time.monotonic()
                if "begin" in line:
                    step, known = line["begin"], False
                if "profiled" in line:
                    profiled.append(line["profiled"])
                elif "pending" in line:
                    pending = line["pending"]
                    step = "sweep %d graph" % pending["batch"]
                elif "ended" in line:
                    self.ended(line["ended"]["step"], line["ended"]["fault"], line["ended"]["detail"])
                    known = known or line["ended"]["step"] == step
                elif any(word in line for word in ("hang", "crash", "raised")):
                    waits = moves(child.pid, step) if "hang" in line and silent >= HANG_S else ""
                    fault = self.missed(step, line, silent, known, waits)
                elif "done" not in line:
                    pending = None if "batch" in line else pending
                    known = known or "batch" in line or "rate" in line
                    self.emit(**line)
        finally:
            child.close()
        if pending:
            self.emit(batch=dict(pending, graph_ms={"missing": "error", "detail": "the CUDA graph did not end"}))
        self.last = step
        return fault

    def missed(self, step: str, line: Dict[str, Any], silent: float, known: bool = False, waits: Waits = "") -> str:
        """Say how a child ended that did not come to its end; a busy machine may be slow, long silence is a hang where
        it stands still (`waits`: what it does).

        A step whose result is known is not cut off: what came after it was.
        """
        if "raised" in line:
            fault, detail = "failed", line["raised"]
        elif "crash" in line:
            fault, detail = "crash", line["crash"]
        elif silent < HANG_S:
            fault, detail = "skipped", "cut off: its time was over"
        else:
            fault, detail = FAULTS[waits], "no answer for %.0f s" % silent + (": " + WORDS[waits] if waits else "")
        if fault != "skipped" or not known:
            self.ended(step, fault, detail)
        return fault


def rounded(value: Any) -> Any:
    """Figures with six digits; times of the clock keep theirs."""
    if isinstance(value, float):
        return float("%.6g" % value) if value < 1e4 else round(value, 3)
    if isinstance(value, dict):
        return {key: item if key in ("start", "end") else rounded(item) for key, item in value.items()}
    return value
