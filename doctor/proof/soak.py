"""torch_soak on several GPUs at the same time, a child for each: GPUs of one chassis heat each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from ..targets.agent import AgentResult
from ..targets.process_posix import Agent, go_on, start_agent
from .plan import Plan

AGENT = "torch_soak"
Say = Callable[[str], None]


class EveryGpuSoaked:
    """One run. `end`: the moment at which all must be over."""

    def __init__(self, plan: Plan, env: Mapping[str, str] | None, say: Say, end: float) -> None:
        self.plan, self.env, self.say, self.end = plan, env, say, end
        self.children: dict[str, Agent] = {}
        self.steps: dict[str, str] = {}

    def run(self, devices: Sequence[str], seconds: float) -> None:
        """Load these for so many seconds each. As many import torch at a time as cores are free for it."""
        limit = max(1, self.plan.cores - 1)
        try:
            for device in devices:
                self.until(lambda: sum(step.startswith("import") for step in self.running().values()) < limit)
                self.start(device, seconds)
            self.until(lambda: not self.running())
        finally:
            for child in self.children.values():
                child.stop()

    def running(self) -> dict[str, str]:
        """The devices whose child has not ended, and its step."""
        return {device: self.steps[device] for device, child in self.children.items() if not child.done}

    def start(self, device: str, seconds: float) -> None:
        """One child."""
        self.steps[device] = "import torch"

        def heard(line: dict[str, Any]) -> None:
            if isinstance(line.get("begin"), str):
                self.steps[device] = line["begin"]
                if device == next(iter(self.children)):
                    self.say(f"sustained load: {self.steps[device]}")
            patience()

        def patience() -> None:
            child = self.children.get(device)
            if child is not None:
                child.deadline = min(self.end, monotonic() + self.plan.silence_s(AGENT, self.steps[device]))

        words = ["--device", device, "--seconds", f"{max(1.0, seconds):.1f}"]
        self.say(f"sustained load: import torch for {device}")
        command = [*self.plan.commands[AGENT], *words]
        self.children[device] = start_agent(command, self.end - monotonic(), self.env, heard)
        patience()

    def until(self, holds: Callable[[], bool]) -> None:
        """Read all children meanwhile."""
        while not holds():
            go_on(*(child for child in self.children.values() if not child.done))

    def results(self) -> list[AgentResult]:
        """What the children wrote so far, each with its command's device first."""
        found = []
        for device, child in self.children.items():
            result = child.result()
            result.lines.insert(0, {"run": ["--device", device], "pid": child.pid})
            found.append(result)
        return found
