"""Databases of `fleet run --links` whose rates are known: the pairs are those that a run would measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path

from doctor.fleet.kinds import LinkRow
from doctor.fleet.link_rates import LinkRate
from doctor.fleet.link_verdict import suspects
from doctor.fleet.rounds import Pair, first_rounds, fourth_round
from doctor.fleet.store.draft import Draft
from doctor.fleet.store.growing import Growing

from . import spool


def names_of(count: int) -> list[str]:
    return [f"n{number}" for number in range(1, count + 1)]


def links_of(
    rate: Callable[[Pair], float | None], names: list[str], ports: int = 4, why: str = "no route to n1"
) -> list[LinkRow]:
    """What a run on these nodes would store. ports: nodes per switch; why: there is no number."""
    switches = {name: f"leaf{at // ports}" for at, name in enumerate(names)}
    rates = [LinkRate(pair, rate(pair)) for turn in first_rounds(names, switches) for pair in turn]
    doubts, good = suspects(rates, switches)
    for turn in fourth_round(doubts, good, switches, [one.pair for one in rates]):
        rates += [LinkRate(pair, rate(pair)) for pair in turn]
    return [
        LinkRow(*pair, switches[pair.one], switches[pair.other], "all_reduce", value, "GB/s", why * (value is None))
        for pair, value, _ in rates
    ]


def database(folder: Path, rows: Collection[LinkRow], names: list[str]) -> Path:
    """Of healthy nodes that all answered."""
    path = folder / "now.db"
    with Draft(str(path)) as draft:
        growing = Growing(draft, names, "Slurm")
        for number, name in enumerate(names):
            report = spool.report(spool.machine(number))
            made = datetime.fromisoformat(json.loads(report)["generated_at"].replace("Z", "+00:00"))
            growing.answered(name, made.timestamp(), report)
        for row in rows:
            growing.link(row)
        growing.end()
    return path


def page_s_example(folder: Path) -> None:
    """64 nodes, 8 per switch: one is slow to all, one path between two switches is slow, one pair hung."""
    names = [f"gpu-{number:03}" for number in range(1, 65)]
    leaf = {name: at // 8 for at, name in enumerate(names)}

    def rate(pair: Pair) -> float | None:
        usual = 45.4 + (sum(map(ord, pair.one + pair.other)) % 13) / 10
        slow = 0.67 if "gpu-017" in pair else 0.5 if {leaf[name] for name in pair[2:]} == {4, 6} else 1.0
        return None if pair.round == 1 and "gpu-033" in pair else usual * slow

    database(folder, links_of(rate, names, 8, "no answer in 300 s"), names)
