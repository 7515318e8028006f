"""Several words about one node: the last one counts, what a repeated measurement found stays, and all is said."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

from doctor.fleet.store.query import saved_of
from doctor.fleet.times import moment

from ..cli.command import gpudoctor
from ..rows import for_each
from .spool import TODAY, envelope, load, machine, measured, report, rows
from .test_whose import sick

DIED = "the node died after 14 s"


def silent(name: str, reason: str = DIED, **more: float) -> bytes:
    return json.dumps({"node": name, "reason": reason, **more}).encode() + b"\n"


def test_a_node_that_died_after_its_answer_is_not_examined(tmp_path: Path) -> None:
    answer, death = envelope("a", report(machine()), received=1000.0), silent("a", received=1300.0)
    other = envelope("b", report(machine(1)), received=1000.0)
    for order in permutations((answer, death, other)):
        (tmp_path / "all.jsonl").write_bytes(b"".join(order))
        _, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
        assert sorted(rows(db, "select node, state, verdict, reason from node")) == [
            ("a", "not-examined", "", f"{DIED}; its last answer was at 1970-01-01T00:16:40Z"), ("b", "answered", "pass", ""),
        ]  # fmt: skip
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["answered"], found["counts"]["no_answer"]) == (3, 1, 1)
    assert "its last answer was at" in found["not_examined"][0]["reason"]
    assert len(saved_of(str(tmp_path / "now.db"), "a")) == 1


def test_a_failure_stays_when_the_node_dies(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(
        silent("a", received=1300.0) + envelope("a", report(sick(machine())), received=1000.0)
    )
    load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["counts"]["fail"], found["not_examined"][0]["node"]) == (1, 1, "a")


def test_an_answer_after_a_death_counts_and_the_death_is_said(tmp_path: Path) -> None:
    for order in permutations((envelope("a", report(machine()), received=1300.0), silent("a", received=1000.0))):
        (tmp_path / "all.jsonl").write_bytes(b"".join(order))
        _, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
        assert rows(db, "select state, verdict from node") == [("answered", "pass")]
        assert rows(db, "select * from remark") == [("a", "silent-before", f"{DIED} (at 1970-01-01T00:16:40Z)")]


def test_the_last_of_two_deaths_is_the_reason(tmp_path: Path) -> None:
    for order in permutations(
        (silent("a", "drained", received=10.0), silent("a", "no answer in 120 s", received=20.0))
    ):
        (tmp_path / "all.jsonl").write_bytes(b"".join(order))
        _, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
        assert rows(db, "select reason from node") == [("no answer in 120 s",)]


@for_each("jobs", ["1", "2"])
def test_a_failure_of_a_repeated_measurement_fails_the_node(tmp_path: Path, jobs: str) -> None:
    looks = [envelope("a", report(measured(machine())), received=10.0),
             envelope("a", report(sick(measured(machine(), 0.9))), repeat=2, received=20.0),
             envelope("a", report(measured(machine(), 1.1)), repeat=3, received=30.0)]  # fmt: skip
    for order in permutations(looks) if jobs == "1" else [looks]:
        (tmp_path / "all.jsonl").write_bytes(b"".join(order))
        more = [] if jobs == "1" else ["--judge"]
        done = gpudoctor("fleet", "load", tmp_path / "all.jsonl", "-o", tmp_path / "now.db", "--jobs", jobs, *more)
        assert done.returncode == 0 and done.stdout.startswith(b"1 node has answered"), done
        found = json.loads(gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json").stdout)
        assert [one["nodes"] for one in found["repairs"]] and found["counts"]["fail"] == 1
        assert found["answered"] == 1 and not found["refused"] and not found["duplicates"]
        (saved,) = saved_of(str(tmp_path / "now.db"), "a")
        assert saved.snapshot.driver.nvml_init == 0


def test_a_node_that_came_only_as_a_repeat_has_answered(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(
        envelope("a", report(measured(machine(), 2)), repeat=3) + envelope("a", report(measured(machine())), repeat=2)
    )
    code, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
    assert (code, rows(db, "select node, state from node")) == (0, [("a", "answered")])
    (saved,) = saved_of(str(tmp_path / "now.db"), "a")
    assert [rate.value for rate in saved.snapshot.measured.rates][:1] == [700.25]


def test_a_repeat_of_some_checks_makes_no_node_unknown(tmp_path: Path) -> None:
    only = replace(TODAY, only=("gpu-fell-off-bus",))
    (tmp_path / "all.jsonl").write_bytes(
        envelope("a", report(machine())) + envelope("a", report(machine(), policy=only), repeat=2)
        + envelope("b", report(machine(1), policy=only), repeat=2)
    )  # fmt: skip
    _, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
    assert sorted(rows(db, "select node, verdict from node")) == [("a", "pass"), ("b", "unknown")]


def test_a_repeat_of_an_earlier_answer_is_none_of_the_later_one(tmp_path: Path) -> None:
    words = [envelope("a", report(measured(machine())), received=10.0),
             envelope("a", report(sick(measured(machine(), 0.5))), repeat=2, received=20.0),
             envelope("a", report(measured(machine(), 1.01)), received=100.0),
             envelope("a", report(measured(machine(), 1.02)), repeat=2, received=110.0)]  # fmt: skip
    for order in permutations(words):
        (tmp_path / "all.jsonl").write_bytes(b"".join(order))
        _, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
        figures = rows(db, "select repeat, value from figure where figure = 'matmul bf16' and gpu = 0 order by 1")
        assert figures == [(1, 700.25 * 1.01), (2, 700.25 * 1.02)]
        assert rows(db, "select verdict from node") == [("pass",)]


def test_checks_that_were_left_out_are_said(tmp_path: Path) -> None:
    skip = replace(TODAY, skip=("gpu-fell-off-bus", "uvm-device-missing"))
    for name, policy in ("a", skip), ("b", skip), ("c", TODAY):
        (tmp_path / f"{name}.json").write_bytes(report(machine(ord(name)), policy=policy))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    found = rows(db, "select detail, count(*) from remark where kind = 'skipped' group by 1 order by 1")
    assert found == [("gpu-fell-off-bus", 2), ("uvm-device-missing", 2)]
    told = json.loads(gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json").stdout)
    assert [(one["kind"], one["detail"], one["nodes"]) for one in told["remarks"]] == [
        ("skipped", "gpu-fell-off-bus", ["a", "b"]), ("skipped", "uvm-device-missing", ["a", "b"]),
    ]  # fmt: skip
    text = gpudoctor("fleet", "report", tmp_path / "now.db").stdout.decode()
    assert "gpu-fell-off-bus" in text and "--skip" in text


def test_two_machines_under_one_name_are_one_node(tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(b"".join(envelope("a", report(machine(n))) for n in range(2)))
    done = gpudoctor("fleet", "load", tmp_path / "all.jsonl", "-o", tmp_path / "now.db")
    assert done.stdout == b"1 node has answered\n"
    assert json.loads(gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json").stdout)["answered"] == 1


@for_each("nodes, names, missing, others", [
    ("node[001-003]", ["node1", "node2", "node4"], ["node003"], ["node4"]),
    ("node[1-3]", ["node01", "node002", "node3"], [], []),
    ("node[1-2]", ["node1", "node01"], ["node2"], ["node01"]),
    ("node1", ["node01", "node001"], ["node1"], ["node001", "node01"]),
    ("r[01-02]n[1-2]", ["r1n1", "r01n02", "R2N1", "r2n2"], [], []),
    ("node10,node100", ["node10", "node100", "node1"], [], ["node1"]),
    ("gpu-0", ["gpu-00"], [], []),
])  # fmt: skip
def test_names_with_other_zeros_agree(
    tmp_path: Path, nodes: str, names: list[str], missing: list[str], others: list[str]
) -> None:
    pytest.importorskip("ClusterShell")
    (tmp_path / "all.jsonl").write_bytes(b"".join(envelope(name, report(machine(n))) for n, name in enumerate(names)))
    done = gpudoctor("fleet", "load", tmp_path / "all.jsonl", "-o", tmp_path / "now.db", "--nodes", nodes)
    found = json.loads(gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json").stdout)
    assert [one["node"] for one in found["not_examined"]] == missing and found["answered"] == len(names)
    assert [node for one in found["remarks"] if one["kind"] == "not-requested" for node in one["nodes"]] == others
    assert (f"{len(others)} not in --nodes" in done.stdout.decode()) == bool(others)


def test_a_refused_files_reason_reaches_its_node(tmp_path: Path) -> None:
    pytest.importorskip("ClusterShell")
    spool = tmp_path / "spool"
    spool.mkdir()
    good = report(machine())
    (spool / "gpu-1.json").write_bytes(good)
    (spool / "gpu-2.json").write_bytes(good[:500])
    (spool / "gpu-3.json").write_bytes(b"")
    (spool / "gpu-4.json.tmp").write_bytes(good)
    (spool / "more.jsonl").write_bytes(envelope("gpu-5", good)[:900] + b"\n")
    (spool / "gpu-06.json").write_bytes(b"[]")
    _, db = load(spool, to=tmp_path / "now.db", nodes="gpu-[1-7]")
    why = dict(rows(db, "select node, reason from node where state = 'no-answer'"))
    assert list(why) == [f"gpu-{n}" for n in range(2, 8)]
    told = {
        "gpu-2": "gpu-2.json",
        "gpu-3": "empty",
        "gpu-4": "half-written",
        "gpu-5": "more.jsonl, line 1",
        "gpu-6": "06",
    }
    assert all(words in why[node] for node, words in told.items()) and why["gpu-7"] == ""


def again(repeat: int, factor: float, at: float) -> bytes:
    data = json.loads(report(measured(machine(), factor)))
    data["generated_at"] = moment(1.7e9 + at)
    return envelope("a", json.dumps(data).encode(), repeat=repeat, received=1.7e9 + at)


TWICE = {
    "the later one last": ((1, 2, 10, 20), 1),
    "the later one first": ((1, 2, 20, 10), 1),
    "the third measurement": ((1, 3, 10, 20), 1),
    "of one time": ((1, 2, 10, 10), 1),
    "before the first has come": ((0, 2, 10, 20), 1),
    "the first itself": ((0, 1, 10, 20), 1),
    "the same bytes": ((1, 2, 10, None), 0),
}


@for_each("what", TWICE)
def test_two_answers_with_one_number_are_both_reported(what: str, tmp_path: Path) -> None:
    """The later one counts, whatever came first; the same bytes twice are one answer."""
    (base, repeat, first, second), count = TWICE[what]
    lines = [again(1, 1.0, 0)] if base else []
    one = again(repeat, 0.5, first)
    lines += [one, one if second is None else again(repeat, 2.0, second)]
    lines += [] if base or repeat == 1 else [again(1, 1.0, 0)]
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines))
    code, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
    assert code == 0
    found = rows(db, "select kind, nodes, detail from duplicate")
    assert [row[:2] for row in found] == [("answer", "a")] * count
    assert all(not base or f"both of measurement {repeat}" in detail for _, _, detail in found)
    where = f"figure = 'matmul bf16' and gpu = 0 and repeat = {repeat}"
    ((value,),) = rows(db, f"select value from figure where {where}")
    later = 0.5 if second is None or first > second else 2.0
    assert value == pytest.approx(700.25 * later)
