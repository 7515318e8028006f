"""Where the facts of a run come from: a saved report, a recording, a root folder or this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..findings import Policy
from ..guard import Refusal
from ..snapshot import Missing, Snapshot
from .gather_options import options

__all__ = ["gather", "options", "read", "replay"]

Say = Callable[[str], None]


def read(flags: dict[str, Any]) -> tuple[Snapshot, Policy]:
    """Snapshot and Policy of the report that `--from` names."""
    from .saved import read_report

    saved = read_report(flags["from_"])
    return saved.snapshot, saved.policy


def gather(flags: dict[str, Any], say: Say | None = None, meanwhile: Callable[[], None] | None = None) -> Snapshot:
    """The facts of this machine, a root folder or a recording. Raises Refusal if there is no such thing.

    `meanwhile`: work to do while a child has not answered yet.
    """
    if flags["replay"]:
        return replay(flags["replay"])
    if flags.get("target"):
        from .far import gather_far

        return gather_far(flags, say)
    from ..probes.collect import Started, gather_all, snapshot_of
    from .preload import preload

    started = flags.get("started") or Started(options(flags))
    try:
        preload()
        if meanwhile and started.waits():
            meanwhile()
        snapshot = snapshot_of(gather_all(started, say))
    finally:
        started.abandon()
    refuse_missing_python(flags["python_"], snapshot)
    return snapshot


def refuse_missing_python(named: str | None, snapshot: Snapshot) -> None:
    """Raises Refusal if there is no environment at the path that the user named."""
    prefix = snapshot.python.patient.prefix
    if named and isinstance(prefix, Missing) and prefix.reason in ("absent", "not-asked"):
        raise Refusal(f"--python {named}: no Python environment found")


def replay(folder: str) -> Snapshot:
    """The facts of a recording."""
    from ..probes.collect import snapshot_of
    from ..targets.recording import RecordingError, read_recording

    try:
        return snapshot_of(read_recording(folder))
    except RecordingError as error:
        raise Refusal(str(error)) from None
