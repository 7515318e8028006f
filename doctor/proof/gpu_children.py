"""One child for each of several GPUs, of one agent: started so many at a time, and then given orders through pipes."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from ..snapshot.device_names import in_short
from ..targets.agent import AgentResult
from ..targets.process_posix import Agent, go_on, start_agent
from .plan import IMPORT_MIB, Plan

Say = Callable[[str], None]


class GpuChild:
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


class GpuChildren(ABC):
    """The children of one agent. `models`: device to the name of its GPU; `end`: the moment at which all must be over;
    `words`: what the agent is called in progress messages."""

    agent: str
    words: str

    def __init__(
        self, plan: Plan, models: Mapping[str, str], env: Mapping[str, str] | None, say: Say, end: float
    ) -> None:
        self.plan, self.env, self.say, self.end = plan, env, say, end
        self.importing = max(1, plan.cores - 1)
        """How many import torch at the same time."""
        self.free_mib = min(_available_mib(), plan.memory_mib or _available_mib())
        most = max(1, self.free_mib // IMPORT_MIB)
        self.gpus = [GpuChild(device, model) for device, model in list(models.items())[:most]]
        self.left_out = list(models)[most:]
        """Devices for which there was no memory."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """What a child is given in addition to its device and its orders."""

    def heard(self, gpu: GpuChild, line: dict[str, Any]) -> None:
        """A child wrote a line."""
        gpu.idle = "ready" in line
        if isinstance(line.get("begin"), str):
            gpu.step = line["begin"]
        self.patience(gpu)

    def start_all(self) -> None:
        """Start the children, so many at a time that each has a core, and one is left."""
        for gpu in self.gpus:
            self.patience(gpu)  # nobody has read from those that began before
        for gpu in [gpu for gpu in self.gpus if gpu.process is None]:
            self.wait_until(lambda: sum(not other.idle for other in self.gpus if other.running) < self.importing)
            self.say(f"{self.words}: import torch for {gpu.device}")
            self.start(gpu)
        self.wait(self.gpus)

    def start(self, gpu: GpuChild) -> None:
        """One child, with a pipe for its orders."""
        inner, gpu.orders = os.pipe()
        os.set_inheritable(inner, True)
        command = [*self.plan.commands[self.agent], "--device", gpu.device, "--orders", str(inner), *self.arguments()]
        try:
            gpu.process = start_agent(command, self.end - monotonic(), self.env, lambda line: self.heard(gpu, line))
            gpu.process.on_wait = lambda words: self.say(f"{self.words}: {gpu.device}: {gpu.step}: {words}")
        finally:
            os.close(inner)
        self.patience(gpu)

    def patience(self, gpu: GpuChild) -> None:
        """How long it may be silent: as long as it likes while it waits."""
        if gpu.process is not None:
            silence = self.plan.silence_s(self.agent, gpu.step)
            gpu.process.deadline = self.end if gpu.idle else min(self.end, monotonic() + silence)

    def signal(self, gpus: Sequence[GpuChild], about: Mapping[str, Any]) -> None:
        """Give these GPUs one order at the same time, and wait until they have carried it out."""
        line = json.dumps(about) + "\n"
        for gpu in gpus:
            gpu.idle = False
            self.patience(gpu)
            try:
                os.write(gpu.orders, line.encode())
            except OSError:  # it has just ended, which its result tells
                continue
        self.wait(gpus)

    def wait(self, gpus: Sequence[GpuChild], closed: bool = False) -> None:
        """Until each of them waits for an order or has ended; `closed`: until it has ended."""
        self.wait_until(lambda: all((gpu.idle and not closed) or not gpu.running for gpu in gpus))

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

    def not_measured(self) -> list[tuple[str, str, str]]:
        """(devices in short, steps, why) of what this run leaves out."""
        if not self.left_out:
            return []
        why = f"too little host memory for one process per GPU ({IMPORT_MIB} MiB each)"
        return [(in_short(self.left_out), self.words, why)]


def _available_mib() -> int:
    """Memory of the host that is free, by the kernel; much where it does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream if ":" in line)
        return int(lines["MemAvailable"].split()[0]) >> 10
    except (OSError, KeyError, ValueError):
        return 1 << 30
