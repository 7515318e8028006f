"""Children on POSIX: posix_spawn with a session of their own, one poll loop for all of them."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping, Sequence
from time import monotonic

from .agent import OUTPUT_LIMIT, AgentResult, Fault, OnLine, Output
from .deadlines import Deadline, stuck
from .environment import absolute, current_folder
from .interrupts import heard

GRACE_S = 0.5
"""How long a killed child may take to go; one in uninterruptible sleep inside the driver is left behind."""
OVERTIME_S = 5
"""After its deadline a child ends by its own alarm, if no parent was left to end it."""
TICK_S = 0.01
"""How often the end of a child is looked for where the kernel has no pidfd."""


class Agent(Deadline):
    """A running child."""

    def __init__(self, deadline_s: float, on_line: OnLine | None, patience_s: float = 0.0) -> None:
        super().__init__(deadline_s, patience_s)
        self.output = Output(on_line)
        self.stdout = self.stderr = self.pidfd = self.lifeline = -1
        self.returncode: int | None = None
        self.fault: Fault | None = None
        self.stuck: str | None = None
        self.seconds = 0.0
        self.done = False
        self.stopped = False
        """Ended by us, before its deadline."""

    def kill(self) -> None:
        """SIGKILL to the child and its whole process group."""
        if self.pid and not self.done:
            targets = (os.killpg, os.kill) if self.returncode is None else (os.killpg,)
            for target in targets:
                try:
                    target(self.pid, signal.SIGKILL)
                except OSError:
                    continue

    def stop(self) -> None:
        """End it now, whatever it was at; it keeps what it had written, and has no fault."""
        if self.done:
            return
        self.kill()
        until = monotonic() + GRACE_S
        while not self.ended() and monotonic() < until:
            select.poll().poll(TICK_S * 1000)
        self.close()
        self.stopped = True

    def ended(self) -> bool:
        """Whether the child has ended; it stays a zombie, so that its group's number is not given away.

        On macOS before Python 3.13, which has no `waitid`, it is reaped at once.
        """
        if self.returncode is not None or not self.pid:
            return True
        try:
            if hasattr(os, "waitid"):
                return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def read(self, fd: int) -> bool:
        """Take what a pipe holds now; False at its end."""
        for _ in range(OUTPUT_LIMIT >> 16):
            try:
                data = os.read(fd, 1 << 16)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            if fd == self.stdout:
                self.output.feed(data)
            else:
                self.output.feed_stderr(data)
            if self.output.size > OUTPUT_LIMIT:
                return True
        return True

    def close(self) -> None:
        """Read the rest, end the group, reap the child, close the pipes."""
        for fd in (self.stdout, self.stderr):
            if fd >= 0:
                self.read(fd)
        self.kill()
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG) if self.pid else (0, 0)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif self.pid and self.fault in ("hang", "slow"):
                self.stuck = stuck(self.pid)
        except ChildProcessError:
            pass
        self.done = True
        self.seconds = monotonic() - self.started
        for fd in (self.stdout, self.stderr, self.pidfd, self.lifeline):
            if fd >= 0:
                os.close(fd)

    def result(self) -> AgentResult:
        """What is left of it."""
        result = self.output.result(self.returncode, self.fault, self.seconds)
        if self.stopped:
            result.fault = None
        result.waits = self.awaited if self.fault in ("slow", "starved") else ""
        if self.stuck is not None:
            result.stuck = {"pid": self.pid, "wchan": self.stuck}
        return result


def start_agent(
    argv: Sequence[str],
    deadline_s: float,
    env: Mapping[str, str] | None = None,
    on_line: OnLine | None = None,
    cwd: str | None = None,
    patience_s: float = 0.0,
) -> Agent:
    """Start a child at once; `wait_agents` reads it. A command that cannot start becomes a `failed` result.
    `patience_s`: how long it may take in all where it is slow and not dead.

    Its stdin is its lifeline, a pipe that only this process holds open: see patient/agent_boot.py.
    """
    agent = Agent(deadline_s, on_line, patience_s)
    full = absolute(os.environ if env is None else env, cwd or current_folder())
    full.update(GPUDOCTOR_LIFELINE="0", GPUDOCTOR_ALARM_S=str(int(min(agent.limit - agent.started, 1e6)) + OVERTIME_S))
    pipes: list[int] = []
    try:
        for _ in range(3):
            pipes += os.pipe()
        lifeline_child, agent.lifeline, agent.stdout, out_child, agent.stderr, err_child = pipes
        agent.pid = _spawn(list(argv), full, (lifeline_child, out_child, err_child), cwd)
    except (OSError, ValueError) as error:
        agent.output.feed_stderr(str(error).encode("utf-8", "replace"))
        agent.fault, agent.done = "failed", True
        agent.lifeline = agent.stdout = agent.stderr = -1
        for fd in pipes:
            os.close(fd)
        return agent
    for fd in (lifeline_child, out_child, err_child):
        os.close(fd)
    os.set_blocking(agent.stdout, False)
    os.set_blocking(agent.stderr, False)
    try:
        agent.pidfd = os.pidfd_open(agent.pid)
    except (AttributeError, OSError):  # macOS, kernels before 5.3, gVisor
        agent.pidfd = -1
    return agent


def _spawn(argv: list[str], env: dict[str, str], streams: tuple[int, int, int], cwd: str | None) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
    if cwd is None and os.sep in argv[0]:
        try:
            return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=True)
        except NotImplementedError:  # a C library without POSIX_SPAWN_SETSID
            pass
    import subprocess

    child = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=streams[0], stdout=streams[1], stderr=streams[2], start_new_session=True
    )
    child.returncode = 0  # reaped here, not by Popen
    return child.pid


def wait_agents(*agents: Agent) -> list[AgentResult]:
    """Wait for all of them, each to its own deadline; results in the order given.

    A grandchild that keeps a pipe open delays nothing, and is killed with the group. An interrupt kills all.
    """
    while go_on(*agents):
        pass
    return [agent.result() for agent in agents]


def go_on(*agents: Agent) -> list[Agent]:
    """Sleep until something comes, take it, and end those whose deadline came; those that still run.

    An interrupt kills all; what they had written is in their `result()`.
    """
    try:
        running = [agent for agent in agents if not agent.done]
        heard()
        if running:
            _sleep(running)
        return [agent for agent in running if _step(agent)]
    except BaseException:
        for agent in agents:
            agent.stop()
        raise


def _step(agent: Agent) -> bool:
    """Take what is there; True while the child goes on."""
    if agent.done:
        return False
    for name in ("stdout", "stderr"):
        fd = getattr(agent, name)
        if fd >= 0 and not agent.read(fd):
            os.close(fd)
            setattr(agent, name, -1)
    if agent.ended():
        agent.close()
        return False
    now = monotonic()
    if agent.output.size > OUTPUT_LIMIT and agent.fault is None:
        agent.fault, agent.deadline = "failed", now
        agent.output.feed_stderr(b"\nstopped: more than 8 MiB of output")
    if agent.fault is None and now >= agent.next_look():
        agent.look(now)
    if now < agent.deadline or (agent.fault is None and agent.may_go_on(now, agent.output.step, agent.output.silent_s)):
        return True
    agent.fault = agent.fault or agent.late
    agent.kill()
    while not agent.ended() and monotonic() < now + GRACE_S:
        select.poll().poll(TICK_S * 1000)
    agent.close()
    return False


def _sleep(agents: list[Agent]) -> None:
    """Until a pipe has something, a child ends or a deadline comes."""
    poller = select.poll()
    timeout = min(min(agent.deadline, agent.next_look()) for agent in agents) - monotonic()
    for agent in agents:
        for fd in (agent.stdout, agent.stderr, agent.pidfd):
            if fd >= 0:
                poller.register(fd, select.POLLIN)
        if agent.pidfd < 0:
            timeout = min(timeout, TICK_S)
    poller.poll(max(0.0, timeout) * 1000 + 1)
