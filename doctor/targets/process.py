"""Run an agent in a child process: a deadline, its own process group, JSON lines, and a result whatever happens.

An agent writes one JSON object a line on stdout; `{"begin": "cuInit"}` before a call that may hang or crash (its
time may be there as `ms`, of the monotonic clock), the call's result after it. What was written before a hang or a
crash is kept. Nothing here raises for a child's sake.
"""

from __future__ import annotations

import os
import sys

from ..patient.agent_boot import OWN, SCRIPT
from .agent import AgentResult, Fault, OnLine

if sys.platform == "win32":
    from .process_threads import Agent, start_agent, wait_agents
else:
    from .process_posix import Agent, start_agent, wait_agents

__all__ = [
    "Agent", "AgentResult", "Fault", "OnLine", "agent_argv", "script_argv", "start_agent", "wait_agents",
]  # fmt: skip

_PATIENT = f"{os.path.dirname(os.path.dirname(__file__))}/patient"  # noqa: PTH120


def agent_argv(agent: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The command for an agent file that needs the standard library alone, in isolated mode without site-packages.

    The file is imported, not run, so that its compiled form is used, and its parts beside it can be imported; it must
    have `main(arguments)`.
    """
    folder, name = os.path.split(agent)
    return [python, "-I", "-S", "-c", OWN, _PATIENT, folder, name[: -len(".py")], *arguments]


def script_argv(python: str, agent: str, *arguments: str, how: str = "script") -> list[str]:
    """The command for an agent file that needs its Python's packages, run as the main program.

    Nothing is imported from the current folder, see the boot line. `how`: `command` where `agent` is a program to
    become instead.
    """
    return [python, "-c", SCRIPT, f"{_PATIENT}/agent_boot.py", how, agent, *arguments]
