"""Where the facts of a run come from: a saved report, a recording, a root folder or this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..findings import Policy
from ..snapshot import Missing, Snapshot
from .refusal import Refusal

if TYPE_CHECKING:
    from ..probes.collect import Options

Say = Callable[[str], None]


def read(flags: dict[str, Any]) -> tuple[Snapshot, Policy]:
    """Snapshot and Policy of the report that `--from` names."""
    from .saved import read_report

    saved = read_report(flags["from_"])
    return saved.snapshot, saved.policy


def gather(flags: dict[str, Any], say: Say | None = None) -> Snapshot:
    """The facts of this machine, a root folder or a recording. Raises Refusal where there is no such thing."""
    if flags["replay"]:
        return replay(flags["replay"])
    from ..probes.collect import collect

    snapshot = collect(options(flags), say)
    prefix = snapshot.python.patient.prefix
    if flags["python_"] and isinstance(prefix, Missing) and prefix.reason in ("absent", "not-asked"):
        raise Refusal(f"--python {flags['python_']}: there is no Python environment")
    return snapshot


def replay(folder: str) -> Snapshot:
    """The facts of a recording."""
    from ..probes.collect import snapshot_of
    from ..targets.recording import RecordingError, read_recording

    try:
        return snapshot_of(read_recording(folder))
    except RecordingError as error:
        raise Refusal(str(error)) from None


def options(flags: dict[str, Any]) -> Options:
    """What the gatherers are asked."""
    from ..probes.collect import Options

    seconds = flags["timeout"] or 20.0
    root = "/"
    if flags["root"]:
        from ..targets.root import NotARoot, root_folder

        try:
            root = root_folder(flags["root"])
        except NotARoot as error:
            raise Refusal(str(error)) from None
    return Options(
        python=flags["python_"], root=root, import_torch=not flags["no_import"],
        deadline_s=seconds, import_deadline_s=3 * seconds,
    )  # fmt: skip
