"""From a machine, a root folder or a recording to one Snapshot."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from threading import Event
from time import gmtime, monotonic, strftime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import __version__
from ..patient.gather import gather, gather_devices
from ..snapshot import Missing, Snapshot, Target
from ..targets.agent import AgentResult
from ..targets.local import Gathering, Line
from ..targets.recording import Recording
from . import tools
from .agents import driver_commands, torch_command, with_answers
from .container import parse_container
from .cuda_disk import parse_cuda
from .driver_files import parse_driver_files
from .environments import parse_python
from .extensions import parse_extensions
from .host import parse_host
from .raw import Raw
from .torch_files import parse_torch
from .witnesses import file_witnesses

_PATIENCE_S = 2.0
"""How long the children's answers wait in their pipes for the patient's Python to be found."""


class Options(Struct, frozen=True, kw_only=True):
    """What to look at. Deadlines in seconds from the start of each part."""

    python: str | None = None
    """`--python`: an interpreter, its environment's folder, or a name on PATH."""
    root: str = "/"
    """Another root folder: only its files are read, no child is started."""
    env: Mapping[str, str] | None = None
    """The patient's variables: None takes this process's (and none for a root folder)."""
    cwd: str | None = None
    """None: this process's (and none in a root folder)."""
    import_torch: bool = True
    scan_extensions: bool = True
    ask_driver: bool = True
    """Whether NVML and libcuda are asked."""
    deadline_s: float = 20.0
    import_deadline_s: float = 60.0


def collect(options: Options | None = None, progress: Callable[[str], None] | None = None) -> Snapshot:
    """Look at the machine and parse what was found. `progress` is told in a word or two what is waited for."""
    return snapshot_of(gather_all(options or Options(), progress))


def gather_all(options: Options, progress: Callable[[str], None] | None = None) -> Recording:
    """The raw half: device nodes first, then children and files side by side, each with its deadline."""
    say = progress or (lambda words: None)
    live = options.root == "/"
    env = options.env if options.env is not None else (dict(os.environ) if live else None)
    cwd = options.cwd or (_cwd() if live else "")
    manifest = {
        "tool": __version__,
        "kind": "live" if live else "root",
        "name": "" if live else options.root,
        "gathered_at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
        "import_torch": live and options.import_torch,
    }
    lines: list[Line] = []
    gather_devices(lines.append, options.root)
    children = _Children(options, env, cwd) if live else None
    found: dict[str, Any] = {"devices": False, "python": options.python, "scan": options.scan_extensions, "cwd": cwd}
    if live:
        found.update(own_prefix=sys.prefix, own_executable=sys.executable)
    say("files")
    work = Gathering(
        lambda emit: gather(emit, options.root, env, tools, found),
        options.deadline_s,
        children.notice if children else None,
    )
    answers = children.answers(say) if children else {}
    return Recording(lines + work.wait(), answers, manifest)


class _Children:
    """The agents of a live run. The one that imports torch starts as soon as the files tell which Python that is."""

    def __init__(self, options: Options, env: Mapping[str, str] | None, cwd: str) -> None:
        self.options, self.env, self.cwd = options, env, cwd
        self.patient: Line = {}
        self.torch: list[str] | None = None
        self.known = Event()
        self.agents: dict[str, Any] = {}
        for name, command in driver_commands().items() if options.ask_driver else ():
            self._start(name, command, options.deadline_s)

    def notice(self, line: Line) -> None:
        """Called in the gatherer's thread with each line."""
        at = line.get("at")
        if at == "python" and line.get("role") == "patient":
            self.patient = line
        elif at == "torch" and self.options.import_torch:
            self.torch = torch_command(self.patient, self.cwd)
        if at in ("torch", "others", "end", "failed"):
            self.known.set()

    def answers(self, say: Callable[[str], None]) -> dict[str, AgentResult]:
        """Wait for all children, each to its deadline."""
        try:
            return self._answers(say)
        except BaseException:  # an interrupt must leave no child behind
            for agent in self.agents.values():
                agent.kill()
            raise

    def _answers(self, say: Callable[[str], None]) -> dict[str, AgentResult]:
        from ..targets.process import wait_agents

        started = monotonic()
        self.known.wait(min(_PATIENCE_S, self.options.deadline_s))
        self._import(say)
        results = dict(zip(self.agents, wait_agents(*self.agents.values()), strict=True))
        if "torch" not in results and self.options.import_torch:
            self.known.wait(max(0.0, self.options.deadline_s - (monotonic() - started)))
            if self._import(say):
                results["torch"] = wait_agents(self.agents["torch"])[0]
        return results

    def _import(self, say: Callable[[str], None]) -> bool:
        say("torch import" if self.torch else "driver")
        if self.torch:
            self._start("torch", self.torch, self.options.import_deadline_s)
        return self.torch is not None

    def _start(self, name: str, command: list[str], deadline_s: float) -> None:
        from ..targets.process import start_agent

        self.agents[name] = start_agent(command, deadline_s, self.env)


def _cwd() -> str:
    """The working directory, empty where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 (pathlib is not worth its start-up time here)
    except OSError:
        return ""


def snapshot_of(recording: Recording) -> Snapshot:
    """The pure half: the same Snapshot for a live machine and for its recording."""
    manifest = recording.manifest
    target = Target(
        kind=str(manifest.get("kind") or "live"),
        name=str(manifest.get("name") or ""),
        gathered_at=str(manifest.get("gathered_at") or ""),
    )
    snapshot = Snapshot(target=target)
    if recording.files is not None:
        raw = Raw(recording.files)
        python = parse_python(raw)
        if not isinstance(python.patient.prefix, Missing):
            python = replace(python, extensions=parse_extensions(raw))
        snapshot = replace(
            snapshot,
            host=parse_host(raw),
            container=parse_container(raw),
            driver=parse_driver_files(raw),
            cuda=parse_cuda(raw),
            python=python,
            torch=parse_torch(raw, python),
            witnesses=file_witnesses(raw),
        )
    return with_answers(snapshot, recording.agents, manifest)
