"""From a machine, a root folder or a recording to one Snapshot."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from time import gmtime, strftime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import __version__
from ..patient.gather import gather, gather_devices
from ..snapshot import NOT_ASKED, Missing, Snapshot, Target
from ..targets.local import Gathering, Line
from ..targets.recording import Recording
from . import tools
from .container import parse_container
from .cuda_disk import parse_cuda
from .driver_files import parse_driver_files
from .environments import parse_python
from .extensions import parse_extensions
from .host import parse_host
from .raw import Raw
from .torch_files import parse_torch


class Options(Struct, frozen=True, kw_only=True):
    """What to look at. Seconds are deadlines from the start."""

    python: str | None = None
    """`--python`: an interpreter, its environment's folder, or a name on PATH."""
    root: str = "/"
    """Another root folder: only its files are read, no child is started."""
    env: Mapping[str, str] | None = None
    """The patient's variables: None takes this process's (and none for a root folder)."""
    cwd: str | None = None
    import_torch: bool = True
    scan_extensions: bool = True
    deadline_s: float = 20.0
    import_deadline_s: float = 60.0


def collect(options: Options | None = None, progress: Callable[[str], None] | None = None) -> Snapshot:
    """Look at the machine and parse what was found."""
    return snapshot_of(gather_all(options or Options(), progress))


def gather_all(options: Options, progress: Callable[[str], None] | None = None) -> Recording:
    """The raw half: device nodes first, then children and files side by side, each with its deadline."""
    live = options.root == "/"
    say = progress or (lambda words: None)
    env = options.env if options.env is not None else (dict(os.environ) if live else None)
    lines: list[Line] = []
    gather_devices(lines.append, options.root)
    say("files")
    work = Gathering(
        lambda emit: gather(emit, options.root, env, tools, _gather_options(options, live)), options.deadline_s
    )
    lines += work.wait()
    manifest = {
        "tool": __version__,
        "kind": "live" if live else "root",
        "name": "" if live else options.root,
        "gathered_at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
    }
    return Recording(lines, {}, manifest)


def _gather_options(options: Options, live: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"devices": False, "python": options.python, "scan": options.scan_extensions}
    if live:
        found.update(cwd=options.cwd or _cwd(), own_prefix=sys.prefix, own_executable=sys.executable)
    return found


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
    if recording.files is None:
        return Snapshot(target=target)
    raw = Raw(recording.files)
    python = parse_python(raw)
    extensions = parse_extensions(raw) if not isinstance(python.patient.prefix, Missing) else python.extensions
    python = replace(python, extensions=extensions)
    return Snapshot(
        target=target,
        host=parse_host(raw),
        container=parse_container(raw),
        driver=parse_driver_files(raw),
        cuda=parse_cuda(raw),
        python=python,
        torch=parse_torch(raw, python),
        gpus=NOT_ASKED,
    )
