"""Fleets for tests: made by the generator of the benchmark, loaded and reported by the real command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.fleet import Machines, Plan, plan, truth, write

from ..cli.command import gpudoctor


@lru_cache(maxsize=1)
def machines() -> Machines:
    """The machines of all fleets in this process: each is recorded once."""
    return Machines()


def planted(nodes: int, seed: int, kinds: Iterable[str]) -> Plan:
    """A fleet in which only faults of these kinds are."""
    made = plan(nodes, seed, healthy=False)
    return made._replace(planted=tuple(one for one in made.planted if one.kind in kinds))


def loaded(made: Plan, folder: Path, *flags: str, seed: int = 1, start: float | None = None) -> Path:
    """The database of a fleet."""
    spool = folder / "spool"
    write(made, machines(), spool, seed, **({} if start is None else {"start": start}))
    (folder / "truth.json").write_text(json.dumps(truth(made, seed)))
    database = folder / "fleet.db"
    done = gpudoctor("fleet", "load", spool, "-o", database, *flags)
    assert done.returncode in (0, 3), done.stderr
    return database


def report(database: Path, *flags: str) -> tuple[dict[str, Any], int]:
    """The report's JSON and the exit code."""
    done = gpudoctor("fleet", "report", database, "--format", "json", *flags)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


Made = Callable[..., Path]
