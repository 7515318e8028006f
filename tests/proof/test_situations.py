"""What sets the pace in each situation of `situations.jsonl`, by what `watch` can see of it on that kind of GPU.

A row: what runs, its board, its group (Hopper with and without GPM, before Hopper, several GPUs, no GPU), the expected
bound and why, where its numbers are from (measured, or assumed), the facts of the run and of each GPU; null: not known;
ranks: whether what waits may wait for other ranks; path: the status of gpu-path-unused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from doctor.findings.pace import Pace
from doctor.findings.watched_run import watched as judged
from doctor.snapshot import Measured, Missing

from ..judging import run as run_check
from ..rows import for_each
from .stories import BOARDS, load, watched

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("situations.jsonl").read_text("utf-8").splitlines()
]
MEASURED = {"gpu", "cpu", "dataloader", "copies", "sleep"}
GROUPS = ("hopper-gpm", "hopper-without-gpm", "before-hopper", "several-gpus")


def _facts(given: dict[str, Any]) -> dict[str, Any]:
    known = {name: Missing("denied") if value is None else value for name, value in given.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}


@for_each("row", ROWS, ids=lambda row: f"{row['group']}: {row['what']}")
def test_what_sets_the_pace(row: dict[str, Any]) -> None:
    board = BOARDS[row["board"]]
    s = watched(board, **_facts(row["watch"]))
    run = s.measured.watch
    assert run is not None
    loads = tuple(load("watch", board, **_facts(one)) for one in row["loads"])
    done = judged(Measured(level="watch", watch=run, loads=loads), run)
    if "path" in row:
        status, reason, _ = run_check("gpu-path-unused", s.replace({"measured.loads": loads}))
        assert status == row["path"], (row["why"], reason)
    assert done.bound == row["bound"], (row["why"], done)
    assert "ranks" not in row or done.ranks is row["ranks"], (row["why"], done)


def test_each_bound_occurs_on_each_kind_of_gpu() -> None:
    bounds = {(row["group"], row["bound"]) for row in ROWS}
    assert bounds >= {(group, bound) for group in GROUPS for bound in get_args(Pace) if bound != "unknown"}
    assert {row["bound"] for row in ROWS if row["source"] != "assumed"} == MEASURED  # docs/prove.md names them
    assert all(row["why"] and (row["source"] == "assumed" or row["source"].startswith("measured: ")) for row in ROWS)
