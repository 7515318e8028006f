"""Run an agent the way gpudoctor does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pynvml

import doctor.patient
from doctor.targets.process import AgentResult, OnLine, agent_argv, script_argv, start_agent, wait_agents

from ..reaction import HANG_S

PATIENT = Path(doctor.patient.__file__).parent
DEADLINE_S = 20.0
SHORT_S = 1.5
"""Deadline of children that hang: they are all waited for."""


def run_agent(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
) -> AgentResult:
    """Start a child and wait for its end or its deadline (seconds), as the product does: one that stands still is ended
    then, and one that a busy machine keeps waiting is not. `env` replaces the environment."""
    return wait_agents(start_agent(argv, deadline_s, env, on_line, cwd, patience_s=HANG_S))[0]


def run_nvml(env: dict[str, str], deadline_s: float = DEADLINE_S) -> AgentResult:
    folder = str(Path(pynvml.__file__).parent)
    return run_agent(agent_argv(str(PATIENT / "nvml.py"), folder), deadline_s, env)


def run_cuda(env: dict[str, str], deadline_s: float = DEADLINE_S) -> AgentResult:
    return run_agent(agent_argv(str(PATIENT / "cuda_driver.py")), deadline_s, env)


def run_torch(
    env: dict[str, str], *arguments: str, deadline_s: float = DEADLINE_S, cwd: Path | None = None
) -> AgentResult:
    argv = script_argv(sys.executable, str(PATIENT / "torch_facts.py"), *arguments)
    return run_agent(argv, deadline_s, env, cwd=None if cwd is None else str(cwd))
