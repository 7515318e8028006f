"""Run an agent in a child process: a deadline, its own process group, JSON lines, and a result whatever happens.

An agent writes one JSON object a line on stdout; `{"begin": "cuInit"}` before a call that may hang or crash, the
call's result after it. What was written before a hang or a crash is kept. Nothing here raises for a child's sake.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from .agent import AgentResult, Fault, OnLine

if sys.platform == "win32":
    from .process_threads import Agent, start_agent, wait_agents
else:
    from .process_posix import Agent, start_agent, wait_agents

__all__ = ["Agent", "AgentResult", "Fault", "OnLine", "agent_argv", "run_agent", "start_agent", "wait_agents"]

BOOT = "import sys;sys.path.append(sys.argv[1]);__import__(sys.argv[2]).main(sys.argv[3:])"


def agent_argv(agent: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The command for an agent file that needs the standard library alone, in isolated mode without site-packages.

    The file is imported, not run, so that its compiled form is used; it must have `main(arguments)`.
    """
    folder, name = os.path.split(agent)
    return [python, "-I", "-S", "-c", BOOT, folder, name[: -len(".py")], *arguments]


def run_agent(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
) -> AgentResult:
    """Start a child and wait for its end or its deadline (seconds). `env` replaces the environment."""
    return wait_agents(start_agent(argv, deadline_s, env, on_line, cwd))[0]
