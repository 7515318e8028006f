"""Children where there is no poll() on pipes (Windows): subprocess, and a thread for each stream."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Thread
from time import monotonic
from typing import IO

from .agent import OUTPUT_LIMIT, AgentResult, Fault, OnLine, Output


class Agent:
    """A running child and the threads that read it."""

    def __init__(self, deadline_s: float, on_line: OnLine | None) -> None:
        self.started = monotonic()
        self.deadline = self.started + deadline_s
        self.on_wait: Callable[[str], None] | None = None
        self.output = Output(on_line)
        self.lock = Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.threads: list[Thread] = []
        self.closed = False

    def kill(self) -> None:
        """End the child."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def ended(self) -> bool:
        """Whether the child has ended, or never started."""
        return self.process is None or self.process.poll() is not None

    def pump(self, stream: IO[bytes], feed: Callable[[bytes], None]) -> None:
        """Body of a reading thread."""
        while data := stream.read1(1 << 16):  # type: ignore[attr-defined]
            with self.lock:
                if self.closed or self.output.size > OUTPUT_LIMIT:
                    return self.kill()
                feed(data)
        return None


def start_agent(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
    patience_s: float = 0.0,
) -> Agent:
    """Start a child at once; `wait_agents` waits for it. A command that cannot start becomes a `failed` result."""
    agent = Agent(deadline_s, on_line)
    try:
        agent.process = subprocess.Popen(
            list(argv),
            env=None if env is None else dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        agent.output.feed_stderr(str(error).encode("utf-8", "replace"))
        return agent
    pairs = ((agent.process.stdout, agent.output.feed), (agent.process.stderr, agent.output.feed_stderr))
    agent.threads = [Thread(target=agent.pump, args=pair, daemon=True) for pair in pairs]
    for thread in agent.threads:
        thread.start()
    return agent


def wait_agents(*agents: Agent) -> list[AgentResult]:
    """Wait for all of them, each to its own deadline; results in the order given. An interrupt kills all."""
    try:
        return [_wait(agent) for agent in agents]
    except BaseException:
        for agent in agents:
            agent.kill()
        raise


def _wait(agent: Agent) -> AgentResult:
    if agent.process is None:
        return agent.output.result(None, "failed", monotonic() - agent.started)
    fault: Fault | None = None
    try:
        agent.process.wait(max(0.0, agent.deadline - monotonic()))
    except subprocess.TimeoutExpired:
        fault = "hang"
        agent.kill()
    for thread in agent.threads:  # a grandchild may hold the pipe open: a moment, not until its end
        thread.join(0.5)
    with agent.lock:
        agent.closed = True
        if agent.output.size > OUTPUT_LIMIT:
            fault = "failed"
        return agent.output.result(agent.process.poll(), fault, monotonic() - agent.started)
