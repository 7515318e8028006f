"""The rounds of `fleet run --links`: which nodes meet, and what their rates show."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.link_rates import LinkRate
from doctor.fleet.link_verdict import LinkVerdict, judge, suspects
from doctor.fleet.rounds import Pair, Suspects, across, first_rounds, fourth_round

from ..drawn import drawn
from ..rows import for_each

ROOT = Path(__file__).parents[2]
Rate = Callable[[Pair], "float | None"]


def cluster(count: int, ports: int) -> tuple[list[str], dict[str, str]]:
    names = [f"n{number}" for number in range(1, count + 1)]
    return names, {name: f"leaf{at // ports}" for at, name in enumerate(names)} if ports else {}


def ends(pairs: tuple[Pair, ...]) -> list[str]:
    return [name for pair in pairs for name in (pair.one, pair.other)]


@drawn(120)
@given(st.integers(2, 600), st.sampled_from([0, 2, 3, 5, 16, 32, 1000]))
def test_three_rounds_of_disjoint_pairs(count: int, ports: int) -> None:
    """No pair twice, and all take part; of an odd number one rests in each round, a different one each time."""
    names, switches = cluster(count, ports)
    rounds = first_rounds(names, switches)
    assert len(rounds) == (1 if count == 2 else 3)
    met: Counter[frozenset[str]] = Counter()
    resting = []
    for number, pairs in enumerate(rounds, 1):
        assert all(pair.round == number and pair.turn == 1 for pair in pairs)
        assert len(set(ends(pairs))) == len(ends(pairs)) == count - count % 2
        resting += sorted(set(names) - set(ends(pairs)))
        met.update(frozenset((pair.one, pair.other)) for pair in pairs)
    assert max(met.values()) == 1
    assert len(set(resting)) == len(resting) == (3 if count % 2 else 0)


@drawn(80)
@given(st.integers(2, 200), st.sampled_from([0, 2, 3, 8, 32]), st.randoms(use_true_random=False))
def test_each_suspect_meets_two_good_nodes(count: int, ports: int, rng: object) -> None:
    """In two turns of disjoint pairs, while there are enough good ones."""
    names, switches = cluster(count, ports)
    before = [pair for turn in first_rounds(names, switches) for pair in turn]
    bad = rng.sample(names, rng.randint(1, count - 1))  # type: ignore[attr-defined]
    good = frozenset(names) - set(bad)
    turns = fourth_round(Suspects(tuple(bad)), good, switches, before)
    assert len(turns) == 2
    partners: dict[str, set[str]] = {name: set() for name in bad}
    for number, pairs in enumerate(turns, 1):
        assert all((pair.round, pair.turn) == (4, number) for pair in pairs)
        assert len(set(ends(pairs))) == len(ends(pairs))
        for pair in pairs:
            assert len({pair.one, pair.other} & set(bad)) < 2, "a suspect meets no suspect"
            for one, other in ((pair.one, pair.other), (pair.other, pair.one)):
                if one in partners:
                    partners[one].add(other)
    if len(good) >= len(bad) + 2:
        assert all(len(some) == 2 for some in partners.values())


def test_neighbors_come_first_then_other_switches() -> None:
    names, switches = cluster(64, 8)
    near, *distant = first_rounds(names, switches)
    assert all(not across(pair.one, pair.other, switches) for pair in near)
    for pairs in distant:
        assert sum(across(pair.one, pair.other, switches) for pair in pairs) >= 28
    names, switches = cluster(16, 8)
    for pairs in first_rounds(names, switches)[1:]:
        assert all(across(pair.one, pair.other, switches) for pair in pairs), "two switches: all pairs join them"


def test_one_node_has_no_pair_and_no_name_counts_twice() -> None:
    assert first_rounds(["n1"], {}) == first_rounds([], {}) == ()
    assert first_rounds(["n1", "n2", "n1"], {}) == ((Pair(1, 1, "n1", "n2"),),)


def judged(names: list[str], switches: dict[str, str], rate: Rate) -> LinkVerdict:
    """All four rounds of a cluster whose pairs have these rates."""
    rates = [rated(pair, rate) for turn in first_rounds(names, switches) for pair in turn]
    doubts, good = suspects(rates, switches)
    before = [one.pair for one in rates]
    for turn in fourth_round(doubts, good, switches, before):
        rates += [rated(pair, rate) for pair in turn]
    return judge(rates, switches)


def rated(pair: Pair, rate: Rate) -> LinkRate:
    value = rate(pair)
    return LinkRate(pair, value, "" if value is not None else "no answer in 120 s")


def test_all_alike_names_nothing_and_has_no_fourth_round() -> None:
    for count in (2, 3, 4, 9, 64):
        found = judged(*cluster(count, 8), lambda pair: 46.0)
        assert not (found.nodes or found.paths or found.switches or found.unmeasured)
        assert [one.round for one in found.turns] == [1, 2, 3][: len(found.turns)]
        assert all(one.median == 46.0 and one.measured == one.pairs for one in found.turns)


@for_each("count, ports", [(4, 0), (5, 0), (8, 4), (33, 8), (64, 8)])
def test_a_slow_node(count: int, ports: int) -> None:
    """Its best pair, that pair's round, and its partner; the partners stay good."""
    found = judged(*cluster(count, ports), lambda pair: 30.0 + pair.round if "n2" in pair else 46.0)
    (one,) = found.nodes
    assert (one.node, one.confirmed, one.median) == ("n2", True, 46.0)
    assert one.value == 34.0 and one.partner != "n2" and one.pairs >= 4
    assert not found.paths and not found.switches


def test_the_limit_is_nine_tenths_of_the_median() -> None:
    names, switches = cluster(16, 0)
    assert not judged(names, switches, lambda pair: 90.0 if "n2" in pair else 100.0).nodes
    (one,) = judged(names, switches, lambda pair: 89.9 if "n2" in pair else 100.0).nodes
    assert one.node == "n2"


def test_one_good_pair_is_enough() -> None:
    names, switches = cluster(16, 0)
    found = judged(names, switches, lambda pair: 20.0 if "n2" in pair and pair.round != 2 else 46.0)
    assert not found.nodes


def test_each_round_has_its_own_median() -> None:
    """Distant pairs get half of what neighbors get, and nobody is slow for that."""
    names, switches = cluster(64, 8)
    found = judged(names, switches, lambda pair: 23.0 if across(pair.one, pair.other, switches) else 46.0)
    assert not (found.nodes or found.paths or found.switches)
    assert [one.median for one in found.turns] == [46.0, 23.0, 23.0]


def test_a_suspect_that_good_partners_clear() -> None:
    """All its pairs of three rounds were disturbed; in the fourth it is as fast as the others."""
    names, switches = cluster(64, 8)
    found = judged(names, switches, lambda pair: 20.0 if "n2" in pair and pair.round < 4 else 46.0)
    assert not found.nodes and len(found.turns) == 5


def test_a_suspect_without_a_fourth_number_is_not_confirmed() -> None:
    names, switches = cluster(64, 8)
    found = judged(names, switches, lambda pair: (20.0 if pair.round < 4 else None) if "n2" in pair else 46.0)
    (one,) = found.nodes
    assert (one.node, one.confirmed) == ("n2", False)


def test_a_good_node_whose_partners_were_all_bad_is_cleared() -> None:
    names, switches = cluster(64, 0)
    bad = {name for turn in first_rounds(names, switches) for pair in turn if "n2" in pair for name in pair[2:]}
    bad -= {"n2"}
    found = judged(names, switches, lambda pair: 46.0 if bad.isdisjoint(pair[2:]) else 20.0)
    assert {one.node for one in found.nodes} == bad and all(one.confirmed for one in found.nodes)


def test_a_pair_without_a_number_is_not_good() -> None:
    """A node whose pairs all hang is not measured, even after the fourth round; its partners are."""
    names, switches = cluster(16, 4)
    for wrong in (None, 0.0, -1.0, float("nan"), float("inf")):
        found = judged(names, switches, lambda pair: wrong if "n2" in pair else 46.0)  # noqa: B023
        assert found.unmeasured == ("n2",) and not (found.nodes or found.paths or found.switches)
        assert [one.pairs - one.measured for one in found.turns] == [1] * 5
    found = judged(names, switches, lambda pair: None if "n2" in pair and pair.round < 4 else 46.0)
    assert not found.unmeasured and not found.nodes
    found = judged(names, switches, lambda pair: (None if pair.round < 4 else 20.0) if "n2" in pair else 46.0)
    assert [(one.node, one.confirmed, one.pairs) for one in found.nodes] == [("n2", True, 2)]


def test_nothing_was_measured() -> None:
    found = judged(*cluster(8, 4), lambda pair: None)
    assert found.unmeasured == tuple(f"n{number}" for number in range(1, 9))
    assert not (found.nodes or found.paths or found.switches) and all(one.median is None for one in found.turns)


def test_a_slow_pair_of_good_nodes_is_a_path() -> None:
    names, switches = cluster(64, 0)
    slow = first_rounds(names, switches)[1][3]
    found = judged(names, switches, lambda pair: 20.0 if set(pair[2:]) == set(slow[2:]) else 46.0)
    (one,) = found.paths
    assert set(one.ends) == set(one.nodes) == set(slow[2:]) and one.confirmed and not one.switches
    assert (one.value, one.median) == (20.0, 46.0) and not found.nodes
    found = judged(names, switches, lambda pair: 20.0 if pair == slow else 46.0)
    assert not found.paths, "it was disturbed once"


def test_a_slow_path_between_two_switches() -> None:
    names, switches = cluster(64, 8)

    def rate(pair: Pair) -> float:
        return 20.0 if {switches[name] for name in pair[2:]} == {"leaf2", "leaf5"} else 46.0

    found = judged(names, switches, rate)
    (one,) = found.paths
    assert one.ends == ("leaf2", "leaf5") and one.switches and one.confirmed and not found.nodes
    assert len(one.nodes) >= 4 and {switches[name] for name in one.nodes} == {"leaf2", "leaf5"}


def test_a_switch_whose_nodes_are_slow_to_all_others() -> None:
    """With each other they are as fast as any, or not: either way it is the switch."""
    names, switches = cluster(64, 8)
    for inside in (46.0, 20.0):

        def rate(pair: Pair) -> float:
            own = [switches[name] == "leaf3" for name in pair[2:]]
            return inside if all(own) else 20.0 if any(own) else 46.0  # noqa: B023

        found = judged(names, switches, rate)
        (one,) = found.switches
        assert one.switch == "leaf3" and one.confirmed and (one.value, one.median) == (20.0, 46.0)
        assert one.nodes == tuple(f"n{number}" for number in range(25, 33))
        assert not found.nodes and not found.paths


def simulated(*options: str) -> dict[tuple[str, str], list[str]]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/fleet_links.py"), *options], capture_output=True, text=True, check=True
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    return {(row[0], row[1]): row[2:] for row in rows}


def test_the_simulation_of_a_cluster_meets_the_goal() -> None:
    """All found, none false, four rounds."""
    rows = simulated("--clusters", "1", "--nodes", "16", "512", "--worlds", "bad", "disturbed", "--seed", "5")
    for world in ("bad", "disturbed"):
        for nodes, planted in (("16", "10"), ("512", "5")):
            _, wanted, found, false, _, _, rounds, _ = rows[world, nodes]
            assert (wanted, found, false, rounds) == (planted, planted, "0", "4"), (world, nodes)


@pytest.mark.slow
def test_the_simulation_of_many_clusters_meets_the_goal() -> None:
    rows = simulated("--clusters", "10", "--nodes", "8", "64", "512", "--worlds", "bad", "no topology", "sound")
    for (world, nodes), (_, planted, found, false, *_) in rows.items():
        assert (found, false) == (planted, "0"), (world, nodes)
