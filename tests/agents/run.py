"""Run an agent the way gpudoctor does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import pynvml

import doctor.patient
from doctor.targets.process import Agent, AgentResult, OnLine, agent_argv, script_argv, start_agent, wait_agents

PATIENT = Path(doctor.patient.__file__).parent
DEADLINE_S = 20.0
SHORT_S = 1.5
"""Deadline of children that hang: they are all waited for."""
SILENT_S = 300.0
"""Until the first line, which each of them writes."""


def run_agent(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
) -> AgentResult:
    """Start a child and wait for its end or its deadline. `env` replaces the environment."""
    return wait_agents(started(argv, deadline_s, env, on_line, cwd))[0]


def started(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
) -> Agent:
    """A child whose deadline (seconds) counts from its last line: a busy machine may take long to start a Python."""

    def heard(line: dict[str, Any]) -> None:
        agent.deadline = agent.limit = monotonic() + deadline_s
        if on_line is not None:
            on_line(line)

    agent = start_agent(argv, SILENT_S, env, heard, cwd)
    return agent


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
