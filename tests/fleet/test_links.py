"""`fleet run --links` without a scheduler: the rounds of an engine that follows a script, what a pair prints, and what
the report shows."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.gather import Event, Probe, Roster, Wish
from doctor.fleet.link_answer import Measured, read_measured
from doctor.fleet.link_run import LinkLimits, measure_links
from doctor.fleet.rounds import Pair, first_rounds
from doctor.fleet.store.read import open_store
from doctor.report.schema import fleet_schema

from ..cli.command import gpudoctor, one_line
from ..drawn import drawn
from ..rows import for_each
from . import fleets
from .link_fleets import database, links_of, names_of

PROBE = Probe("abc", "", b"", 60, "/opt/gpudoctor/bin/gpudoctor")
BEGAN = Event("", "began")
OVER = Event("", "ended")
NAMES = names_of(8)
N16 = names_of(16)


def printed(value: object = 46.0, **more: Any) -> list[bytes]:
    """The lines of a report with an all-reduce at two sizes."""
    rates = [
        {"operation": "all_reduce", "backend": "nccl", "ranks": 16, "nodes": 2, "bytes": size, "us": 1.0,
         "algorithm_gb_s": 1.0, "bus_gb_s": gb_s, "right": True, **more}
        for size, gb_s in ((1 << 20, 3.0), (1 << 30, value))
    ]  # fmt: skip
    return reported({"collective_rates": rates})


def reported(measured: dict[str, Any]) -> list[bytes]:
    text = json.dumps({"schema_version": 1, "snapshot": {"measured": measured, "host": {}}}, indent=2)
    return text.encode().split(b"\n")


def said(lines: Collection[bytes]) -> list[Event]:
    return [BEGAN, *(Event("", "line", line) for line in lines), OVER]


Script = Callable[[str, str], "list[Event | str]"]


class Pairs:
    """An engine of which each pair says what a script gives it, an event at a time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.running: dict[tuple[str, str], list[Event | str]] = {}
        self.started: list[list[tuple[str, str]]] = []
        self.ended: list[tuple[str, ...] | None] = []
        self.leaves = ""

    def nodes(self, wish: Wish) -> Roster:
        return Roster(tuple(NAMES), {}, "script")

    def switches(self) -> dict[str, str]:
        return {}

    def start(self, roster: Roster, names: Collection[str], probe: Probe) -> object:
        raise AssertionError

    def start_pairs(self, roster: Roster, pairs: Collection[tuple[str, str]], probe: Probe) -> object:
        self.started.append(list(pairs))
        self.running = {pair: list(self.script(*pair)) for pair in pairs}
        return self.running

    def answers(self, job: object, wait_s: float) -> Iterator[Event]:
        for pair, events in list(self.running.items()):
            if events and events[0] == "interrupt":
                raise KeyboardInterrupt
            if events and isinstance(events[0], Event):
                yield events.pop(0)._replace(node=pair[0])  # type: ignore[union-attr]

    def stop(self, job: object, names: Collection[str] | None = None) -> str:
        self.ended.append(None if names is None else tuple(names))
        if names is None:
            self.running = {}
        for pair in [pair for pair in self.running if names is not None and set(pair) <= set(names)]:
            del self.running[pair]
        return self.leaves if names is None else ""


class Kept:
    """What the run hands on."""

    def __init__(self) -> None:
        self.found: dict[Pair, Measured] = {}
        self.words: list[str] = []

    def link(self, pair: Pair, found: Measured) -> None:
        assert pair not in self.found
        self.found[pair] = found

    def left(self, words: str) -> None:
        self.words.append(words)

    def store(self) -> None:
        """Nothing."""

    def say(self, words: str) -> None:
        assert words.startswith("links, round ")


def measured(
    script: Script, pair_s: float = 60, until: float | None = None, names: Collection[str] = NAMES
) -> tuple[Pairs, dict[Pair, Measured]]:
    engine, kept = Pairs(script), Kept()
    roster = engine.nodes(Wish())
    measure_links(engine, roster, names, engine.switches(), PROBE, LinkLimits(pair_s, until), kept)
    assert not engine.running, "all is ended"
    return engine, kept.found


def test_three_rounds_one_after_the_other() -> None:
    engine, found = measured(lambda one, other: [*said(printed())])
    assert [len(pairs) for pairs in engine.started] == [4, 4, 4]
    assert list(found) == sorted(found, key=lambda pair: pair.round) and set(found.values()) == {Measured(46.0)}
    assert found.keys() == {pair for turn in first_rounds(NAMES, {}) for pair in turn}
    assert engine.ended == [None] * 3, "each pair ended by itself"


def test_what_may_be_left_of_a_round_is_said() -> None:
    engine, kept = Pairs(lambda one, other: [*said(printed())]), Kept()
    engine.leaves = "jobs of this run may be left"
    measure_links(engine, engine.nodes(Wish()), NAMES[:2], {}, PROBE, LinkLimits(60, None), kept)
    assert kept.words == ["jobs of this run may be left"] and len(kept.found) == 1


def test_a_suspect_has_a_fourth_round() -> None:
    _, found = measured(lambda one, other: [*said(printed(20.0 if "n3" in (one, other) else 46.0))])
    late = [pair for pair in found if pair.round == 4]
    assert {pair.turn for pair in late} == {1, 2} and len(late) == 8


def test_a_pair_that_hangs_ends_alone() -> None:
    hangs = ("n1", "n2")
    engine, found = measured(lambda *pair: [BEGAN] if pair == hangs else [*said(printed())], pair_s=0.5)
    assert [one for one in found.items() if one[1].value is None] == [
        (Pair(1, 1, "n1", "n2"), Measured(None, "no answer in 0 s"))
    ]
    assert engine.ended == [hangs, None, None, None]


def test_a_lost_pair_is_not_started_again_but_a_node_without_a_number_is_measured_in_round_four() -> None:
    lost = [BEGAN, Event("", "ended", reason="its job ended before it answered", lost=True)]
    engine, found = measured(lambda *pair: [*(lost if "n3" in pair else said(printed()))])
    assert [sum("n3" in pair for pair in pairs) for pairs in engine.started] == [1, 1, 1, 1, 1]
    assert [one.reason for pair, one in found.items() if "n3" in pair] == ["its job ended before it answered"] * 5
    engine, found = measured(lambda *pair: [*(lost if pair == ("n1", "n2") else said(printed()))])
    assert len(engine.started) == 3 and sum(one.value is None for one in found.values()) == 1


@pytest.mark.slow
def test_a_job_that_stays_is_ended_after_its_report() -> None:
    """srun may not end for a minute: the report's last line counts."""
    stays = ("n1", "n2")
    engine, found = measured(lambda *pair: [*said(printed())][: -1 if pair == stays else None])
    assert {one.value for one in found.values()} == {46.0} and engine.ended == [stays, None, None, None]


def test_why_there_is_no_number() -> None:
    """The pair's own words, the code of a command that is not there, or the job's end."""
    reasons = {
        ("n1", "n2"): [BEGAN, Event("", "ended", reason="gpudoctor: rank 1, init_process_group: timed out")],
        ("n3", "n4"): [BEGAN, Event("", "line", b"@gpudoctor1-no abc 127"), Event("", "ended", reason="srun: code 127")],
        ("n5", "n6"): [OVER],
        ("n7", "n8"): said(printed(right=False)),
    }  # fmt: skip
    _, found = measured(lambda *pair: [*reasons.get(pair, said(printed()))])
    given_ = {pair[2:]: one.reason for pair, one in found.items() if pair.round == 1}
    assert given_ == {
        ("n1", "n2"): "gpudoctor: rank 1, init_process_group: timed out",
        ("n3", "n4"): "/opt/gpudoctor/bin/gpudoctor was not found there: install gpudoctor on the node, or give its "
        "path with --command",
        ("n5", "n6"): "it exited without an answer",
        ("n7", "n8"): "the result of the all-reduce was wrong",
    }
    assert all(one.value is None for pair, one in found.items() if pair.round == 1)


def test_the_deadline_of_the_run() -> None:
    engine, found = measured(lambda *pair: [BEGAN] if "n1" in pair else [], until=monotonic() + 0.5)
    assert len(engine.started) == 1 and len(found) == 12
    reasons = {pair[2:]: one.reason for pair, one in found.items() if pair.round == 1}
    assert reasons["n1", "n2"] == "the run's deadline came before it answered"
    assert reasons["n3", "n4"] == "the run's deadline came before its turn"


def test_an_interrupt_ends_all_and_keeps_what_came() -> None:
    engine, kept = Pairs(lambda *pair: ["interrupt"] if pair == ("n7", "n8") else [*said(printed())]), Kept()
    engine.script = lambda *pair: [BEGAN] * 40 + ["interrupt"] if pair == ("n7", "n8") else [*said(printed())]
    with pytest.raises(KeyboardInterrupt):
        measure_links(engine, engine.nodes(Wish()), NAMES, {}, PROBE, LinkLimits(60, None), kept)
    assert engine.ended == [None]
    values = {pair[2:]: one for pair, one in kept.found.items()}
    assert len(values) == 4 and values["n1", "n2"] == Measured(46.0)
    assert values["n7", "n8"] == Measured(None, "the run was stopped before this pair answered")


EVENTS = st.lists(
    st.sampled_from([BEGAN, OVER, *said(printed()), Event("", "line", b"{"), Event("", "line", b"}"),
                     Event("", "line", b"@gpudoctor1-no abc"), Event("", "line", b"\xff")]),
    max_size=60,
)  # fmt: skip


@drawn(60)
@given(st.lists(EVENTS, min_size=4, max_size=4))
def test_whatever_pairs_say(all_said: list[list[Event]]) -> None:
    """Each has a number or a reason."""
    numbered = {name: number for number, name in enumerate(NAMES[:4])}
    _, found = measured(lambda one, other: [*all_said[numbered[one]], OVER], names=NAMES[:4])
    assert len(found) >= 6
    for one in found.values():
        assert (one.value is None) == bool(one.reason)


def test_the_largest_all_reduce_counts() -> None:
    noise = [b"Welcome to n1", b"{ not json", b""]
    assert read_measured([*noise, *printed(45.5)]) == Measured(45.5)
    assert read_measured(printed(45.5)[:-1]) is None and read_measured(noise) is None and read_measured([]) is None
    assert read_measured([b"{", b"}"]) is None, "not a report of prove"


@for_each(
    "lines, reason",
    [
        (printed(right=False), "the result of the all-reduce was wrong"),
        (printed(nodes=1), "its ranks ran on 1 nodes, not on 2"),
        (printed(variant="no-p2p"), "no all-reduce was measured"),
        (printed(operation="broadcast"), "no all-reduce was measured"),
        (reported({}), "no all-reduce was measured"),
        (
            reported({"ended": [{"agent": "collective_speed", "step": "init_process_group", "fault": "hang",
                                 "detail": "no word for 60 s"}]}),
            "init_process_group: no word for 60 s",
        ),
    ],
)  # fmt: skip
def test_a_report_without_a_number(lines: list[bytes], reason: str) -> None:
    assert read_measured(lines) == Measured(None, reason)


@drawn(200)
@given(st.lists(st.binary(max_size=40), max_size=30))
def test_any_bytes_are_no_number(lines: list[bytes]) -> None:
    assert read_measured([b"{", *lines]) is None or not lines


def slow_n3(pair: Pair) -> float | None:
    return None if pair.round == 2 and "n5" in pair else 20.5 if "n3" in pair else 46.25


def test_the_report_names_a_slow_node(tmp_path: Path) -> None:
    path = database(tmp_path, links_of(slow_n3, N16), N16)
    found, code = fleets.report(path)
    links = found["links"]
    assert code == 0 and found["verdict"] == "pass" and found["counts"]["slow"] == 1
    assert (links["figure"], links["unit"], links["pairs"], links["measured"]) == ("all_reduce", "GB/s", 40, 39)
    (slow,) = links["nodes"]
    assert (slow["node"], slow["value"], slow["median"], slow["change_percent"]) == ("n3", 20.5, 46.25, -55.68)
    assert slow["confirmed"] and slow["pairs"] == 5 and links["median"] == 46.25
    assert [(one["round"], one["turn"]) for one in links["rounds"]] == [(1, 1), (2, 1), (3, 1), (4, 1), (4, 2)]
    (row,) = [one for one in found["nodes"] if one["node"] == "n3"]
    assert (row["state"], row["why"]) == ("slow", "links -56 %")
    assert gpudoctor("fleet", "report", path, "--fail-on", "slow").returncode == 1
    msgspec.json.decode(fleet_schema())
    text = " ".join(gpudoctor("fleet", "report", path).stdout.decode().split())
    assert "Links: 39 of 40 pairs measured in 4 rounds, median 46.2 GB/s (all-reduce)" in text
    assert "n3 node best of 5 pairs 20.5 GB/s -56 %" in text and "(ethtool, ibstat)" in text
    assert "1 pair not measured: no route to n1 (" in text


def test_every_format_has_the_links(tmp_path: Path) -> None:
    path = database(tmp_path, links_of(slow_n3, N16), N16)
    for name in ("markdown", "html"):
        said_ = gpudoctor("fleet", "report", path, "--format", name).stdout.decode()
        for text in ("Slow links", "Links not measured", "no route to n1", "in 4 rounds", "4, turn 2", "ibstat"):
            assert text in said_, (name, text)
    rows = list(csv.DictReader(StringIO(gpudoctor("fleet", "report", path, "--format", "csv").stdout.decode())))
    (slow,) = [row for row in rows if row["matter"] == "slow link"]
    assert (slow["node"], slow["state"], slow["about"]) == ("n3", "slow", "all_reduce")
    assert (slow["value"], slow["usual"], slow["unit"]) == ("20.5", "46.25", "GB/s")
    missing = [row for row in rows if row["matter"] == "link not measured"]
    assert len(missing) == 2 and "n5" in {row["node"] for row in missing}


def test_the_report_names_a_path_and_a_switch(tmp_path: Path) -> None:
    """Nodes on a slow path are warned, those of a slow switch are slow."""
    names = {f"n{number}": f"leaf{(number - 1) // 4}" for number in range(1, 17)}

    def of_switch(pair: Pair) -> float:
        own = [names[name] == "leaf1" for name in pair[2:]]
        return 20.0 if any(own) and not all(own) else 46.0

    path = database(tmp_path, links_of(of_switch, N16), N16)
    found, _ = fleets.report(path)
    (switch,) = found["links"]["switches"]
    assert (switch["switch"], switch["nodes"], switch["confirmed"]) == ("leaf1", ["n5", "n6", "n7", "n8"], True)
    assert {one["node"]: one["state"] for one in found["nodes"] if "switch" in one["why"]} == dict.fromkeys(
        ("n5", "n6", "n7", "n8"), "slow"
    )
    text = gpudoctor("fleet", "report", path).stdout.decode()
    assert "leaf1  switch  4 nodes 20 GB/s" in text and "Check the uplinks of these switches" in text
    paths = links_of(lambda pair: 20.0 if {names[name] for name in pair[2:]} == {"leaf0", "leaf2"} else 46.0, N16)
    path = database(tmp_path, paths, N16)
    found, _ = fleets.report(path)
    (one,) = found["links"]["paths"]
    assert one["ends"] == ["leaf0", "leaf2"] and one["switches"] and one["confirmed"] and found["counts"]["slow"] == 0
    states = {row["node"]: row["state"] for row in found["nodes"]}
    assert states == dict.fromkeys(one["nodes"], "warn")
    assert "leaf0 to leaf2  path  between switches 20 GB/s" in gpudoctor("fleet", "report", path).stdout.decode()


def test_what_was_not_measured_is_not_healthy(tmp_path: Path) -> None:
    path = database(tmp_path, links_of(lambda pair: None if "n4" in pair else 46.0, N16), N16)
    found, code = fleets.report(path)
    assert code == 3 and found["links"]["unmeasured"] == ["n4"] and found["counts"]["unknown"] == 1
    (row,) = [one for one in found["nodes"] if one["node"] == "n4"]
    assert (row["state"], row["why"]) == ("unknown", "links not measured")
    assert "No link measured on n4." in gpudoctor("fleet", "report", path).stdout.decode()


def test_too_few_nodes_are_not_compared(tmp_path: Path) -> None:
    path = database(tmp_path, links_of(lambda pair: 46.0 if "n1" in pair else 20.0, N16[:3]), N16[:3])
    found, _ = fleets.report(path)
    assert not found["links"]["nodes"] and found["links"]["measured"] == 3
    assert "Too few nodes to compare" in gpudoctor("fleet", "report", path).stdout.decode()


def test_distant_pairs_may_be_slower(tmp_path: Path) -> None:
    names = {f"n{number}": f"leaf{(number - 1) // 4}" for number in range(1, 17)}
    rows = links_of(lambda pair: 46.0 if names[pair.one] == names[pair.other] else 30.0, N16)
    text = gpudoctor("fleet", "report", database(tmp_path, rows, N16)).stdout.decode()
    assert "Distant nodes reach 30 GB/s, neighbors 46 GB/s." in text
    assert "No node, path or switch is slow" in text


def test_masks_hide_nodes_switches_and_reasons(tmp_path: Path) -> None:
    path = database(tmp_path, links_of(slow_n3, N16), N16)
    for name in ("text", "json", "markdown", "html", "csv"):
        said_ = gpudoctor("fleet", "report", path, "--mask-nodes", "--format", name).stdout.decode()
        assert "no route to n1" not in said_ and "leaf" not in said_ and "n3" not in said_.split(), name


def test_the_table_of_links(tmp_path: Path) -> None:
    rows = links_of(slow_n3, N16)
    path = database(tmp_path, rows, N16)
    with closing(open_store(str(path))) as store:
        assert sorted(store.links()) == sorted(rows)
    query = "select count(*) as pairs, max(value) as most from link where node = 'n3' or partner = 'n3'"
    done = gpudoctor("fleet", "report", path, "--format", "json", "--query", query)
    assert json.loads(done.stdout) == [{"pairs": 5, "most": 20.5}]
    for change in ("value = 'fast'", "round = 'x'", "node = x'00'", "turn = 1.5"):
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(f"update link set {change} where rowid = 1")
        assert "a row of links has values of the wrong kind" in one_line(gpudoctor("fleet", "report", path))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update link set round = 1, turn = 1, node = 'n1', value = 9e999")
    assert fleets.report(path)[1] in (0, 3), "no rate that a link can have"
