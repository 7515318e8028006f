"""The start of a run: the reader of files and the driver's agents set to work, before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from threading import Event, Lock
from time import gmtime, monotonic, strftime
from typing import TYPE_CHECKING

from .. import __version__
from ..targets.local import Gathering
from .commands import driver_commands, torch_command

if TYPE_CHECKING:
    from typing import Any

    from ..targets.agent import AgentResult
    from ..targets.local import Line

    Say = Callable[[str], None]

_PATIENCE_S = 2.0
"""How long the children's answers wait in their pipes for the patient's Python to be found."""


class Options:
    """What to look at. Deadlines in seconds from the start of each part.

    python: `--python`, an interpreter, its environment's folder, or a name on PATH; root: another root folder, of
    which only files are read, and no child is started; env: the patient's variables, None takes this process's (and
    none for a root folder); cwd: None takes this process's (and none in a root folder); ask_driver: whether NVML and
    libcuda are asked.
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
    ) -> None:
        self.python = python
        self.root = root
        self.live = root == "/"
        self.env = env if env is not None else (dict(os.environ) if self.live else None)
        self.cwd = cwd or (_cwd() if self.live else "")
        self.import_torch = import_torch
        self.scan_extensions = scan_extensions
        self.ask_driver = ask_driver
        self.deadline_s = deadline_s
        self.import_deadline_s = import_deadline_s


class Begun:
    """A run at work. The driver's agents start when the device nodes were read (the libraries make nodes), the one
    that imports torch as soon as the files tell which Python that is."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.manifest: dict[str, Any] = {
            "tool": __version__,
            "kind": "live" if options.live else "root",
            "name": "" if options.live else options.root,
            "gathered_at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
            "import_torch": options.live and options.import_torch,
        }
        self.patient: Line = {}
        self._torch: list[str] | None = None
        self._known = Event()
        self._lock = Lock()
        self._asked = Event()
        self._agents: dict[str, Any] = {}
        self._over = False
        self._gathering = Gathering(_work(options), options.deadline_s, self._notice if options.live else None)

    def lines(self) -> list[Line]:
        """What the files said; waits for it."""
        return [line for line in self._gathering.wait() if line.get("at") != "devices"]

    def answers(self, say: Say) -> dict[str, AgentResult]:
        """Wait for all children, each to its deadline."""
        if not self.options.live:
            return {}
        try:
            return self._answers(say)
        except BaseException:  # an interrupt must leave no child behind
            self.abandon()
            raise

    def abandon(self) -> None:
        """End all children: nobody wants their answers."""
        with self._lock:
            self._over = True
            for agent in self._agents.values():
                agent.kill()
        self._gathering.kill()

    def _answers(self, say: Say) -> dict[str, AgentResult]:
        from ..targets.process import wait_agents

        started = monotonic()
        if not self._asked.wait(min(_PATIENCE_S, self.options.deadline_s)):
            self._ask()  # /dev does not answer
        self._known.wait(max(0.0, min(_PATIENCE_S, self.options.deadline_s) - (monotonic() - started)))
        self._import(say)
        results = dict(zip(self._agents, wait_agents(*self._agents.values()), strict=True))
        if "torch" not in results and self.options.import_torch:
            self._known.wait(max(0.0, self.options.deadline_s - (monotonic() - started)))
            if self._import(say):
                results["torch"] = wait_agents(self._agents["torch"])[0]
        return results

    def _notice(self, line: Line) -> None:
        """Called in a thread with each line."""
        at = line.get("at")
        if at == "python" and line.get("role") == "patient":
            self.patient = line
        elif at == "torch" and self.options.import_torch:
            self._torch = torch_command(self.patient, self.options.cwd)
        if at in ("devices", "failed"):
            self._ask()
        if at in ("torch", "others", "end", "failed"):
            self._known.set()

    def _ask(self) -> None:
        """Start the driver's agents, once."""
        with self._lock:
            if self.options.ask_driver and not self._agents and not self._over:
                for name, command in driver_commands().items():
                    self._start(name, command, self.options.deadline_s)
        self._asked.set()

    def _import(self, say: Say) -> bool:
        say("torch import" if self._torch else "driver")
        with self._lock:
            if self._torch and not self._over:
                self._start("torch", self._torch, self.options.import_deadline_s)
        return self._torch is not None

    def _start(self, name: str, command: list[str], deadline_s: float) -> None:
        from ..targets.process import start_agent

        self._agents[name] = start_agent(command, deadline_s, self.options.env)


def _work(options: Options) -> Callable[[Callable[[Line], None]], None]:
    """What the reader of files does: the device nodes first, then everything else."""
    found: dict[str, Any] = {
        "devices": False, "python": options.python, "scan": options.scan_extensions, "cwd": options.cwd
    }  # fmt: skip
    if options.live:
        found.update(own_prefix=sys.prefix, own_executable=sys.executable)

    def work(emit: Callable[[Line], None]) -> None:
        from ..patient.gather import gather, gather_devices
        from . import tools

        gather_devices(emit, options.root)
        emit({"at": "devices"})
        gather(emit, options.root, options.env, tools, found)

    return work


def _cwd() -> str:
    """The working directory, empty where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 (pathlib is not worth its start-up time here)
    except OSError:
        return ""
