"""What `fleet load` does once its flags are known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..fleet.kinds import Refused
from ..fleet.names import unfold
from ..fleet.sources import Piece, pieces, refuse_unreadable
from ..guard import Refusal
from ..report.progress import Progress
from .write import echo

_MOST_JOBS = 8
_SAY_EVERY = 100


def run_load(flags: dict[str, Any]) -> int:
    """Read, store and judge; returns the exit code."""
    refuse_unreadable(flags["paths"])
    if flags["output"] in (None, "", "-"):
        raise Refusal("fleet load needs -o FILE for the database that it writes")
    requested = unfold(flags["nodes"]) if flags["nodes"] else []
    from ..fleet.store.draft import Draft
    from ..fleet.store.load import Loaded, load

    jobs = flags["jobs"] or min(_MOST_JOBS, len(os.sched_getaffinity(0)))
    with Draft(flags["output"]) as draft, Progress() as progress:
        read = _counted(pieces(flags["paths"]), progress)
        loaded: Loaded = load(draft, read, requested, "files", flags["judge"], jobs)
        if not loaded.pieces:
            raise Refusal("there is no .json, .jsonl or .gz of them: nothing was written")
        draft.finish()
    echo(_words(loaded.answered, loaded.missing, loaded.judged_here))
    if loaded.first_refused is not None:
        one = loaded.first_refused
        where = f"{one.file}:{one.line}" if one.line else one.file
        others = f" (and {loaded.refused - 1:,} more in the table refused)" if loaded.refused > 1 else ""
        echo(f"gpudoctor: refused {where}: {one.reason}{others}", err=True)
    return 0 if loaded.answered else 3


def _counted(found: Iterator[Piece | Refused], say: Progress) -> Iterator[Piece | Refused]:
    for number, one in enumerate(found):
        if number % _SAY_EVERY == 0:
            say(f"{number:,} reports")
        yield one


def _words(answered: int, missing: int, here: int) -> str:
    nodes = "1 node has answered" if answered == 1 else f"{answered:,} nodes have answered"
    words = [nodes]
    if missing:
        words.append(f"{missing:,} not")
    if here:
        words.append(f"{here:,} judged here")
    return ", ".join(words)
