"""torch_speed on several GPUs, a child for each: at once where they do not disturb each other, else in turn.

All import torch, some at a time: what a core and memory are there for. When each has its GPU, one signal lets all
compute. A GPU that is then below its siblings of the same model is measured again alone. Launches and copies, for which
the GPUs share the host's cores and links, run one GPU after the other. What is left (training and single operations)
the first GPU does alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from ..snapshot.siblings import below_siblings
from ..targets.agent import AgentResult
from ..targets.process_posix import Agent, go_on, start_agent
from .plan import IMPORT_MIB, LEAST_S, SPEED, Plan, in_short

AT_ONCE = ("warm-up", "matmul", "memory copy")
"""How the names of the steps begin that all GPUs do at the same time."""
IN_TURN = ("launch eager", "copy h2d-pinned", "copy d2h-pinned")
BRIEF = 1 / 3
"""Of the time for which a copy is measured where there is one GPU: dozens still, and the GPUs wait for each other."""
SHARES = {"at once": 0.6, "in turn": 0.15, "again": 0.3, "rest": 0.5}
"""Of the time that one GPU's run takes."""
AGENT = "torch_speed"
Say = Callable[[str], None]


class _Gpu:
    """One GPU's child. `idle`: it waits for an order."""

    def __init__(self, device: str, model: str) -> None:
        self.device, self.model = device, model
        self.process: Agent | None = None
        self.orders = -1
        self.idle = False
        self.step = "import torch"

    @property
    def running(self) -> bool:
        return self.process is not None and not self.process.done

    def rates(self) -> dict[tuple[str, str], float]:
        """What it measured, the last figure of each."""
        rows = [line.get("rate") for line in self.process.output.lines] if self.process else []
        return {
            (str(row.get("kind")), str(row.get("what"))): float(row["value"])
            for row in rows
            if isinstance(row, dict) and isinstance(row.get("value"), (int, float))
        }


class EveryGpu:
    """One run. `models`: device to the name of its GPU; `end`: the moment at which all must be over."""

    def __init__(
        self, plan: Plan, models: Mapping[str, str], env: Mapping[str, str] | None, say: Say, end: float
    ) -> None:
        self.plan, self.env, self.say, self.end = plan, env, say, end
        self.level, self.seconds = SPEED[plan.level]
        self.importing = max(1, plan.cores - 1)
        """How many import torch at the same time."""
        self.free_mib = min(_available_mib(), plan.memory_mib or _available_mib())
        most = max(1, self.free_mib // IMPORT_MIB)
        self.gpus = [_Gpu(device, model) for device, model in list(models.items())[:most]]
        self.left_out = list(models)[most:]
        """Devices for which there was no memory."""

    def begin(self) -> None:
        """Let as many as may import torch at once begin with it, where there is memory for them beside others' work."""
        if self.free_mib >= 2 * IMPORT_MIB * len(self.gpus):
            for gpu in self.gpus[: self.importing]:
                self.start(gpu)

    def run(self) -> list[AgentResult]:
        """The children's results in the order of the devices."""
        try:
            self.start_all()
            self.order(self.gpus, ("open",), "at once", "the context of each GPU")
            self.at_once()
            self.in_turn()
            self.again()
            self.order([gpu for gpu in self.gpus if gpu.running][:1], (), "rest", "the rest on the first GPU")
            self.close()
            self.wait(self.gpus, lambda gpu: False)
        finally:
            self.stop()
        return self.results()

    def stop(self) -> None:
        """End all children, whatever they are at."""
        self.close()
        for gpu in self.gpus:
            if gpu.process is not None:
                gpu.process.stop()

    def results(self) -> list[AgentResult]:
        """What the children wrote so far, each with its command's device first."""
        found = []
        for gpu in self.gpus:
            if gpu.process is not None:
                result = gpu.process.result()
                result.lines.insert(0, {"run": ["--device", gpu.device], "pid": gpu.process.pid})
                found.append(result)
        return found

    def start_all(self) -> None:
        """Start the children, so many at a time that each has a core, and one is left."""
        for gpu in self.gpus:
            self.patience(gpu)  # nobody has read from those that began before
        for gpu in [gpu for gpu in self.gpus if gpu.process is None]:
            self.wait_until(lambda: sum(not other.idle for other in self.gpus if other.running) < self.importing)
            self.say(f"speed: import torch for {gpu.device}")
            self.start(gpu)
        self.wait(self.gpus, lambda gpu: gpu.idle)

    def start(self, gpu: _Gpu) -> None:
        """One child, with a pipe for its orders."""
        inner, gpu.orders = os.pipe()
        os.set_inheritable(inner, True)
        seconds = min(self.seconds, max(LEAST_S, self.end - monotonic()))
        words = ["--device", gpu.device, "--level", self.level, "--orders", str(inner), "--seconds", f"{seconds:.1f}"]

        def heard(line: dict[str, Any]) -> None:
            gpu.idle = "ready" in line
            if isinstance(line.get("begin"), str):
                gpu.step = line["begin"]
            self.patience(gpu)

        try:
            command = [*self.plan.commands[AGENT], *words]
            gpu.process = start_agent(command, self.end - monotonic(), self.env, heard)
            gpu.process.on_wait = lambda words: self.say(f"speed: {gpu.device}: {gpu.step}: {words}")
        finally:
            os.close(inner)
        self.patience(gpu)

    def patience(self, gpu: _Gpu) -> None:
        """How long it may be silent: as long as it likes while it waits."""
        if gpu.process is not None:
            silence = self.plan.silence_s(AGENT, gpu.step)
            gpu.process.deadline = self.end if gpu.idle else min(self.end, monotonic() + silence)

    def at_once(self) -> None:
        """Products and memory, by one signal to all that have their GPU."""
        ready = [gpu for gpu in self.gpus if gpu.running]
        self.order(ready, AT_ONCE, "at once", f"products and memory on {len(ready)} GPUs at once", len(ready))

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
                self.order([gpu], ("warm-up", *steps), "again", f"{gpu.device} again, alone")

    def odd(self, gpu: _Gpu) -> list[tuple[str, str]]:
        """The figures of a GPU that are below those of its siblings."""
        alike = [other for other in self.gpus if other.model == gpu.model]
        found = []
        for key in gpu.rates():
            values = {other.device: rates[key] for other in alike if key in (rates := other.rates())}
            if gpu.device in below_siblings(values):
                found.append(key)
        return found

    def order(
        self, gpus: Sequence[_Gpu], steps: Sequence[str], share: str, words: str, at_once: int = 1, brief: float = 1.0
    ) -> None:
        """Let these GPUs do these steps, and wait until they have."""
        seconds = min(SHARES[share] * self.seconds, self.end - monotonic())
        if not gpus or seconds <= 0:
            return
        self.say(f"speed: {words}")
        about = {"steps": list(steps), "seconds": round(seconds, 2), "at_once": at_once, "brief": brief}
        line = json.dumps(about) + "\n"
        for gpu in gpus:
            gpu.idle = False
            self.patience(gpu)
            try:
                os.write(gpu.orders, line.encode())
            except OSError:  # it has just ended, which its result tells
                continue
        self.wait(gpus, lambda gpu: gpu.idle)

    def wait(self, gpus: Sequence[_Gpu], done: Callable[[_Gpu], bool]) -> None:
        """Until each of them is done or has ended."""
        self.wait_until(lambda: all(done(gpu) or not gpu.running for gpu in gpus))

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Read all children meanwhile."""
        while not holds():
            go_on(*(gpu.process for gpu in self.gpus if gpu.process is not None and not gpu.process.done))

    def close(self) -> None:
        """No more orders: the children end."""
        for gpu in self.gpus:
            if gpu.orders >= 0:
                os.close(gpu.orders)
                gpu.orders = -1
                gpu.idle = False
                gpu.step = "end"
                self.patience(gpu)

    def not_measured(self) -> list[tuple[str, str, str]]:
        """(devices in short, steps, why) of what this run leaves out."""
        found = []
        if self.left_out:
            why = f"too little memory of the host for a process each ({IMPORT_MIB} MiB)"
            found.append((in_short(self.left_out), "speed", why))
        if len(self.gpus) > 1:
            others = in_short(gpu.device for gpu in self.gpus[1:])
            found.append((others, "training, operations, pageable copies", f"measured on {self.gpus[0].device} alone"))
        return found


def _available_mib() -> int:
    """Memory of the host that is free, by the kernel; much where it does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream if ":" in line)
        return int(lines["MemAvailable"].split()[0]) >> 10
    except (OSError, KeyError, ValueError):
        return 1 << 30
