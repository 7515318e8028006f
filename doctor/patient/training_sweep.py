"""Part of the agent training_speed: training steps by batch size, and the profiler's kernels.

Each measurement runs in a child; `end` is a time of the monotonic clock.
"""

from __future__ import annotations

import gc
import re
import time

from .figures import median, spread_percent
from .speed_lines import is_out_of_memory
from .training_model import Training, open_device, step_bytes, step_flops
from .training_processes import TEXT_LIMIT, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

    Profiled = List[Tuple[int, float, int]]

WARM_S = 0.2
GRAPH_S = 0.15
"""Of a point's time; the graph takes as much beyond it where nothing is left."""
LEAST_S = 0.3
"""With less time than this nothing is begun."""


def profile(say: Callable[..., None], orders: Any, torch: Any, device: str, batches: Sequence[int], end: float) -> None:
    """Sum of kernels and their number, by the profiler, for each batch size: {"profiled": [batch, ms, launches]}.

    0 launches: it saw none. A batch without a line: its time was over before.
    """
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as traced

    steps = 3
    open_device(torch, device)
    for batch in sorted(batches):
        if time.monotonic() > end:
            return
        say(begin="profile %d" % batch)
        try:
            training = Training(torch, device, batch)
            warm_up(training, WARM_S)
            with traced(activities=[ProfilerActivity.CUDA]) as trace:
                for _ in range(steps):
                    training.step()
                training.wait()
        except RuntimeError as error:
            if is_out_of_memory(error):
                return  # the sweep will say so
            raise
        kernels = [
            event.time_range.elapsed_us()
            for event in trace.events()
            if str(event.device_type).endswith("CUDA")
            and not getattr(event, "is_user_annotation", False)
            and not re.match(r"Memcpy (HtoD|DtoH)|Optimizer\.|ProfilerStep", event.name)
        ]
        say(profiled=[batch, sum(kernels) / steps / 1000, round(len(kernels) / steps)])
        del training, trace


class Sweep:
    """Training steps by batch size."""

    def __init__(self, say: Callable[..., None], torch: Any, device: str, profiled: Profiled) -> None:
        self.say, self.torch, self.device = say, torch, device
        self.profiled = {batch: (kernels_ms, launches) for batch, kernels_ms, launches in profiled}
        self.key, self.end = "", 0.0
        self.no_graph: Optional[Dict[str, str]] = None

    def run(self, batches: Sequence[int], seconds: float, end: float) -> None:
        """All of them, each its part of the time until `end` and no more than `seconds`."""
        self.end = end
        self.say(begin="device")
        self.key = open_device(self.torch, self.device)
        measured: Dict[int, float] = {}
        most = None
        for number, batch in enumerate(batches):
            left = end - time.monotonic()
            part = min(seconds, left / (len(batches) - number))
            below = [size for size in measured if size < batch]
            guess = measured[max(below)] * batch / max(below) if below else 0.0
            if most is not None and batch >= most:
                continue
            if part < LEAST_S / 2 or left < 4 * guess:
                self.leave_out(batch, "its time was over")
                continue
            self.say(begin="sweep %d" % batch)
            try:
                measured[batch] = self.point(batch, time.monotonic() + part)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                most = batch
                self.leave_out(batch, "out of memory: the sweep has no larger batch. " + words(error))
            gc.collect()
            if self.device != "cpu":
                self.torch.cuda.empty_cache()

    def leave_out(self, batch: int, detail: str) -> None:
        self.say(ended={"step": "sweep %d" % batch, "fault": "skipped", "detail": detail[:TEXT_LIMIT]})

    def point(self, batch: int, end: float) -> float:
        """One batch size; seconds of a turn. The line is "pending" until the graph, which may crash, is over."""
        row = self.eager(batch, end)
        gc.collect()
        if self.device != "cpu":
            self.say(pending=row)
            row["graph_ms"] = self.graph_ms(batch, end, float(row["step_ms"]) / 1000)
        self.say(batch=row)
        return float(row["step_ms"]) / 1000

    def eager(self, batch: int, end: float) -> Dict[str, Any]:
        """All but the graph."""
        training = Training(self.torch, self.device, batch)
        warm_up(training)
        began = time.monotonic()
        found = timed(training, training.turn, began + (end - began) * (0.62 if training.cuda else 0.9))
        self.say(phase="sweep", device=self.device, key=self.key, batch_size=batch, start=began, end=time.monotonic())
        row: Dict[str, Any] = {
            "device": self.device, "batch": batch, "step_ms": median(found), "spread_percent": spread_percent(found),
            "load_ms": median(repeated(lambda: clocked(training.load), end)),
            "flops": step_flops(batch), "bytes": step_bytes(batch),
        }  # fmt: skip
        if training.cuda:
            row.update(self.on_device(training, end))
        return row

    def on_device(self, training: Training, end: float) -> Dict[str, Any]:
        """What only a GPU has."""

        def issue() -> float:
            training.wait()
            return clocked(training.step)

        issue_ms = median(repeated(issue, end))
        row: Dict[str, Any] = {"issue_ms": issue_ms, "copy_ms": queued_ms(training, training.copy, 0.2, end)}
        queued = row["device_ms"] = queued_ms(training, training.step, issue_ms, end)
        kernels_ms, launches = self.profiled.get(training.batch, (0.0, None))
        if launches:
            row["launches"] = launches
            row["device_ms"] = min(kernels_ms, queued) if isinstance(queued, float) else kernels_ms
        elif launches is None:
            row["launches"] = {"missing": "timeout", "detail": "the profiler did not come to this batch"}
        else:
            row["launches"] = {"missing": "error", "detail": "the profiler saw no kernels"}
        return row

    def graph_ms(self, batch: int, end: float, step_s: float) -> Any:
        """A turn with the step as a CUDA graph; Missing where that does not work."""
        if self.no_graph:
            return self.no_graph
        if time.monotonic() + 10 * step_s > self.end:
            return {"missing": "timeout", "detail": "its time was over"}
        self.say(begin="sweep %d graph" % batch)
        try:
            training = Training(self.torch, self.device, batch, capturable=True)
            replay = training.capture()
            for _ in range(2):
                training.turn(replay)
            training.wait()
            return median(timed(training, lambda: training.turn(replay), max(end, time.monotonic() + GRAPH_S)))
        except Exception as error:
            missing = {"missing": "error", "detail": words(error)}
            if not is_out_of_memory(error):
                self.no_graph = missing
            return missing


def sweep(
    say: Callable[..., None],
    orders: Any,
    torch: Any,
    device: str,
    batches: Sequence[int],
    seconds: float,
    end: float,
    profiled: Profiled,
) -> None:
    """A child: the batch sweep."""
    Sweep(say, torch, device, profiled).run(batches, seconds, end)


def warm_up(training: Training, seconds: float = 0.0) -> None:
    """Three turns at least: libraries load their kernels, and an idle GPU takes a while to raise its clocks."""
    until, turns = time.monotonic() + seconds, 0
    while turns < 3 or time.monotonic() < until:
        training.turn()
        training.wait()
        turns += 1


def clocked(work: Callable[[], None]) -> float:
    """Milliseconds by the clock."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def timed(training: Training, turn: Callable[[], None], until: float) -> List[float]:
    """Milliseconds a turn, of runs of about 20 ms (64 turns at most), each waited for at its end."""
    found: List[float] = []
    turns = 1
    while not found or time.monotonic() < until:
        started = time.perf_counter()
        for _ in range(turns):
            turn()
        training.wait()
        each = (time.perf_counter() - started) / turns
        found.append(each * 1000)
        if len(found) == 1 and turns == 1 and each < 0.01:
            turns = max(2, min(64, int(0.02 / each)))
            found.clear()
    return found


def repeated(measure: Callable[[], float], until: float) -> List[float]:
    """Ten times; fewer where the time is over, and twice at least."""
    found: List[float] = []
    while len(found) < 2 or (len(found) < 10 and time.monotonic() < until):
        found.append(measure())
    return found


def queued_ms(training: Training, work: Callable[[], None], issue_ms: float, until: float) -> Any:
    """The device's own time for some work: queued behind a kernel that sleeps for longer than the queueing takes."""
    cuda = training.torch.cuda
    if not hasattr(cuda, "_sleep"):
        return {"missing": "absent", "detail": "this torch has no sleeping kernel"}
    first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)

    def measure() -> float:
        cuda.synchronize()
        cuda._sleep(int(min(50.0, issue_ms + 0.1) * 3e6))  # clock cycles: enough up to 3 GHz
        first.record()
        work()
        last.record()
        cuda.synchronize()
        return float(first.elapsed_time(last))

    return median(repeated(measure, until))
