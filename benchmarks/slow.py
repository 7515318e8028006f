"""The simulation behind the thresholds of `gpudoctor fleet`: who is called slow in fleets whose truth is known.

    python benchmarks/slow.py [--seed 1] [--fleets 20] [--nodes 8 64 1000 10000]

Makes fleets of 8 GPUs per node, measures them as `gpudoctor prove` would (matrix products of bf16), measures the nodes
that look slow twice more, as `fleet run --prove` does, and asks `doctor/fleet/slow.py`. Nothing was measured on a
GPU: these are models until a real fleet has been measured.

Worlds (a GPU's own part has a normal spread, each measurement adds 0.5 % of noise):
  even        GPUs differ by 1.6 %
  warm tail   as even, and on a tenth of the nodes all GPUs lose up to 8 %, mostly little
  two kinds   as even, and 30 % of the nodes are 6 % slower
  wide        GPUs differ by 4 %
  disturbed   as even, and 2 % of the measurements of a GPU lose 5 to 40 %

In each fleet one GPU in 200 (one at least) loses 15 %, and one node in 500 (one at least) loses 15 % on all GPUs. It is
false to call a GPU or node slow whose own part is less than 10 % below what is usual for its kind. Prints a Markdown
table: false ones in a fleet (the mean, and the most in one fleet), the share of the planted ones that is found, those
that lag, fleets that were split into two kinds, and the smallest difference that the spread can show.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.fleet.kinds import Value
from doctor.fleet.slow import WHOLE_NODE, Below, Speed, judge
from doctor.fleet.thresholds import Kind

GPUS = 8
NOISE = 0.005
LOSS = 0.15
SLOWER = 0.06
WORLDS = ("even", "warm tail", "two kinds", "wide", "disturbed")
KIND: Kind = "matmul"
FLOOR = 0.1


class Fleet(NamedTuple):
    """own: the steady speed of each GPU, 1 for a usual one; slower: nodes of the second kind."""

    own: list[list[float]]
    slower: set[int]
    bad_gpus: set[tuple[int, int]]
    bad_nodes: set[int]
    disturbed: float


class Counts(NamedTuple):
    """Of one fleet."""

    false: int
    found: int
    planted: int
    found_nodes: int
    planted_nodes: int
    lagging: int
    two_kinds: bool
    hides: float


def fleet(world: str, nodes: int, rng: random.Random) -> Fleet:
    """The truth."""
    spread = 0.04 if world == "wide" else 0.016
    own = [[1 + rng.gauss(0, spread) for _ in range(GPUS)] for _ in range(nodes)]
    order = rng.sample(range(nodes), nodes)
    lost = dict.fromkeys(order, 0.0)
    if world == "warm tail":
        lost |= {node: min(0.08, rng.expovariate(1 / 0.025)) for node in order[: nodes // 10]}
    slower = set(rng.sample(range(nodes), round(0.3 * nodes))) if world == "two kinds" else set()
    lost |= dict.fromkeys(slower, SLOWER)
    bad_nodes = set(order[-max(1, nodes // 500) :])
    candidates = [node for node in order if node not in bad_nodes]
    bad_gpus = {(node, rng.randrange(GPUS)) for node in rng.sample(candidates, max(1, nodes * GPUS // 200))}
    for node in range(nodes):
        for gpu in range(GPUS):
            bad = node in bad_nodes or (node, gpu) in bad_gpus
            own[node][gpu] *= (1 - lost[node]) * (1 - LOSS * bad)
    return Fleet(own, slower, bad_gpus, bad_nodes, 0.02 if world == "disturbed" else 0.0)


def measured(truth: Fleet, nodes: list[int], repeat: int, rng: random.Random) -> Iterator[Value]:
    """One look at these nodes."""
    for node in nodes:
        for gpu, own in enumerate(truth.own[node]):
            value = own * (1 + rng.gauss(0, NOISE))
            if truth.disturbed and rng.random() < truth.disturbed:
                value *= 1 - rng.uniform(0.05, 0.4)
            yield Value(node, gpu, "matmul bf16", 780 * value, "TFLOP/s", repeat)


def reported(truth: Fleet, rng: random.Random) -> Speed:
    """As `fleet run --prove`: all once, what looks slow twice more."""
    values = list(measured(truth, list(range(len(truth.own))), 1, rng))
    suspects = sorted({one.node for part in judge(values, KIND).parts for one in part.below if one.state == "once"})
    for repeat in (2, 3):
        values += measured(truth, suspects, repeat, rng)
    return judge(values, KIND)


def count(truth: Fleet, found: Speed) -> Counts:
    """What was right."""
    below = [one for part in found.parts for one in part.below]
    slow = [one for one in below if one.state == "slow"]
    named = {(one.node, one.gpu) for one in slow}
    hit = {bad for bad in truth.bad_gpus if bad in named or (bad[0], WHOLE_NODE) in named}
    nodes = {node for node in truth.bad_nodes if (node, WHOLE_NODE) in named}
    return Counts(
        sum(_false(truth, one) for one in slow),
        len(hit),
        len(truth.bad_gpus),
        len(nodes),
        len(truth.bad_nodes),
        sum(one.state == "lagging" for one in below),
        found.kinds is not None,
        found.parts[-1].hides_percent,
    )


def _false(truth: Fleet, one: Below) -> bool:
    own = truth.own[one.node]
    steady = median(own) if one.gpu == WHOLE_NODE else own[one.gpu]
    return steady >= (1 - FLOOR) * (1 - SLOWER * (one.node in truth.slower))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fleets", type=int, default=20, help="of each world and size; of 8 and 64 nodes ten times")
    parser.add_argument("--nodes", type=int, nargs="+", default=[8, 64, 1000, 10_000])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=WORLDS)
    given = parser.parse_args()
    print("| world | nodes | fleets | false | most | -15 % found | node -15 % found | lagging | two kinds | hides |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for world in given.worlds:
        for nodes in given.nodes:
            number = given.fleets * (10 if nodes <= 64 else 1)
            rows = []
            for turn in range(number):
                rng = random.Random(f"{given.seed} {world} {nodes} {turn}")
                truth = fleet(world, nodes, rng)
                rows.append(count(truth, reported(truth, rng)))
            share = [100 * sum(r.found for r in rows) / sum(r.planted for r in rows),
                     100 * sum(r.found_nodes for r in rows) / sum(r.planted_nodes for r in rows)]  # fmt: skip
            print(
                f"| {world} | {nodes:,} | {number} | {mean(r.false for r in rows):.2f} | {max(r.false for r in rows)} "
                f"| {share[0]:.1f} % | {share[1]:.1f} % | {mean(r.lagging for r in rows):.1f} "
                f"| {100 * mean(r.two_kinds for r in rows):.0f} % | {mean(r.hides for r in rows):.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
