"""torch_soak on several GPUs at the same time, a child for each: GPUs of one chassis heat each other.

One signal starts the load on all of them, when each has its GPU and its first product was checked."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

from .gpu_children import GpuChild, GpuChildren, Say
from .plan import Plan

END_S = 10.0
"""What a child needs at its end: what differed is computed again, and the context closed."""


class EveryGpuSoaked(GpuChildren):
    """One run, of so many seconds."""

    agent, words = "torch_soak", "sustained load"

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, str],
        env: Mapping[str, str] | None,
        say: Say,
        end: float,
        seconds: float,
    ) -> None:
        super().__init__(plan, models, env, say, end)
        self.seconds = seconds

    def run(self) -> None:
        """Load all of them. As many import torch at a time as cores are free for it."""
        try:
            self.start_all()
            self.signal([gpu for gpu in self.gpus if gpu.running], {})
            ready = [gpu for gpu in self.gpus if gpu.running]
            if ready:
                self.say(f"{self.words}: {len(ready)} GPUs at once" if len(ready) > 1 else self.words)
                self.signal(ready, {"seconds": round(max(1.0, min(self.seconds, self.end - monotonic() - END_S)), 1)})
            self.close()
            self.wait(self.gpus, closed=True)
        finally:
            self.stop()

    def arguments(self) -> list[str]:
        """The seconds that were asked for; the last order says how many there are."""
        return ["--seconds", f"{max(1.0, self.seconds):.1f}"]

    def heard(self, gpu: GpuChild, line: dict[str, Any]) -> None:
        """The first GPU tells how far the load is."""
        super().heard(gpu, line)
        first = next((one for one in self.gpus if one.running), None)
        if gpu is first and str(line.get("begin", "")).startswith("soak "):
            self.say(f"{self.words}: {gpu.step}")
