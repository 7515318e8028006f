"""The simulation behind `gpudoctor fleet run --links`: what is named in clusters of which the truth is known.

    python benchmarks/fleet_links.py [--seed 1] [--clusters 20] [--nodes 8 16 64 512 1000] [--worlds ...]

Plans the rounds of pairs (`doctor/fleet/rounds.py`), draws a rate for each pair, and judges them
(`doctor/fleet/link_verdict.py`), as a run does. Nothing was measured on a network: these are models until a real fabric
has been measured.

A node's own link differs by 1 %, each measurement adds 2 % of noise, 0.5 % of the pairs hang. 32 nodes per switch (4 in
clusters of up to 64 nodes). One node in 100 (one at least) loses 20 to 60 % of its rate, in the worlds
  bad           as said
  no topology   the switches are not known
  disturbed     3 % of the measurements lose 5 to 40 %
  oversubscribed  pairs across switches get 70 % of the rate of neighbors
In the other worlds no node is bad:
  sound         nothing is
  switch        one switch gives its nodes half of the rate to other switches (none in a cluster with two)
  path          the path between two switches, of those that the plan measures, gives half of the rate

Prints a Markdown table, a row for each world and size: planted (nodes, switches or paths), how many of them are
confirmed by the fourth round, false ones, suspects that were not confirmed, pairs in a run (the most), rounds (the
most), and how many of all paths between two switches the three rounds measure.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from statistics import mean
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.fleet.link_rates import LinkRate
from doctor.fleet.link_verdict import LinkVerdict, judge, suspects
from doctor.fleet.rounds import Pair, first_rounds, fourth_round

WORLDS = ("bad", "no topology", "disturbed", "oversubscribed", "sound", "switch", "path")
HEAD = "| world | nodes | clusters | planted | found | false | open | pairs | rounds | paths measured |"
GB_S = 46.0


class Cluster(NamedTuple):
    """The truth. own: share of the usual rate; path: two switches."""

    own: dict[str, float]
    switches: dict[str, str]
    bad: set[str]
    switch: str
    path: frozenset[str]
    oversubscribed: bool
    disturbed: float


class Counts(NamedTuple):
    """Of one cluster."""

    planted: int
    found: int
    false: int
    open: int
    pairs: int
    rounds: int
    covered: float


def cluster(world: str, nodes: int, rng: random.Random) -> Cluster:
    """The truth."""
    names = [f"n{number:04d}" for number in range(nodes)]
    ports = 32 if nodes > 64 else 4
    switches = {name: f"leaf{at // ports:02d}" for at, name in enumerate(names)}
    own = {name: 1 + rng.gauss(0, 0.01) for name in names}
    healthy = world in ("sound", "switch", "path")
    bad = set() if healthy else set(rng.sample(names, max(1, nodes // 100)))
    for name in bad:
        own[name] *= 1 - rng.uniform(0.2, 0.6)
    all_switches = sorted(set(switches.values()))
    switch = rng.choice(all_switches) if world == "switch" and len(all_switches) > 2 else ""
    path: frozenset[str] = frozenset()
    if world == "path":
        planned = sorted(
            crossed([pair for turn in first_rounds(names, switches) for pair in turn], switches), key=sorted
        )
        path = rng.choice(planned) if len(all_switches) > 2 else path
    return Cluster(own, switches, bad, switch, path, world == "oversubscribed", 0.03 if world == "disturbed" else 0.0)


def crossed(pairs: list[Pair], switches: dict[str, str]) -> set[frozenset[str]]:
    """The paths between switches that these pairs use, in the rounds of distant nodes."""
    ends = [frozenset((switches[pair.one], switches[pair.other])) for pair in pairs if pair.round > 1]
    return {one for one in ends if len(one) > 1}


def rate(truth: Cluster, pair: Pair, rng: random.Random) -> LinkRate:
    """One measurement."""
    share = min(truth.own[pair.one], truth.own[pair.other])
    ends = frozenset((truth.switches[pair.one], truth.switches[pair.other]))
    if len(ends) > 1:
        share *= 0.7 if truth.oversubscribed else 1.0
        share *= 0.5 if truth.switch in ends or ends == truth.path else 1.0
    share *= 1 + rng.gauss(0, 0.02)
    if rng.random() < truth.disturbed:
        share *= 1 - rng.uniform(0.05, 0.4)
    return LinkRate(pair, None, "no answer in 120 s") if rng.random() < 0.005 else LinkRate(pair, GB_S * share)


def run(truth: Cluster, known: bool, rng: random.Random) -> tuple[list[LinkRate], LinkVerdict]:
    """All rounds, as `fleet run --links`."""
    switches = truth.switches if known else {}
    rates = [rate(truth, pair, rng) for turn in first_rounds(truth.own, switches) for pair in turn]
    doubts, good = suspects(rates, switches)
    for turn in fourth_round(doubts, good, switches, [one.pair for one in rates]):
        rates += [rate(truth, pair, rng) for pair in turn]
    return rates, judge(rates, switches)


def count(truth: Cluster, rates: list[LinkRate], found: LinkVerdict) -> Counts:
    """What was right. A path may be named by its switches or by two of their nodes."""
    nodes = {one.node for one in found.nodes if one.confirmed}
    switches = {one.switch for one in found.switches if one.confirmed}
    paths = [frozenset(truth.switches[name] for name in one.nodes) for one in found.paths if one.confirmed]
    hit = len(nodes & truth.bad) + (truth.switch in switches) + (truth.path in paths)
    false = len(nodes - truth.bad) + len(switches - {truth.switch}) + sum(one != truth.path for one in paths)
    unconfirmed = sum(not one.confirmed for part in (found.nodes, found.paths, found.switches) for one in part)
    all_ = len(set(truth.switches.values()))
    measured = crossed([one.pair for one in rates if one.pair.round < 4], truth.switches)
    return Counts(
        len(truth.bad) + bool(truth.switch) + bool(truth.path),
        hit,
        false,
        unconfirmed,
        len(rates),
        max(one.pair.round for one in rates),
        len(measured) / (all_ * (all_ - 1) / 2) if all_ > 1 else 1.0,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clusters", type=int, default=20, help="of each world and size; up to 64 nodes ten times")
    parser.add_argument("--nodes", type=int, nargs="+", default=[8, 16, 64, 512, 1000])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=WORLDS)
    given = parser.parse_args()
    print(HEAD)
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for world in given.worlds:
        for nodes in given.nodes:
            rows = []
            for number in range(given.clusters * (10 if nodes <= 64 else 1)):
                rng = random.Random(f"{given.seed} {world} {nodes} {number}")
                truth = cluster(world, nodes, rng)
                rows.append(count(truth, *run(truth, world != "no topology", rng)))
            planted, found, false, open_ = (sum(row[at] for row in rows) for at in range(4))
            print(
                f"| {world} | {nodes:,} | {len(rows)} | {planted} | {found} | {false} | {open_} "
                f"| {max(row.pairs for row in rows):,} | {max(row.rounds for row in rows)} "
                f"| {100 * mean(row.covered for row in rows):.0f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
