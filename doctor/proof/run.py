"""Carry out a plan: one child on the GPU at a time, each to its deadline; what a killed child wrote is kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..targets.agent import AgentResult
from ..targets.interrupts import forget
from ..targets.process import Agent, start_agent, wait_agents
from .kept import LEVELS, SOAK, WORDS, Kept, Proof, ordinals_in
from .plan import LEAST_S, MEETING, SPEED, Links, Plan, names_of, ordinals_of
from .sampler import Sampler

if TYPE_CHECKING:
    from .every_gpu import EveryGpu

Say = Callable[[str], None]
_MAX_CHILDREN = 64
"""For one agent: each further one means that a device hung or died."""
_START_S = 10.0
"""What a child needs in addition to the time that it measures: Python, torch, the context."""


def prove(plan: Plan, env: Mapping[str, str] | None = None, say: Say | None = None) -> Proof:
    """Every source's runs, raw. `env` replaces the environment; `say` is called with what is being measured.

    An interrupt ends it; the line {"field": "interrupted"} of `proof` says so, and what was measured is there.
    """
    return _Prover(plan, env, say or (lambda words: None)).run()


class _Prover(Kept):
    def __init__(self, plan: Plan, env: Mapping[str, str] | None, say: Say) -> None:
        super().__init__(plan)
        self.env, self.say = env, say
        self.end = monotonic() + plan.total_s
        self.every: EveryGpu | None = None

    def run(self) -> Proof:
        """All levels of the plan, cheapest first."""
        samples = []
        works = [("nvml_sampler", self.work), *([("soak_sampler", self.soak)] if self.plan.soak_s else [])]
        for name, work in works:
            command = self.plan.commands.get(name)
            sampler = Sampler(command) if command and self.plan.device != "cpu" else None
            with sampler or nullcontext():
                try:
                    work()
                except KeyboardInterrupt:  # what was measured is reported all the same
                    forget()
                    self.interrupted()
                finally:
                    if self.every is not None:
                        self.every.stop()
            samples += [sampler.result()] if sampler is not None else []
            if any(line.get("field") == "interrupted" for line in self.notes.lines):
                break
        if samples:
            self.proof["nvml_sampler"] = samples
        return self.proof

    def soak(self) -> None:
        """Sustained load on every GPU that was proven, at the same time."""
        gpus = [device for device in self.proven() if device != "cpu"]
        if SOAK in self.plan.left_out:
            return self.leave_out(SOAK, *self.plan.left_out[SOAK])
        if not gpus:
            return self.leave_out(SOAK, *self.why_none())
        if self.end - monotonic() < _START_S:
            return self.leave_out(SOAK, "timeout", f"the {self.plan.total_s:.3g} s allowed for the test ran out")
        if sys.platform == "win32":
            for device in gpus:
                self.child(SOAK, "--device", device, "--seconds", f"{self.plan.soak_s:.0f}")
            return None
        from .soak import EveryGpuSoaked

        models = {device: self.models()[device] for device in gpus}
        soaked = EveryGpuSoaked(self.plan, models, self.env, self.say, self.end, self.plan.soak_s)
        try:
            soaked.run()
        finally:
            self.proof[SOAK] = soaked.results()
        for where, step, why in soaked.not_measured():
            self.leave_out(SOAK, "not-asked", why, step, where)
        return None

    def work(self) -> None:
        plan = self.plan
        if plan.links is None or plan.links.reports:
            self.devices()
        if plan.links is not None:
            return self.between_ranks(plan.links)
        if plan.level == "proof":
            return None
        proven = self.proven()
        if len(proven) > 1:
            self.start_speed(proven)
            from .links import measure

            measure(proven, self.child)
        for agent, levels in LEVELS.items():
            if plan.level not in levels:
                continue
            level, _ = levels[plan.level]
            if "torch_proof" in self.proof and not proven:
                self.leave_out(agent, *self.why_none())
            elif agent == "torch_speed" and self.every is not None:
                self.speed_of(self.every)
            else:
                if proven:
                    self.on_first_alone(agent, proven)
                self.child(agent, "--device", "".join(proven[:1]), "--level", level, *self.until(agent))
            if agent == "torch_speed":
                self.once_more()
        return None

    def devices(self) -> None:
        """That each device computes."""
        numbers = ordinals_of(self.plan.device)
        if numbers is not None:
            for number in numbers:
                self.child("driver_proof", "--only", str(number))
            self.listed_devices(numbers)
        elif self.plan.device == "cpu":
            self.child("torch_proof", "--device", "cpu")
        else:
            self.every_device("driver_proof", ())
            self.every_device("torch_proof", ("--device", "cuda"))

    def between_ranks(self, links: Links) -> None:
        """How fast processes pass data to each other, one a GPU."""
        from tempfile import TemporaryDirectory

        from .collectives import AGENT, VARIANTS, alone, launch, too_few, variants

        proven = self.proven()
        if AGENT in self.plan.left_out:
            return self.leave_out(AGENT, *self.plan.left_out[AGENT])
        if fault := too_few(self.plan, links, len(proven), self.why_none):
            return self.leave_out(AGENT, *fault)
        if len(proven) > 1:
            from .links import measure

            measure(proven, self.child)
        own = os.environ if self.env is None else self.env
        env = {**own, **links.launched, **alone(links, own)}

        def measured(*words: str, **more: str) -> AgentResult | None:
            with TemporaryDirectory(prefix="gpudoctor-", ignore_cleanup_errors=True) as meet:
                command, arguments = launch(self.plan, links, len(proven), self.end - monotonic(), meet)
                return self.child(AGENT, *arguments, *words, command=command, env={**env, **more})

        first = measured()
        for name in variants(self.plan, links, env, first.lines if first else ()):
            measured("--variant", name, **VARIANTS[name])
        return None

    def once_more(self) -> None:
        """Products with other bits in a repeat, or suspect: does a fresh process on the same GPU see it too?"""
        for row in [line.get("product") for result in self.proof.get("torch_speed", ()) for line in result.lines]:
            if not isinstance(row, dict) or row.get("right") is not True:
                continue
            if row.get("differing_repeats") or row.get("suspect_blocks"):
                words = ("--device", str(row.get("device")), "--only", f"matmul {row.get('what')}")
                self.child("torch_speed", *words, "--level", SPEED[self.plan.level][0], *self.until("torch_speed"))

    def every_device(self, agent: str, arguments: tuple[str, ...]) -> None:
        """An agent on one device after the other: behind one that hangs or dies a new child goes on."""
        first = 0
        for _ in range(_MAX_CHILDREN):
            result = self.child(agent, *arguments, *(("--first", str(first)) if first else ()))
            following = None if result is None else self.following(result, first)
            if following is None:
                return
            first = following

    def listed_devices(self, left: list[int]) -> None:
        """torch's proof on these devices: behind one that hangs or dies a new child goes on with the rest."""
        while left:
            result = self.child("torch_proof", "--device", names_of(left))
            seen = [number for line in result.lines for number in ordinals_in(line)] if result is not None else []
            left = [number for number in left if seen and number > max(seen)]

    def start_speed(self, devices: list[str]) -> None:
        """Let the children for the speed of several GPUs import torch, while data passes between these."""
        if sys.platform != "win32" and "torch_speed" not in self.plan.left_out and self.plan.level in SPEED:
            from .every_gpu import EveryGpu

            models = {device: self.models()[device] for device in devices}
            self.every = EveryGpu(self.plan, models, self.env, self.say, self.end)
            self.every.begin()

    def speed_of(self, every: EveryGpu) -> None:
        """Speed of several GPUs, each by a child of its own."""
        if self.end - monotonic() < LEAST_S:
            return self.leave_out(
                "torch_speed", "timeout", f"the {self.plan.total_s:.3g} s allowed for the test ran out"
            )
        try:
            every.run()
        finally:
            self.proof["torch_speed"] = every.results()
        for where, step, why in every.not_measured():
            self.leave_out("torch_speed", "not-asked", why, step, where)
        return None

    def child(
        self, agent: str, *arguments: str, command: list[str] | None = None, env: Mapping[str, str] | None = None
    ) -> AgentResult | None:
        """Run an agent to its end or its deadline; None if it is omitted. `command`, `env`: not the plan's."""
        if agent in self.plan.left_out:
            self.leave_out(agent, *self.plan.left_out[agent])
            return None
        if self.end - monotonic() < LEAST_S:
            before = f" before cuda:{arguments[-1]}" if "--first" in arguments else ""
            self.leave_out(agent, "timeout", f"the {self.plan.total_s:.3g} s allowed for the test ran out{before}")
            return None
        words = WORDS[agent]
        self.say(words)
        step = "import torch" if command is None else MEETING  # or whatever else it begins with
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

        process = start_agent(
            [*(command or self.plan.commands[agent]), *arguments], self.end - monotonic(), env or self.env, heard
        )
        process.on_wait = lambda words: self.say(f"{WORDS[agent]}: {step}: {words}")
        wait()
        try:
            (result,) = wait_agents(process)
            if result.fault == "hang" and result.silent < self.plan.silence_s(agent, step):
                result.fault, result.waits = "slow", f"the {self.plan.total_s:.3g} s allowed for the test ran out"
            return self.keep(agent, arguments, result, process)
        except KeyboardInterrupt:
            if sys.platform != "win32":
                self.keep(agent, arguments, process.result(), process)
            raise

    def until(self, agent: str) -> tuple[str, ...]:
        """`--seconds` that it may measure: a slow machine takes what is left but for the agents after it."""
        names = [name for name, levels in LEVELS.items() if self.plan.level in levels]
        later = sum(LEVELS[name][self.plan.level][1] + _START_S for name in names[names.index(agent) + 1 :])
        left = self.end - monotonic() - _START_S
        return "--seconds", f"{max(LEAST_S, left - later, min(left, LEVELS[agent][self.plan.level][1])):.0f}"
