"""torch_speed on several GPUs, a child for each: at once where they do not disturb each other, else in turn.

All import torch, some at a time: what a core and memory are there for. When each has its GPU, one signal lets all
compute. A GPU that is then below its siblings of the same model is measured again alone. Launches and copies, for which
the GPUs share the host's cores and links, run one GPU after the other. What is left (training and single operations)
the first GPU does alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic

from ..snapshot.device_names import in_short
from ..snapshot.siblings import below_siblings
from ..targets.agent import AgentResult
from .gpu_children import GpuChild, GpuChildren, Say
from .plan import IMPORT_MIB, LEAST_S, SPEED, Plan

AT_ONCE = ("warm-up", "matmul", "memory copy")
"""How the names of the steps begin that all GPUs do at the same time."""
IN_TURN = ("launch eager", "copy h2d-pinned", "copy d2h-pinned")
BRIEF = 1 / 3
"""Of the time for which a copy is measured where there is one GPU: dozens still, and the GPUs wait for each other."""
SHARES = {"at once": 0.6, "in turn": 0.15, "again": 0.3, "rest": 0.5}
"""Of the time that one GPU's run takes."""
_REST = "training, operations, pageable copies"


class EveryGpu(GpuChildren):
    """One run of torch_speed."""

    agent, words = "torch_speed", "speed"

    def __init__(
        self, plan: Plan, models: Mapping[str, str], env: Mapping[str, str] | None, say: Say, end: float
    ) -> None:
        super().__init__(plan, models, env, say, end)
        self.level, self.seconds = SPEED[plan.level]
        self.rested = False
        """Whether the first GPU was given the rest to do."""

    def begin(self) -> None:
        """Start importing torch in as many processes as may do so at once, if there is memory for them in addition
        to others' work."""
        if self.free_mib >= 2 * IMPORT_MIB * len(self.gpus):
            for gpu in self.gpus[: self.importing]:
                self.start(gpu)

    def run(self) -> list[AgentResult]:
        """The children's results in the order of the devices."""
        try:
            self.start_all()
            self.order(self.gpus, ("open",), "at once", "a CUDA context on each GPU")
            self.at_once()
            self.in_turn()
            self.again()
            first = [gpu for gpu in self.gpus if gpu.running][:1]
            self.rested = self.order(first, (), "rest", "the remaining steps on the first GPU")
            self.close()
            self.wait(self.gpus, closed=True)
        finally:
            self.stop()
        return self.results()

    def arguments(self) -> list[str]:
        """The level, and the time that one GPU's run may take."""
        seconds = min(self.seconds, max(LEAST_S, self.end - monotonic()))
        return ["--level", self.level, "--seconds", f"{seconds:.1f}"]

    def at_once(self) -> None:
        """Products and memory, by one signal to all that have their GPU."""
        ready = [gpu for gpu in self.gpus if gpu.running]
        self.order(ready, AT_ONCE, "at once", f"matmuls and memory on {len(ready)} GPUs at once", len(ready))

    def in_turn(self) -> None:
        """Launches and copies, one GPU after the other."""
        for gpu in self.gpus:
            words = f"launches and copies on {gpu.device}"
            self.order([gpu] if gpu.running else [], IN_TURN, "in turn", words, brief=BRIEF)

    def again(self) -> None:
        """What was below the siblings' figures while all were at work, once more and alone."""
        for gpu in self.gpus:
            steps = tuple(f"{kind} {what}" for kind, what in self.odd(gpu) if kind in ("matmul", "memory"))
            if steps and gpu.running:
                self.order([gpu], ("warm-up", *steps), "again", f"{gpu.device} again, by itself")

    def odd(self, gpu: GpuChild) -> list[tuple[str, str]]:
        """The figures of a GPU that are below those of its siblings."""
        alike = [other for other in self.gpus if other.model == gpu.model]
        found = []
        for key in gpu.rates():
            values = {other.device: rates[key] for other in alike if key in (rates := other.rates())}
            if gpu.device in below_siblings(values):
                found.append(key)
        return found

    def order(
        self,
        gpus: Sequence[GpuChild],
        steps: Sequence[str],
        share: str,
        words: str,
        at_once: int = 1,
        brief: float = 1.0,
    ) -> bool:
        """Make these GPUs do these steps, and wait until they have. False if there is none, or no time."""
        seconds = min(SHARES[share] * self.seconds, self.end - monotonic())
        if not gpus or seconds <= 0:
            return False
        self.say(f"speed: {words}")
        about = {"steps": list(steps), "seconds": round(seconds, 2), "at_once": at_once, "brief": brief}
        self.signal(gpus, about)
        return True

    def not_measured(self) -> list[tuple[str, str, str]]:
        """(devices in short, steps, why) of what this run leaves out."""
        found = super().not_measured()
        if not self.rested:
            found.append((in_short(gpu.device for gpu in self.gpus), _REST, "no time left, or no GPU still running"))
        elif len(self.gpus) > 1:
            others = in_short(gpu.device for gpu in self.gpus[1:])
            found.append((others, _REST, f"measured on {self.gpus[0].device} alone"))
        return found
