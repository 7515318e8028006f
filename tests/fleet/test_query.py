"""What a user asks of a fleet's database: SQL that only reads, and one node's report."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.fleet.store.query import ask, saved_of
from doctor.fleet.store.read import open_store
from doctor.formats.given import Unopened
from doctor.guard import Refusal

from ..cli.command import gpudoctor
from ..rows import for_each
from .spool import envelope, load, machine, measured, report


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "spool.jsonl").write_bytes(
        b"".join(envelope(f"gpu-{n}", report(measured(machine(n)))) for n in range(3))
        + b'{"node": "gpu-9", "reason": "drained"}\n'
    )
    load(folder / "spool.jsonl", to=folder / "now ? #.db")
    return folder / "now ? #.db"


@for_each(
    ("sql", "columns", "first"),
    [
        ("select node, driver from node where gpus < 8", ("node", "driver"), ("gpu-0", "580.82.07")),
        ("select count(*) from fact where path = 'gpus.name'", ("count(*)",), (6,)),
        (
            "select node, max(value) as best from figure where figure = 'matmul bf16' group by 1",
            ("node", "best"),
            ("gpu-0", 701.25),
        ),
        (
            "with recursive a(x) as (select 1 union all select x + 1 from a where x < 9) select max(x) from a",
            ("max(x)",),
            (9,),
        ),
        (
            "select upper(node), length(node), printf('%d', gpus), json_extract('[4]', '$[0]') from node",
            None,
            ("GPU-0", 5, "2", 4),
        ),
        ("select * from refused", ("file", "line", "reason"), None),
        ("select name from sqlite_master where name = 'run'", ("name",), ("run",)),
        ("-- a comment\nselect 1;", ("1",), (1,)),
    ],
)
def test_queries_are_answered(
    fleet: Path, sql: str, columns: tuple[str, ...] | None, first: tuple[object, ...] | None
) -> None:
    found = ask(str(fleet), sql)
    assert columns is None or found.columns == columns
    assert next(found.rows, None) == first


@for_each(
    "sql",
    [
        "attach '/tmp/x.db' as x", "detach main", "pragma user_version", "pragma query_only = 0", "insert into run (tool) values ('x')",
        "delete from node", "update node set node = 'x'", "drop table node", "create table t (a)", "create temp table t (a)",
        "vacuum", "vacuum into '/tmp/x.db'", "begin", "reindex", "analyze", "alter table node add x", "replace into refused values (1, 2, 3)",
        "select * from pragma_table_info('node')", "select load_extension('x')", "select fts3_tokenizer('x')", "select 1; drop table node",
        "", ";", "-- nothing", "explain", "select", "select * from nothing", "select node from", "select ?", "select \x00", "\ud800",
        "create virtual table t using fts5(a)", "with a as (select 1) delete from node", "savepoint a",
    ],
)  # fmt: skip
def test_all_but_one_select_is_refused_in_one_line(fleet: Path, sql: str) -> None:
    before = fleet.read_bytes()
    with pytest.raises(Refusal) as refusal:
        list(ask(str(fleet), sql).rows)
    assert "--query" in str(refusal.value)
    assert fleet.read_bytes() == before and not Path("/tmp/x.db").exists()
    assert (
        [path.name for path in fleet.parent.iterdir()].count(fleet.name) == 1 == len(list(fleet.parent.glob("*.db*")))
    )


@for_each(
    "sql",
    [
        "with recursive a(x) as (select 1 union all select x + 1 from a) select count(*) from a",
        "with recursive a(x) as (select 1 union all select x + 1 from a) select x from a",
        "select count(*) from fact a, fact b, fact c, fact d",
        "select sum(instr(printf('%.*c', 60000, 'a'), printf('%.*c', 30000, 'a') || a.node)) from fact a, fact b",
    ],
)
def test_an_endless_query_ends_at_its_deadline(fleet: Path, sql: str) -> None:
    started = time.monotonic()
    with pytest.raises(Refusal, match=r"did not finish within 0\.5 s"):
        for _ in ask(str(fleet), sql, 0.5).rows:
            pass
    assert time.monotonic() - started < 60


@for_each("function", ["instr({0}, {1})", "replace({0}, {1}, '')", "{0} like '%' || {1}", "{0} glob '*' || {1}"])
def test_a_call_that_takes_hours_does_not_begin(fleet: Path, function: str) -> None:
    """SQLite sees no deadline inside of one; from Python 3.11 on its values have a limit."""
    call = function.format("hex(zeroblob(4500000))", "(hex(zeroblob(2000000)) || 'b')")
    with pytest.raises(Refusal, match="--query: "):
        list(ask(str(fleet), f"select {call}", 5).rows)


@pytest.mark.slow
@for_each("format_", ["text", "csv", "json", "markdown"])
def test_the_rows_of_a_query_are_not_held(fleet: Path, tmp_path: Path, format_: str) -> None:
    """More rows than the memory could hold; what reads them stops after some."""
    sql = "with recursive a(x) as (select 1 union all select x + 1 from a) select x, hex(zeroblob(5000)) as y from a"
    command = [sys.executable, "-m", "gpudoctor", "fleet", "report", str(fleet), "--query", sql, "--format", format_]
    limit = 700 << 20
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    ) as running:
        assert running.stdout is not None
        size = sum(len(running.stdout.read(1 << 20)) for _ in range(8))
        running.kill()
    assert size == 8 << 20


@for_each("format_", ["text", "csv", "json", "markdown", "html"])
def test_a_file_of_rows_is_whole_or_as_it_was(fleet: Path, tmp_path: Path, format_: str) -> None:
    to = tmp_path / "rows"
    words = ("fleet", "report", fleet, "--format", format_, "-o", to, "--query")
    done = gpudoctor(*words, SOME)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    before = to.read_bytes()
    assert before.count(b"gpu-") == 4 and before == gpudoctor(*words[:5], "--query", SOME).stdout
    done = gpudoctor(*words, "select abs(case when id > 2 then -9223372036854775807 - 1 else id end) from node")
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and to.read_bytes() == before
    if format_ == "json":
        assert [one["node"] for one in json.loads(before)] == ["gpu-0", "gpu-1", "gpu-2", "gpu-9"]


SOME = "select node, state from node order by 1"


def test_a_query_that_wants_too_much_memory_is_refused(fleet: Path) -> None:
    for sql in ("select zeroblob(1000000000)", "select hex(zeroblob(100000000))"):
        with pytest.raises(Refusal, match="--query"):
            list(ask(str(fleet), sql).rows)


def test_a_node_that_is_not_there(fleet: Path) -> None:
    with pytest.raises(Refusal, match="has no node 'gpu-7'"):
        saved_of(str(fleet), "gpu-7")
    with pytest.raises(Refusal, match="gpu-9 has no report: drained"):
        saved_of(str(fleet), "gpu-9")


def of_another_kind(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("create table node (node)")


def newer(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60:64] = (99).to_bytes(4, "big")
    path.write_bytes(data)


@for_each(
    ("change", "told"),
    [
        (of_another_kind, "is not a gpudoctor fleet database"),
        (lambda path: path.write_bytes(b""), "is not a gpudoctor fleet database"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "is not a gpudoctor fleet database"),
        (newer, "has fleet schema 99, but this gpudoctor reads 3: update gpudoctor"),
        (lambda path: path.unlink(), "cannot read"),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "cannot be read as a fleet database"),
    ],
    ids=str,
)
def test_what_is_no_database_of_a_fleet_is_one_line(
    fleet: Path, tmp_path: Path, change: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "x.db"
    if change is not of_another_kind:
        path.write_bytes(fleet.read_bytes())
    change(path)
    for read in (lambda: list(ask(str(path), "select * from fact").rows), lambda: saved_of(str(path), "gpu-1")):
        with pytest.raises(Refusal, match=r"."):
            read()
    with pytest.raises(Unopened, match=told):
        store = open_store(str(path))
        list(store.findings()), store.nodes(), store.duplicates()
        for node in store.nodes():
            assert node.cohort is None or list(store.value_counts(node.cohort))


@pytest.mark.slow
def test_a_damaged_database_is_one_line(fleet: Path, tmp_path: Path) -> None:
    """Bytes changed anywhere: an answer or one line, never another error."""
    import random

    chance = random.Random(4)
    whole = fleet.read_bytes()
    for number in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 20, 400))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        for read in (
            lambda path=path: list(ask(str(path), "select * from fact, figure limit 500", 5).rows),
            lambda path=path: saved_of(str(path), "gpu-1"),
            lambda path=path: whole_store(path),
        ):
            try:
                read()
            except (Refusal, Unopened) as error:
                assert str(error)
        path.unlink()


def whole_store(path: Path) -> None:
    store = open_store(str(path))
    store.runs(), list(store.findings()), store.duplicates(), store.refused()
    for node in store.nodes():
        if node.cohort:
            list(store.value_counts(node.cohort))
            [store.gpus_of(node.cohort, kind) for kind, _ in store.gpu_kinds(node.cohort)]
            list(store.values(node.cohort, store.figures(node.cohort)))
