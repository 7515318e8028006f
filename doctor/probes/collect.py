"""From a machine, a root folder or a recording to one Snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from ..snapshot import Missing, Outside, Snapshot, Target
from ..targets.recording import Recording
from .agents import with_answers
from .caps import caps
from .container import parse_container
from .cuda_disk import parse_cuda
from .driver_files import parse_driver_files
from .engines import parse_engines
from .environments import parse_python
from .extensions import parse_extensions
from .host import parse_host
from .raw import Raw
from .shared_objects import parse_deep, parse_shared_objects
from .start import Options, Started
from .torch_files import parse_torch
from .unlisted import to_ask
from .witnesses import file_witnesses

__all__ = ["Options", "Started", "collect", "gather_all", "snapshot_of"]


def collect(run: Started | Options | None = None, progress: Callable[[str], None] | None = None) -> Snapshot:
    """Look at the machine and parse what was found. `progress` is called with a word or two for what is waited for."""
    return snapshot_of(gather_all(run or Options(), progress))


def gather_all(run: Started | Options, progress: Callable[[str], None] | None = None) -> Recording:
    """The raw half: children and files side by side, each with its deadline."""
    say = progress or (lambda words: None)
    if isinstance(run, Options):
        run = Started(run)
    say("files")
    answers = run.answers(say)
    if run.options.hurried:
        for answer in answers.values():
            if answer.fault == "hang":  # a driver that needs a second to answer is sound
                answer.fault, answer.waits = "slow", "cut short by the signal; gpudoctor check waits longer"
    lines = run.lines(say)
    unlisted = to_ask(lines, answers.get("nvml"))
    if unlisted and run.options.live:
        answers["unlisted_gpus"] = run.ask_late("unlisted_gpus", "/", *unlisted)
    return Recording(lines, answers, run.manifest)


def snapshot_of(recording: Recording) -> Snapshot:
    """The pure half: the same Snapshot for a live machine and for its recording."""
    manifest = recording.manifest
    target = Target(
        kind=str(manifest.get("kind") or "live"),
        name=str(manifest.get("name") or ""),
        gathered_at=str(manifest.get("gathered_at") or ""),
    )
    snapshot = Snapshot(target=target)
    raw = None if recording.files is None else Raw(recording.files)
    if raw is not None:
        python = parse_python(raw)
        if not isinstance(python.patient.prefix, Missing):
            python = replace(
                python,
                extensions=parse_extensions(raw),
                changed_libraries=parse_shared_objects(raw),
                changed_files=parse_deep(raw),
            )
        snapshot = replace(
            snapshot,
            host=parse_host(raw),
            container=parse_container(raw),
            engines=parse_engines(raw),
            driver=parse_driver_files(raw),
            cuda=parse_cuda(raw),
            python=python,
            torch=parse_torch(raw, python),
            witnesses=file_witnesses(raw),
        )
    snapshot = with_answers(snapshot, recording.agents, manifest)
    if isinstance(manifest.get("outside"), dict):
        snapshot = replace(snapshot, outside=_outside(manifest["outside"]))
    found = caps(raw.rows("cap") if raw else (), recording.agents, recording.proof)
    if found:
        snapshot = replace(snapshot, caps=found)
    if not recording.proof:
        return snapshot
    from .measured import parse_measured

    plain = snapshot.container.kind == "none" and snapshot.host.wsl == 0
    measured = parse_measured(recording.proof, manifest.get("prove"), True if plain else None)
    return replace(snapshot, measured=measured)


def _outside(found: dict[str, Any]) -> Outside | None:
    """The host of a container; None if a stranger's recording has something else there."""
    try:
        return convert(found, Outside)
    except ValidationError:
        return None
