"""Carry out a plan: one child on the GPU at a time, each to its deadline; what a killed child wrote is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from time import monotonic
from typing import Any

from ..targets.agent import AgentResult
from ..targets.process import Agent, start_agent, wait_agents
from .plan import LEAST_S, SPEED, TRAINING, Plan, ordinal_of
from .sampler import Sampler

Say = Callable[[str], None]
Proof = dict[str, list[AgentResult]]
_MAX_CHILDREN = 64
"""For one agent: each further one means that a device hung or died."""
_START_S = 10.0
"""What a child needs beside the time that it measures: Python, torch, the context."""
_WORDS = {
    "driver_proof": "proof through libcuda", "torch_proof": "proof by torch", "torch_speed": "speed",
    "collective_proof": "data between GPUs", "training_speed": "small training",
}  # fmt: skip


def prove(plan: Plan, env: Mapping[str, str] | None = None, say: Say | None = None) -> Proof:
    """Every source's runs, raw. `env` replaces the environment; `say` is told what is being measured."""
    return _Prover(plan, env, say or (lambda words: None)).run()


class _Prover:
    def __init__(self, plan: Plan, env: Mapping[str, str] | None, say: Say) -> None:
        self.plan, self.env, self.say = plan, env, say
        self.end = monotonic() + plan.total_s
        self.notes = AgentResult()
        self.proof: Proof = {"proof": [self.notes]}

    def run(self) -> Proof:
        """All levels of the plan, cheapest first."""
        command = self.plan.commands.get("nvml_sampler")
        sampler = Sampler(command) if command and self.plan.device != "cpu" else None
        with sampler or nullcontext():
            self.work()
        if sampler is not None:
            self.proof["nvml_sampler"] = [sampler.result()]
        return self.proof

    def work(self) -> None:
        plan = self.plan
        one = ordinal_of(plan.device)
        if plan.device != "cpu":
            self.every_device("driver_proof", () if one is None else ("--only", str(one)), one)
        self.every_device("torch_proof", ("--device", plan.device), 0 if plan.device == "cpu" else one)
        if plan.level == "proof":
            return
        proven = [row["device"] for row in self.results("torch_proof") if row.get("right") is True]
        if len(proven) > 1:
            self.child("collective_proof", "--devices", ",".join(str(ordinal_of(device)) for device in proven))
        for agent, levels in (("torch_speed", SPEED), ("training_speed", TRAINING)):
            if plan.level not in levels:
                continue
            level, seconds = levels[plan.level]
            if "torch_proof" in self.proof and not proven:
                self.leave_out(agent, *self.why_none())
            else:
                self.child(agent, "--device", "".join(proven[:1]), "--level", level, *self.less(seconds))

    def every_device(self, agent: str, arguments: tuple[str, ...], only: int | None) -> None:
        """An agent on one device, or on one after the other: behind one that hangs or dies a new child goes on."""
        first = 0
        for _ in range(_MAX_CHILDREN):
            result = self.child(agent, *arguments, *(() if only is not None or not first else ("--first", str(first))))
            following = None if result is None or only is not None else self.following(result, first)
            if following is None:
                return
            first = following

    def following(self, result: AgentResult, first: int) -> int | None:
        """The device to go on with after a child that did not come to its end; None where there is none."""
        seen = [number for line in result.lines for number in _ordinals(line)]
        if not seen:
            return None
        offered = next((line.get("value") for line in result.lines if line.get("field") == "torch_devices"), None)
        if result.fault is None and not isinstance(offered, list):
            return None
        count = len(offered) if isinstance(offered, list) else self.plan.devices
        following = max(max(seen), first) + 1
        return following if count is None or following < count else None

    def child(self, agent: str, *arguments: str) -> AgentResult | None:
        """Run an agent to its end or its deadline; None where it is left out."""
        if agent in self.plan.left_out:
            self.leave_out(agent, *self.plan.left_out[agent])
            return None
        if self.end - monotonic() < LEAST_S:
            before = f" before cuda:{arguments[-1]}" if "--first" in arguments else ""
            self.leave_out(agent, "timeout", f"the {self.plan.total_s:.3g} s for the proof were over{before}")
            return None
        words = _WORDS[agent]
        self.say(words)
        step = "import torch"  # or whatever else it begins with
        process: Agent | None = None

        def heard(line: dict[str, Any]) -> None:
            nonlocal step
            if isinstance(line.get("begin"), str):
                step = line["begin"]
                self.say(f"{words}: {step}")
            wait()

        def wait() -> None:
            if process is not None and sys.platform != "win32":  # where one wait has one deadline
                process.deadline = min(self.end, monotonic() + self.plan.silence_s(agent, step))

        process = start_agent([*self.plan.commands[agent], *arguments], self.end - monotonic(), self.env, heard)
        wait()
        result = wait_agents(process)[0]
        result.lines.insert(0, {"run": list(arguments), "pid": getattr(process, "pid", 0)})
        self.proof.setdefault(agent, []).append(result)
        return result

    def less(self, seconds: float) -> tuple[str, ...]:
        """`--seconds` where less time is left than the agent would take."""
        left = self.end - monotonic() - _START_S
        return () if left >= seconds else ("--seconds", f"{max(LEAST_S, left):.0f}")

    def results(self, agent: str) -> list[dict[str, Any]]:
        """The result objects of an agent so far."""
        lines = (line.get(agent) for result in self.proof.get(agent, ()) for line in result.lines)
        return [row for row in lines if isinstance(row, dict) and isinstance(row.get("device"), str)]

    def why_none(self) -> tuple[str, str]:
        """Why there is no device to measure on."""
        lines = [line for result in self.proof["torch_proof"] for line in result.lines]
        fault = next((result.fault for result in self.proof["torch_proof"] if result.fault), None)
        if fault is not None:
            return ("timeout" if fault == "hang" else "error"), "torch's proof did not come to its end"
        if any(line.get("field") == "import" and "error" in line for line in lines):
            return "error", "torch does not import"
        offered = [line.get("value") for line in lines if line.get("field") == "torch_devices"]
        if [] in offered and self.plan.device != "cpu":
            return "absent", "torch has no GPU here"
        return "error", "torch computed right results on no device"

    def leave_out(self, agent: str, reason: str, detail: str) -> None:
        """Note that an agent was not started, and why."""
        step = {"agent": agent, "step": _WORDS[agent], "device": self.plan.device, "fault": "skipped", "detail": detail}
        self.notes.lines.append({"ended": step, "reason": reason})


def _ordinals(line: dict[str, Any]) -> list[int]:
    """Devices that a line speaks of: its own `device`, or that of the result in it."""
    rows = [line, *(value for value in line.values() if isinstance(value, dict))]
    found = [ordinal_of(row.get("device")) for row in rows]
    return [number for number in found if number is not None]
