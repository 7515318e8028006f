"""What `fleet load` does once its flags are known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..fleet.foreign import is_unread
from ..fleet.kinds import Refused
from ..fleet.lines import Piece
from ..fleet.names import unfold
from ..fleet.sources import pieces, refuse_unreadable
from ..guard import Refusal
from ..report.progress import Progress
from .write import echo

if TYPE_CHECKING:
    from ..fleet.store.load import Loaded

_MOST_JOBS = 8
_MOST_NAMED = 5
_SAY_EVERY = 100


def run_load(flags: dict[str, Any]) -> int:
    """Read, store and judge; returns the exit code."""
    refuse_unreadable(flags["paths"])
    if flags["output"] in (None, "", "-"):
        raise Refusal("fleet load needs -o FILE, the database to write")
    requested = unfold(flags["nodes"]) if flags["nodes"] else []
    from ..fleet.store.draft import Draft
    from ..fleet.store.load import load

    passed: list[str] = []
    jobs = flags["jobs"] or min(_MOST_JOBS, len(os.sched_getaffinity(0)))
    with Draft(flags["output"]) as draft, Progress() as progress:
        read = _counted(pieces(flags["paths"], _report_of, flags["output"]), progress, passed)
        loaded = load(draft, read, requested, "files", flags["judge"], jobs)
        if not loaded.pieces:
            others = f" ({_passed(passed)})" if passed else ""
            raise Refusal(f"no reports found (.json or .jsonl, plain or gzipped): nothing was written{others}")
        if not loaded.answered and not loaded.missing and os.path.exists(flags["output"]):  # noqa: PTH110
            raise Refusal(f"no report could be read, so {flags['output']} is unchanged ({_refused(loaded)})")
        draft.finish()
    echo(_words(loaded))
    if passed:
        echo(f"gpudoctor: {_passed(passed)}", err=True)
    if loaded.first_refused is not None:
        named = _refused(loaded, "; see the table 'refused'")
        echo(f"gpudoctor: {named}", err=True)
    return 0 if loaded.answered else 3


def _refused(loaded: Loaded, more: str = "") -> str:
    """The first file or line that was refused, and how many more there are. more: where those are named."""
    one = loaded.first_refused
    if one is None:
        return "nothing was refused"
    where = f"{one.file}:{one.line}" if one.line else one.file
    return f"refused {where}: {one.reason}{f' (and {loaded.refused - 1:,} more{more})' if loaded.refused > 1 else ''}"


def _report_of(folder: str) -> bytes:
    """The report of a recording, without a verdict, as `check --replay` would build it. Raises Refusal."""
    import datetime

    import msgspec

    from ..findings import Policy
    from ..judge.report import REPORT_SCHEMA_VERSION
    from ..probes.collect import snapshot_of
    from ..targets.recording import RecordingError, read_recording
    from .options import of_its_day

    try:
        recording = read_recording(folder)
    except RecordingError as error:
        raise Refusal(str(error)) from None
    snapshot = snapshot_of(recording)
    today = Policy(judged_on=datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    return msgspec.json.encode({
        "schema_version": REPORT_SCHEMA_VERSION, "generated_at": snapshot.target.gathered_at,
        "target": snapshot.target, "policy": of_its_day(today, snapshot),
        "redacted": recording.manifest.get("redacted") is True, "snapshot": snapshot,
    })  # fmt: skip


def _counted(found: Iterator[Piece | Refused], say: Progress, passed: list[str]) -> Iterator[Piece | Refused]:
    """`passed`: collects the files of other kinds."""
    number = 0
    for one in found:
        if isinstance(one, Refused) and not is_unread(one.reason):
            passed.append(one.file)
            yield one
            continue
        if number % _SAY_EVERY == 0:
            say(f"{number:,} reports")
        number += 1
        yield one


def _passed(files: list[str]) -> str:
    count = "1 file of a different kind was" if len(files) == 1 else f"{len(files):,} files of other kinds were"
    names = ", ".join(os.path.basename(file) for file in files[:_MOST_NAMED])  # noqa: PTH119
    return f"{count} not read: {names}{', ...' if len(files) > _MOST_NAMED else ''}"


def _words(loaded: Loaded) -> str:
    answered = loaded.answered
    words = ["1 node has answered" if answered == 1 else f"{answered:,} nodes have answered"]
    if loaded.missing:
        words.append(f"{loaded.missing:,} did not")
    if loaded.not_requested:
        words.append(f"{loaded.not_requested:,} not in --nodes")
    if loaded.judged_here:
        words.append(f"{loaded.judged_here:,} judged here")
    return ", ".join(words)
