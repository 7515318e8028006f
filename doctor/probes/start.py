"""The start of a run: the reader of files and the driver's agents set to work, before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock
from time import gmtime, monotonic, strftime
from typing import TYPE_CHECKING

from .. import __version__
from ..patient.gather import gather, gather_devices
from ..patient.interpreters import STARTS
from ..targets.environment import absolute, current_folder
from ..targets.interrupts import end_with_us, is_over
from ..targets.local import Gathering
from . import tools
from .commands import driver_commands, torch_command

if TYPE_CHECKING:
    from typing import Any

    from ..targets.agent import AgentResult
    from ..targets.local import Line

    Say = Callable[[str], None]

_PATIENCE_S = 2.0
"""How long the children's answers wait in their pipes for the patient's Python to be found."""

PATIENCE = 5.0
"""So many times its deadline a child may take that still reads or computes, or has no core: slow is not broken."""

_DESCRIPTORS = 24
"""So many a run may have open at a time, and some more."""

_LEAST_S = 1.0
"""The shortest, of one that starts when the time is nearly over."""

_DEEP_S = 3600.0
"""The longest that hashes are computed."""

_LATE_S = 5.0
"""The longest that an agent takes that was started because of what the others said."""


class Options:
    """What to look at. Deadlines in seconds from the start of each part.

    python: `--python`, an interpreter, its environment's folder, or a name on PATH; root: another root folder, of
    which only files are read, and no child is started; env: the patient's variables, None takes this process's (and
    none for a root folder); cwd: None takes this process's (and none in a root folder); ask_driver: whether NVML and
    libcuda are asked; patience: how many times its deadline a child may take that is slow and not dead; hurried: a
    signal set the deadlines, so that silence until then proves nothing; require: distributions whose libraries must be
    whole too; deep: whether every file of them is compared with its hash, however long that takes.
    """

    def __init__(
        self,
        *,
        python: str | None = None,
        root: str = "/",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        import_torch: bool = True,
        scan_extensions: bool = True,
        ask_driver: bool = True,
        deadline_s: float = 20.0,
        import_deadline_s: float = 60.0,
        patience: float = PATIENCE,
        hurried: bool = False,
        require: Sequence[str] = (),
        deep: bool = False,
    ) -> None:
        self.python = python
        self.root = root
        self.live = root == "/"
        self.env = env if env is not None else (dict(os.environ) if self.live else None)
        self.cwd = cwd or (current_folder() if self.live else "")
        self.import_torch = import_torch
        self.scan_extensions = scan_extensions
        self.ask_driver = ask_driver
        self.deadline_s = deadline_s
        self.import_deadline_s = import_deadline_s
        self.patience = 1.0 if hurried else patience
        self.hurried = hurried
        self.require = list(require)
        self.deep = deep


class Started:
    """A run at work: the device nodes are read (the driver's libraries make nodes), then the reader of files and the
    driver's agents start, and the agent that imports torch as soon as the files tell which Python that is."""

    def __init__(self, options: Options) -> None:
        if options.live:
            _room()
        self.options = options
        self.manifest: dict[str, Any] = {
            "tool": __version__,
            "kind": "live" if options.live else "root",
            "name": "" if options.live else options.root,
            "gathered_at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
            "import_torch": options.live and options.import_torch,
        }
        self.patient: Line = {}
        self._say: Say | None = None
        self._began = monotonic()
        self._known = Event()
        self._lock = Lock()
        self._agents: dict[str, Any] = {}
        self._over = False
        self._devices: list[Line] = []
        self._gathering: Gathering | None = None
        end_with_us(self)
        gather_devices(self._devices.append, options.root)
        notice, patience_s = self._notice if options.live else None, options.patience * options.deadline_s
        deadline_s = _DEEP_S if options.deep else options.deadline_s
        self._gathering = Gathering(_work(options), deadline_s, notice, patience_s=patience_s)
        for name, command in driver_commands().items() if options.live and options.ask_driver else ():
            self._start(name, command, options.deadline_s)

    def lines(self, say: Say | None = None) -> list[Line]:
        """What the files said; waits for it."""
        self._say = say
        return self._devices + self._files()

    def answers(self, say: Say) -> dict[str, AgentResult]:
        """Wait for all children, each to its deadline."""
        if not self.options.live:
            return {}
        try:
            return self._answers(say)
        except BaseException:  # an interrupt must leave no child behind
            self.abandon()
            raise

    def waits(self) -> bool:
        """Whether a child has not answered yet."""
        with self._lock:
            return any(not agent.ended() for agent in self._agents.values())

    def ask_late(self, name: str, *arguments: str) -> AgentResult:
        """Ask one more agent, because of what the others said: within what is left of the time, and within a second (or
        all of a shorter time) at least."""
        from ..targets.process import wait_agents
        from .commands import own_agent

        total = self.options.deadline_s
        left = max(min(_LEAST_S, total), total - (monotonic() - self._began))
        with self._lock:
            self._start(name, own_agent(name, *arguments), min(_LATE_S, left))
        try:
            return wait_agents(self._agents[name])[0]
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """End all children that still run: their answers are no longer needed."""
        with self._lock:
            self._over = True
            self.end()
        is_over(self)

    def end(self) -> None:
        """The same of a process that leaves at once, whoever holds the lock."""
        for agent in list(self._agents.values()):
            agent.kill()
        if self._gathering is not None:
            self._gathering.kill()

    def _files(self) -> list[Line]:
        return [] if self._gathering is None else self._gathering.wait()

    def _answers(self, say: Say) -> dict[str, AgentResult]:
        from ..targets.process import wait_agents

        self._known.wait(min(_PATIENCE_S, self.options.deadline_s))
        with self._lock:
            agents = dict(self._agents)
        say("torch import" if "torch" in agents else "driver")
        for name, agent in agents.items():
            agent.on_wait = _waiting(name, say)
        results = dict(zip(agents, wait_agents(*agents.values()), strict=True))
        if not self._known.wait(max(0.0, self.options.deadline_s - (monotonic() - self._began))):
            say("files")  # nothing is known of the Python yet: a disk that is slow, or dead
            self._files()
        for name in ("python", "torch"):
            if name in self._agents and name not in results:
                say("torch import")
                self._agents[name].on_wait = _waiting(name, say)
                results[name] = wait_agents(self._agents[name])[0]
        return results

    def _notice(self, line: Line) -> None:
        """Called in a thread with each line."""
        at = line.get("at")
        if at == "hashed" and self._say is not None:
            self._say(f"file contents, {line['done']} of {line['of']} MiB")
        if at == "python" and line.get("role") == "patient":
            self.patient = line
            self._run("python", _start_command(line), self.options.deadline_s)
        elif at == "torch" and self.options.import_torch:
            self._run("torch", torch_command(self.patient), self.options.import_deadline_s)
        if at in ("torch", "others", "end", "failed"):
            self._known.set()

    def _run(self, name: str, command: list[str] | None, deadline_s: float) -> None:
        """Start one in the patient's Python, unless that has no interpreter or answers are no longer needed.

        The patience of the run is not longer for what starts late.
        """
        left = max(_LEAST_S, self.options.patience * deadline_s - (monotonic() - self._began))
        with self._lock:
            if command and not self._over:
                self._start(name, command, min(deadline_s, left), left)

    def _start(self, name: str, command: list[str], deadline_s: float, patience_s: float | None = None) -> None:
        from ..targets.process import start_agent

        env = self.options.env
        if env is not None:
            env = absolute(env, self.options.cwd)
        if patience_s is None:
            patience_s = self.options.patience * deadline_s
        self._agents[name] = start_agent(command, deadline_s, env, patience_s=patience_s)


def _room() -> None:
    """Raises OSError if this shell's limits leave too few descriptors: what cannot be opened is not absent."""
    pipes: list[int] = []
    try:
        while len(pipes) < _DESCRIPTORS:
            pipes += os.pipe()
    finally:
        for descriptor in pipes:
            os.close(descriptor)


def _start_command(patient: Line) -> list[str] | None:
    """The command that only shows that the patient's Python starts, without its site-packages (nothing of them is run);
    None if it has no interpreter."""
    python = patient.get("executable")
    return [python, "-S", "-c", STARTS] if isinstance(python, str) and python else None


def _waiting(name: str, say: Say) -> Say:
    """Tells what a slow child waits for."""
    what = {"torch": "torch import", "python": "Python"}.get(name, "driver")
    return lambda words: say(f"{what}: {words}")


def _work(options: Options) -> Callable[[Callable[[Line], None]], None]:
    """What the reader of files does."""
    found: dict[str, Any] = {
        "devices": False, "python": options.python, "scan": options.scan_extensions, "cwd": options.cwd,
        "objects": options.require, "deep": options.deep,
    }  # fmt: skip
    if options.live:
        found.update(own_prefix=sys.prefix, own_executable=sys.executable)
    return lambda emit: gather(emit, options.root, options.env, tools, found)
