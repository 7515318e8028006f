"""`gpudoctor fleet report` as a process: exit codes, formats, one node, a query, masks, and what changed."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doctor.report.fleet_csv import HEADER

from ..cli.command import gpudoctor, one_line
from ..report.parsers import PARSERS, read_json
from ..rows import Faults
from ..shared import made_once
from . import fleets


class Fleet(NamedTuple):
    """64 nodes with a fault of each kind."""

    database: Path
    truth: dict[str, Any]

    def nodes(self, kind: str) -> list[str]:
        return [node for one in self.truth["planted"] if one["kind"] == kind for node in one["nodes"]]


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    def make(folder: Path) -> None:
        folder.mkdir()
        fleets.loaded(fleets.plan(64, 1, healthy=False), folder)

    folder = made_once(tmp_path_factory, "fleet-64", make)
    return Fleet(folder / "fleet.db", json.loads((folder / "truth.json").read_text()))


EXITS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, int], ...]]] = {
    "a failure": (("fail",), (("", 1), ("--fail-on slow", 1))),
    "a slow GPU": (("half a link",), (("", 0), ("--fail-on slow", 1), ("--fail-on odd", 1), ("--fail-on unknown", 0))),
    "a clock": (("clock",), (("", 0), ("--fail-on slow", 0), ("--fail-on odd", 1), ("--fail-on unknown", 0))),
    "a truncated file": (("refused",), (("", 3), ("--fail-on slow", 3), ("--fail-on unknown", 1))),
    "nothing": ((), (("", 0), ("--fail-on unknown", 0))),
}
"""What is planted, and the exit code of the report with these flags."""


@pytest.mark.slow
def test_exit_codes(tmp_path: Path) -> None:
    with Faults() as faults:
        for name, (kinds, codes) in EXITS.items():
            folder = tmp_path / name
            folder.mkdir()
            database = fleets.loaded(fleets.planted(16, 1, kinds), folder)
            for flags, code in codes:
                with faults.of(f"{name} {flags}"):
                    assert gpudoctor("fleet", "report", database, *flags.split()).returncode == code


def test_a_node_that_did_not_answer_is_named_and_makes_exit_3(tmp_path: Path) -> None:
    database = fleets.loaded(fleets.planted(16, 1, ()), tmp_path, "--nodes", "gpu-[001-018]")
    found, code = fleets.report(database)
    assert code == 3 and found["verdict"] == "unknown"
    assert [one["node"] for one in found["not_examined"]] == ["gpu-017", "gpu-018"]
    assert found["counts"]["no_answer"] == 2 and found["requested"] == 18
    assert b"gpu-[017-018]  no answer" in gpudoctor("fleet", "report", database).stdout


def test_every_format_parses_and_names_each_fault(fleet: Fleet) -> None:
    kinds = ("fail", "odd", "clock", "slow matmul", "slow node", "two machines")
    with Faults() as faults:
        for format_ in ("text", "json", "markdown", "html", "csv"):
            done = gpudoctor("fleet", "report", fleet.database, "--format", format_)
            text = done.stdout.decode()
            with faults.of(format_):
                assert done.returncode == 1 and not done.stderr
                read_json(text, "fleet") if format_ == "json" else PARSERS[format_](text)
                assert not [node for kind in kinds for node in fleet.nodes(kind) if not _names(text, node)]


def _names(text: str, node: str) -> bool:
    """By itself, or folded with others: the digits in brackets."""
    digits = node.removeprefix("gpu-")
    return node in text or any(
        digits in part.partition("]")[0].split(",") for part in text.replace("\\", "").split("gpu-[")[1:]
    )


def test_the_text_fits_80_columns_in_ascii_too(fleet: Fleet) -> None:
    for flags in ((), ("-v",), ("--ascii",)):
        text = gpudoctor("fleet", "report", fleet.database, *flags).stdout.decode()
        commands = [
            row for row in text.splitlines() if str(fleet.database) in row or "sudo " in row or "/spool/" in row
        ]
        assert not [row for row in text.splitlines() if len(row) > 80 and row not in commands]
        assert text.isascii() == (flags == ("--ascii",))
    assert b"\x1b[" in gpudoctor("fleet", "report", fleet.database, env={"FORCE_COLOR": "1"}).stdout


def test_csv_has_a_row_for_each_matter_of_each_node(fleet: Fleet) -> None:
    rows = list(
        csv.DictReader(gpudoctor("fleet", "report", fleet.database, "--format", "csv").stdout.decode().splitlines())
    )
    assert tuple(rows[0]) == HEADER
    (memory,) = fleet.nodes("slow memory")
    assert [row["matter"] for row in rows if row["node"] == memory] == ["slow"]
    assert {row["node"] for row in rows if row["matter"] == "fail"} == set(fleet.nodes("fail"))
    assert len({row["node"] for row in rows if row["state"] == "healthy"}) == 50


def test_masks_leave_no_name(fleet: Fleet) -> None:
    found, _ = fleets.report(fleet.database, "--mask-nodes")
    plain, _ = fleets.report(fleet.database)
    assert found["masked"] and found["counts"] == plain["counts"]
    with Faults() as faults:
        for format_ in ("text", "json", "markdown", "html", "csv"):
            with faults.of(format_):
                done = gpudoctor("fleet", "report", fleet.database, "--mask-nodes", "--format", format_, "-v")
                assert b"gpu-0" not in done.stdout.replace(str(fleet.database).encode(), b"")


def test_one_node_is_judged_as_its_file_is(fleet: Fleet, tmp_path: Path) -> None:
    node = fleet.nodes("fail")[0]
    envelope = json.loads((fleet.database.parent / "spool" / f"{node}.json").read_bytes())
    (tmp_path / "report.json").write_text(json.dumps(envelope["report"]))
    for format_ in ("text", "markdown", "html"):
        of_fleet = gpudoctor("fleet", "report", fleet.database, "--node", node, "--format", format_, cwd=tmp_path)
        of_file = gpudoctor("check", "--from", "report.json", "--format", format_, cwd=tmp_path)
        assert of_fleet.returncode == of_file.returncode == 1
        assert _timeless(of_fleet.stdout) == _timeless(of_file.stdout)


def _timeless(page: bytes) -> list[bytes]:
    return [row for row in page.splitlines() if b"names, addresses and UUIDs are" not in row]


def test_a_query_in_each_format(fleet: Fleet) -> None:
    sql = "select node, gpus, '=1+1' as formula from node where node = 'gpu-002'"
    asked = ("fleet", "report", fleet.database, "--query", sql, "--format")
    assert gpudoctor(*asked[:-1]).stdout == b"node     gpus  formula\ngpu-002  8     =1+1\n"
    assert json.loads(gpudoctor(*asked, "json").stdout) == [{"node": "gpu-002", "gpus": 8, "formula": "=1+1"}]
    assert gpudoctor(*asked, "csv").stdout == b"node,gpus,formula\ngpu-002,8,'=1+1\n"
    for format_ in ("markdown", "html"):
        PARSERS[format_](gpudoctor(*asked, format_).stdout.decode())
    assert "SELECT" in one_line(gpudoctor("fleet", "report", fleet.database, "--query", "delete from node"))


def test_since_an_earlier_database(fleet: Fleet, tmp_path: Path) -> None:
    before = fleets.plan(64, 1, healthy=False)
    kinds = ("half a link", "split", "refused", "clock")
    before = before._replace(planted=tuple(one for one in before.planted if one.kind in kinds))
    old = fleets.loaded(before, tmp_path, start=fleets_start() - 7 * 86400)
    found, _ = fleets.report(fleet.database, "--since", str(old))
    since = found["since"]
    assert {node for nodes in since["failed"].values() for node in nodes} == set(fleet.nodes("fail"))
    assert not since["cured"] and not since["gone"] and not since["new"]
    assert since["slow_again"] == fleet.nodes("half a link")
    assert [one["node"] for one in found["slow"] if one["before"]] == since["slow_again"] == [found["slow"][0]["node"]]
    changed = {one["fact"]: one["nodes"] for one in since["changed"]}
    odd = {one["about"]: one["nodes"] for one in fleet.truth["planted"] if one["kind"] == "odd"}
    assert {fact: changed.get(fact) for fact in odd} == odd
    (tmp_path / "later").mkdir()
    later = fleets.loaded(before, tmp_path / "later", start=fleets_start() + 7 * 86400)
    cured, _ = fleets.report(later, "--since", str(fleet.database))
    assert {node for nodes in cured["since"]["cured"].values() for node in nodes} == set(fleet.nodes("fail"))


def fleets_start() -> float:
    from benchmarks.fleet import START

    return START


REFUSED = (
    ("--node", "nobody"), ("--node", "gpu-001", "--query", "select 1"), ("--node", "gpu-001", "--since", "x.db"),
    ("--node", "gpu-001", "--format", "csv"), ("--since", "missing.db"), ("--query", "pragma user_version"),
    ("--query", "attach 'x' as y"), ("--query", "select 1; select 2"), ("-o", "/nowhere/at/all.json"),
)  # fmt: skip


def test_what_cannot_be_done_is_one_line(fleet: Fleet, tmp_path: Path) -> None:
    with Faults() as faults:
        for flags in REFUSED:
            with faults.of(" ".join(flags)):
                one_line(gpudoctor("fleet", "report", fleet.database, *flags, cwd=tmp_path))
        for name, content in (
            ("empty.db", b""),
            ("text.db", b"no database"),
            ("other.db", b"SQLite format 3\0" + bytes(84)),
        ):
            (tmp_path / name).write_bytes(content)
            with faults.of(name):
                one_line(gpudoctor("fleet", "report", tmp_path / name))
        os.mkfifo(tmp_path / "pipe")
        with faults.of("a pipe"):
            one_line(gpudoctor("fleet", "report", tmp_path / "pipe"))


def test_masks_leave_out_what_a_collector_and_a_refusal_quote(tmp_path: Path) -> None:
    """What is free text may name any host; what gpudoctor says of a file stays."""
    spool = tmp_path / "rack-secret"
    spool.mkdir()
    (spool / "all.jsonl").write_text(
        '{"node": "gpu-001", "reason": "ssh: connect to host bastion.corp port 22: refused"}\n'
        '{"node": "secret host.corp", "report": {}}\n'
    )
    (spool / "gpu-secret.json").write_text("{")
    database = tmp_path / "now.db"
    gpudoctor("fleet", "load", str(spool), "-o", str(database))
    for format_ in ("text", "json", "markdown", "html", "csv"):
        said = gpudoctor("fleet", "report", str(database), "--mask-nodes", "-v", "--format", format_).stdout
        assert not [name for name in ("bastion", "secret", "gpu-001") if name.encode() in said], format_
    shown = gpudoctor("fleet", "report", str(database), "-v").stdout
    assert b"ssh: connect to host" in shown and b"bastion.corp" not in shown  # masked when it was loaded
