"""Part of the agent torch_speed: what its measures share."""

from __future__ import annotations

import gc
import os
import time

from .figures import figure, median, spread_percent
from .speed_lines import Lines, is_out_of_memory
from .speed_plan import MIB, Plan
from .torch_settings import backend, set_tf32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence, Tuple

    from .speed_nodes import Nodes

    Call = Callable[[int], Any]

WAKE_S = 0.3
BUSY = 0.5
"""Load for each core from which on a CPU is shared with other programs."""


class Tools:
    """What the measures of one device share: how they time, what they allocate, and their lines."""

    def __init__(self, agent: Lines, torch: Any, processor: Any, plan: Plan) -> None:
        self.agent = agent
        self.torch = torch
        self.processor = processor
        self.plan = plan
        self.short_s = plan.each_s / 3.0
        self.nodes: Nodes | None = None
        self.pinned: Dict[Tuple[int, int], Any] = {}
        load = load_per_core() if processor.kind == "cpu" else 0.0
        self.load_percent = round(100 * load) if load >= BUSY else 0
        """Of a CPU that other programs use too."""

    def wake(self) -> None:
        """Keep the GPU at work until its clocks have risen from where they idle: sizes are chosen by time."""
        value = self.torch.zeros(1 << 20, device=self.processor.name)
        until = time.monotonic() + min(WAKE_S, self.agent.left() / 20)
        while time.monotonic() < until:
            for _ in range(20):
                value.add_(1)
            self.processor.sync()

    def times_ms(self, call: Call, seconds: float, phase: str = "", most: int = 1000) -> List[float]:
        """Milliseconds of each run of call(number) for about `seconds`, or what the budget leaves; after a warm-up."""
        processor = self.processor
        since = time.monotonic()
        call(0)  # the first call loads kernels
        processor.sync()
        tries = 3 if time.monotonic() - since < 0.05 else 1
        started = time.monotonic()
        for number in range(tries):
            call(number)
        processor.sync()
        each = max((time.monotonic() - started) / tries, 1e-7)
        seconds = max(0.0, min(seconds * self.agent.brief, self.agent.left()))
        for number in range(min(most, int(seconds * 0.2 / each))):
            call(number)
        marks = []
        least = 3 if 3 * each < self.agent.left() / 4 else 1
        for number in range(max(least, min(most, int(seconds / each)))):
            start = processor.mark()
            call(number)
            marks.append((start, processor.mark()))
        processor.sync()
        if phase:
            self.phase(phase, started, time.monotonic())
        return [max(processor.between_ms(start, end), 1e-6) for start, end in marks]

    def typical(self, times: Sequence[float]) -> float:
        """The median; on a CPU that is shared the least, for the rest is what the others left over."""
        return min(times) if self.load_percent else median(times)

    def phase(self, name: str, start: float, end: float) -> None:
        """Say when the device was at work."""
        processor = self.processor
        self.agent.emit(phase=name, device=processor.name, key=processor.key, start=round(start, 6), end=round(end, 6))

    def rate(self, kind: str, what: str, value: float, unit: str, times: Sequence[float], **more: Any) -> None:
        """Write a Rate; `times` are what its spread is of."""
        detail = {name: (v if isinstance(v, int) else figure(v)) for name, v in more.pop("detail", {}).items()}
        if self.agent.at_once:
            detail["at_once"] = self.agent.at_once
        if self.load_percent:
            detail["load_percent"] = self.load_percent
        rate = {"kind": kind, "device": self.processor.name, "what": what, "value": figure(value), "unit": unit}
        rate.update(more, spread_percent=figure(spread_percent(times)), runs=len(times), detail=detail)
        self.agent.emit(rate=rate)

    def shrinking(self, step: str, size: int, least: int, measure: Callable[[int], None]) -> None:
        """Run measure(size), halving the size while memory runs out; says so where it was made smaller."""
        requested = size
        while True:
            try:
                measure(size)
                break
            except Exception as error:
                if not is_out_of_memory(error) or size // 2 < least:
                    raise
            size //= 2
            gc.collect()  # as in `guarded`
            self.processor.empty_cache()
        if size < requested:
            self.agent.ended(step, "skipped", "out of memory: made smaller, %d instead of %d" % (size, requested))

    def sets(self, set_bytes: int) -> int:
        """How many sets of inputs must rotate so that the L2 cache (x 3) does not hold them; within free memory."""
        wanted = max(2, min(8, -(-3 * self.processor.l2_bytes // max(set_bytes, 1))))
        affordable = self.processor.free_bytes() * 0.4 / max(set_bytes, 1)
        return wanted if affordable >= wanted else max(1, int(affordable))

    def dtype(self, what: str) -> Any:
        names = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
        return getattr(self.torch, names.get(what, "float8_e4m3fn"))

    def random(self, what: str, *shape: int) -> Any:
        """A random tensor on the device: normal, or every byte for int8."""
        torch, device = self.torch, self.processor.name
        if what == "int8":
            return torch.randint(-128, 128, shape, dtype=torch.int8, device=device)
        if what == "fp8":
            return torch.randn(shape, dtype=torch.float16, device=device).to(self.dtype(what))
        return torch.randn(shape, dtype=self.dtype(what), device=device)

    def buffer_mib(self, step: str, mib: int, count: int) -> int:
        """MiB of a buffer, halved while `count` of them take more than half of the free memory; says so where the
        buffers come near the size of the L2 cache then."""
        free = self.processor.free_bytes() / MIB
        while mib > 8 and mib * count > free / 2:
            mib //= 2
        if mib * MIB < 2 * self.processor.l2_bytes:
            self.agent.ended(step, "skipped", "%d MiB free: made smaller, %d MiB, and the cache may help" % (free, mib))
        return mib

    def rounds_us(self, issue: Callable[[], Any], launches: int) -> Tuple[List[float], List[float]]:
        """Microseconds a launch until issue() returned, and until the device was done, of each round."""
        host: List[float] = []
        done: List[float] = []
        issue()
        self.processor.sync()
        until = time.perf_counter() + min(self.short_s * self.agent.brief, max(0.0, self.agent.left()))
        while len(host) < 5 or (time.perf_counter() < until and len(host) < 500):
            since = time.perf_counter()
            issue()
            issued = time.perf_counter()
            self.processor.sync()
            host.append((issued - since) * 1e6 / launches)
            done.append((time.perf_counter() - since) * 1e6 / launches)
        return host, done

    def set_tf32(self, on: bool) -> None:
        """TF32 in float32 products on or off."""
        set_tf32(backend(self.torch, "cuda", "matmul"), on)


def load_per_core() -> float:
    """The load of the last minute for each core of the machine, as it is counted; 0 where there is no such figure."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0
