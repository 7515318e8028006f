"""`fleet load`: whose answer is whose, what is stored of it, and whose verdict counts."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from doctor.fleet.answer import lines
from doctor.fleet.store.query import saved_of
from doctor.fleet.store.read import open_store
from doctor.judge.saved import parse_report
from doctor.snapshot import EnvVar, Missing, Snapshot, TorchProof, known

from ..healthy import healthy
from ..rows import for_each
from ..torches import not_asked, with_torch
from .spool import TODAY, envelope, load, machine, measured, report, rows

SECRET = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"


def test_a_name_is_the_envelopes_then_the_files_then_the_lines(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    (spool / "rack").mkdir(parents=True)
    one = [report(machine(number)) for number in range(6)]
    (spool / "gpu-1.json").write_bytes(one[0])
    (spool / "rack" / "gpu-2.json.gz").write_bytes(gzip.compress(one[1]))
    (spool / "other.json").write_bytes(envelope("gpu-3", one[2]))
    with_field = json.dumps({"node": "gpu-4", **json.loads(one[3])}).encode()
    (spool / "more.jsonl").write_bytes(with_field + b"\n" + envelope("gpu-5", one[4]))
    (spool / "last.jsonl.gz").write_bytes(gzip.compress(envelope("gpu-6", one[5])))
    (spool / "README.md").write_text("of another kind")
    code, db = load(spool, to=tmp_path / "now.db")
    assert code == 0
    assert sorted(rows(db, "select node, state from node")) == [(f"gpu-{n}", "answered") for n in range(1, 7)]
    assert rows(db, "select reason from refused") == [("is not a gpudoctor report, so it was not read",)]


def test_a_report_is_never_named_by_itself(tmp_path: Path) -> None:
    found = json.loads(report(machine()))
    found["snapshot"]["target"] = {"kind": "live", "name": "gpu-9"}
    (tmp_path / "spool.jsonl").write_text(json.dumps(found) + "\n")
    code, db = load(tmp_path / "spool.jsonl", to=tmp_path / "now.db")
    assert code == 3
    assert rows(db, "select line from refused where reason like '%names no node%'") == [(1,)]


def test_lines_of_the_wire_format_are_read_from_a_log(tmp_path: Path) -> None:
    answers = [envelope(f"gpu-{n}", report(machine(n))) for n in range(3)]
    sent = [line for answer in answers for line in lines(answer, "r1")]
    cut = next(lines(envelope("gpu-7", report(machine(7))), "r1"))[:500]
    log = tmp_path / "slurm-12.out"
    log.write_bytes(b"srun: job 12 queued\n" + b"0: noise\n".join(sent) + cut + b"\n")
    code, db = load(log, to=tmp_path / "now.db")
    assert code == 0 and rows(db, "select node from node order by 1") == [("gpu-0",), ("gpu-1",), ("gpu-2",)]
    assert [reason for (reason,) in rows(db, "select reason from refused")] == [
        "1 line of answers arrived truncated or mixed with other output"
    ]


def test_standard_input_and_a_document_over_many_lines(tmp_path: Path) -> None:
    indented = json.dumps(json.loads(envelope("gpu-1", report(machine()))), indent=2)
    for text in (indented.encode(), envelope("gpu-1", report(machine()))):
        words = [sys.executable, "-m", "gpudoctor", "fleet", "load", "-", "-o", str(tmp_path / "now.db")]
        done = subprocess.run(words, input=text, capture_output=True, check=False, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"1 node has answered\n", b"")


def machines() -> list[Snapshot]:
    s = machine(count=4)
    gpus = known(s.gpus) or ()
    proofs = tuple(TorchProof(device=f"cuda:{n}", key=gpus[3 - n].key) for n in range(4))
    turned = measured(s).replace({"measured.torch": proofs})
    return [
        measured(s),
        turned,
        measured(machine(count=1)),
        measured(s).replace({"gpus": Missing("denied", "no permission")}),
        measured(s).replace({"measured.rates": ()}),
        healthy(),
        not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124")),
    ]


@for_each("s", machines(), ids=lambda s: str(len(known(s.gpus) or ())))
def test_what_is_stored_is_the_report_again(tmp_path: Path, s: Snapshot) -> None:
    """Twice, since the second of a kind is stored as what differs from the first."""
    data = report(s, policy=replace(TODAY, require=("torch",), thresholds={"memlock_kib": 5.0}))
    (tmp_path / "a.json").write_bytes(data)
    (tmp_path / "b.json").write_bytes(data.replace(b"700.25", b"7.0025e2"))
    load(tmp_path, to=tmp_path / "now.db")
    for name in "ab":
        (found,) = saved_of(str(tmp_path / "now.db"), name)
        assert found == parse_report((tmp_path / f"{name}.json").read_bytes(), "it")


def test_figures_are_by_gpu(tmp_path: Path) -> None:
    s = machine(count=4)
    gpus = known(s.gpus) or ()
    turned = {"measured.torch": tuple(TorchProof(device=f"cuda:{n}", key=gpus[3 - n].key) for n in range(4))}
    (tmp_path / "a.json").write_bytes(report(measured(s).replace(turned)))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    found = rows(db, "select gpu, value, unit, repeat from figure where figure = 'matmul bf16' order by gpu")
    assert found == [(n, 700.25 + 3 - n, "TFLOP/s", 1) for n in range(4)]
    assert rows(db, "select gpu, value from figure where figure = 'operation softmax'") == [(3, 1.5)]
    assert rows(db, "select count(*) from figure where figure like 'pair%'") == [(0,)]
    assert (
        rows(db, "select gpu, uuid from gpu order by gpu")[1][1]
        == json.loads((tmp_path / "a.json").read_text())["snapshot"]["gpus"][1]["uuid"]
    )


def test_repeats_add_figures_whenever_they_come(tmp_path: Path) -> None:
    again = [
        envelope("a", report(measured(machine(), 0.5)), repeat=2),
        envelope("b", report(measured(machine(1))), repeat=2),
    ]
    first = envelope("a", report(measured(machine())))
    (tmp_path / "spool.jsonl").write_bytes(
        b"".join([*again, first, envelope("a", report(measured(machine(), 2)), repeat=3)])
    )
    _, db = load(tmp_path, to=tmp_path / "now.db")
    query = "select repeat, value from figure where figure = 'matmul bf16' and gpu = 0 and node = 'a' order by 1"
    found = rows(db, query)
    assert found == [(1, 700.25), (2, 350.125), (3, 1400.5)]
    assert sorted(rows(db, "select node, state from node")) == [(n, "answered") for n in "ab"]
    assert rows(db, "select * from refused") == []


def test_of_two_answers_the_later_one_counts(tmp_path: Path) -> None:
    old, new = machine(), machine().replace({"driver.kernel_version": "580.95.05"})
    for order in ((old, 100.0), (new, 200.0)), ((new, 200.0), (old, 100.0)):
        (tmp_path / "spool.jsonl").write_bytes(b"".join(envelope("a", report(s), received=t) for s, t in order))
        _, db = load(tmp_path, to=tmp_path / "now.db")
        assert rows(db, "select node, driver, received from node") == [("a", "580.95.05", 200.0)]
        assert rows(db, "select * from duplicate") == [
            ("answer", "a", "of 1970-01-01T00:01:40Z and of 1970-01-01T00:03:20Z")
        ]
        assert rows(db, "select count(distinct gpu) from fact where path = 'gpus.name'") == [(2,)]


def test_two_machines_under_one_name_are_both_kept(tmp_path: Path) -> None:
    (tmp_path / "spool.jsonl").write_bytes(b"".join(envelope("a", report(machine(n))) for n in range(2)))
    load(tmp_path, to=tmp_path / "now.db")
    store = open_store(str(tmp_path / "now.db"))
    assert [node.name for node in store.nodes()] == ["a", "a"]
    assert [(one.kind, one.nodes) for one in store.duplicates()] == [("name", ("a",))]


def test_one_gpu_on_two_nodes_is_told_by_masked_uuids(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(report(machine(1)))
    (tmp_path / "b.json").write_bytes(report(machine(1), masked=False))
    (tmp_path / "c.json").write_bytes(report(machine(2)))
    load(tmp_path, to=tmp_path / "now.db")
    found = open_store(str(tmp_path / "now.db")).duplicates()
    assert [(one.kind, one.nodes) for one in found] == [("uuid", ("a", "b"))] * 2


def test_no_secret_and_no_name_of_a_report_is_in_the_database(tmp_path: Path) -> None:
    s = machine().replace({
        "host.environment": (EnvVar("PIP_INDEX_URL", f"https://joe:{SECRET}@example.invalid/simple"), EnvVar("VIRTUAL_ENV", "/home/joesmith/venv")),
    })  # fmt: skip
    data = report(s, masked=False)
    assert SECRET.encode() in data and b"joesmith" in data
    (tmp_path / "gpu-joe.json").write_bytes(data)
    _, db = load(tmp_path, to=tmp_path / "now.db")
    saved = saved_of(str(tmp_path / "now.db"), "gpu-joe")
    stored = b"".join(repr(line).encode() for line in db.iterdump()) + repr(saved).encode()
    assert SECRET.encode() not in stored and b"joesmith" not in stored
    assert b"gpu-joe" in stored and b"venv" in stored


def test_a_node_that_was_asked_for_and_did_not_answer_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ClusterShell")
    (tmp_path / "gpu-1.json").write_bytes(report(machine()))
    (tmp_path / "spool.jsonl").write_text('{"node": "gpu-2", "reason": "drained in Slurm since 24 Nov"}\n')
    _, db = load(tmp_path, to=tmp_path / "now.db", nodes="gpu-[1-3]")
    assert sorted(rows(db, "select node, state, reason from node")) == [
        ("gpu-1", "answered", ""),
        ("gpu-2", "not-examined", "drained in Slurm since 24 Nov"),
        ("gpu-3", "no-answer", ""),
    ]
    assert rows(db, "select requested from run") == [(3,)]


def sick() -> Snapshot:
    return machine().replace({"driver.nvml_init": 18, "driver.cu_init": 803, "driver.nvml_library_version": "570.1.1"})


@for_each("word, judged", [("fail", "there"), ("pass", "there"), ("", "here"), ("sound", "here"), ("FAIL", "here")])
def test_a_word_that_is_no_verdict_is_judged_here(word: str, judged: str, tmp_path: Path) -> None:
    data = json.dumps(json.loads(report(machine(1))) | {"verdict": word}).encode()
    (tmp_path / "a.json").write_bytes(data)
    _, db = load(tmp_path / "a.json", to=tmp_path / "f.db")
    assert rows(db, "select judged from node") == [(judged,)]


def test_verdicts_of_this_gpudoctor_count_and_others_are_judged_here(tmp_path: Path) -> None:
    """A verdict that somebody wrote into the report shows whose it is."""
    mine = json.loads(report(machine()))
    mine["verdict"], mine["findings"] = "fail", json.loads(report(sick()))["findings"]
    assert mine["findings"]
    old = {**mine, "tool": {"name": "gpudoctor", "version": "0.0.1"}}
    other = {**mine, "matrix": {"version": "2020.01.01", "schema_version": 1}}
    for name, found in ("mine", mine), ("old", old), ("other", other):
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    assert sorted(rows(db, "select node, verdict, judged from node")) == [
        ("mine", "fail", "there"), ("old", "pass", "here"), ("other", "pass", "here"),
    ]  # fmt: skip
    assert rows(db, "select judged_here, judged_there from run") == [(2, 1)]


def test_judge_judges_all_and_several_processes_say_the_same(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    for number in range(6):
        (spool / f"gpu-{number}.json").write_bytes(report(measured(sick() if number % 2 else machine(number))))
    found = []
    for jobs in "1", "2":
        to = tmp_path / f"{jobs}.db"
        words = [
            sys.executable,
            "-m",
            "gpudoctor",
            "fleet",
            "load",
            str(spool),
            "-o",
            str(to),
            "--judge",
            "--jobs",
            jobs,
        ]
        done = subprocess.run(words, capture_output=True, check=False, timeout=300, text=True)
        assert (done.returncode, done.stdout) == (0, "6 nodes have answered, 6 judged here\n"), done
        store = open_store(str(to))
        found.append(([(n.name, n.verdict, n.judged) for n in store.nodes()], [f[1:] for f in store.findings()]))
    assert found[0] == found[1]
    assert {verdict for _, verdict, _ in found[0][0]} == {"pass", "fail"}


def test_pythons_findings_fail_no_node_unless_somebody_asked_for_them(tmp_path: Path) -> None:
    s = not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))
    named = s.replace({"python.chosen_because": "--python /opt/venv"})
    (tmp_path / "users.json").write_bytes(report(s))
    (tmp_path / "named.json").write_bytes(report(named))
    (tmp_path / "required.json").write_bytes(report(s, policy=replace(TODAY, require=("torch",))))
    load(tmp_path, to=tmp_path / "now.db")
    store = open_store(str(tmp_path / "now.db"))
    assert {n.name: n.verdict for n in store.nodes()} == {"users": "pass", "named": "fail", "required": "fail"}
    users = [f for f in store.findings() if f.status == "fail"]
    assert {(f.name, f.users) for f in users} == {("users", True), ("named", False), ("required", False)}
    assert all(f.fix is not None and f.cause == "" for f in users)


def test_facts_are_counted_by_nodes(tmp_path: Path) -> None:
    for number in range(5):
        s = machine(number, count=3)
        gpus = list(known(s.gpus) or ())
        gpus[0] = replace(gpus[0], vbios="96.00", temperature_c=30 + number)
        gpus[1] = replace(gpus[1], vbios="96.01" if number == 4 else "96.00")
        gpus[2] = replace(gpus[2], vbios=Missing("error", "?"))
        s = s.replace({"gpus": tuple(gpus), "host.kernel": Missing("denied") if number == 3 else f"6.{number // 2}"})
        (tmp_path / f"n{number}.json").write_bytes(report(s))
    load(tmp_path, to=tmp_path / "now.db")
    store = open_store(str(tmp_path / "now.db"))
    (cohort,) = {node.cohort for node in store.nodes()}
    assert cohort is not None and (cohort.model, cohort.count, cohort.memory_gib) == ("H100 80GB HBM3", 3, 80)
    counts = {count.path: count for count in store.value_counts(cohort)}
    assert counts["gpus.vbios"][1:] == ({"96.00": 5, "96.01": 1}, 5, 0)
    assert counts["host.kernel"][1:] == ({"6.0": 2, "6.1": 1, "6.2": 1}, 4, 1)
    assert not {"gpus.temperature_c", "gpus.uuid", "host.disks", "driver.cuda_devices.uuid"} & set(counts)
    assert [(w.name, w.gpus) for w in store.nodes_with("gpus.vbios", "96.01", cohort)] == [("n4", (1,))]
    assert [(w.name, w.gpus) for w in store.nodes_with("host.kernel", "6.0", cohort)] == [("n0", ()), ("n1", ())]
    assert [w.name for w in store.nodes_without("host.kernel", cohort)] == ["n3"]


def test_the_clock_of_a_node_is_compared_with_the_collectors(tmp_path: Path) -> None:
    found = json.loads(report(machine()))
    found["generated_at"] = "2026-11-20T10:00:00Z"
    data = json.dumps(found).encode()
    (tmp_path / "a.jsonl").write_bytes(envelope("behind", data, received=1795168800.0 + 600))
    (tmp_path / "plain.json").write_bytes(data)
    os.utime(tmp_path / "plain.json", (5.0, 5.0))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    assert sorted(rows(db, "select node, clock_off_s from node")) == [("behind", -600.0), ("plain", None)]
    assert rows(db, "select received from node where node = 'plain'") == [(5.0,)]


@pytest.mark.slow
def test_a_node_takes_little_of_the_database(tmp_path: Path) -> None:
    """Goal: 12 kB for a node of 8 GPUs with 40 figures each."""
    import random

    chance = random.Random(1)
    spool = tmp_path / "spool"
    spool.mkdir()
    for number in range(60):
        s = measured(machine(number, count=8))
        rates = known(s.measured.rates) or ()
        many = [
            replace(rates[0], device=f"cuda:{g}", what=f"op{k}", value=round(chance.gauss(700, 9), 3))
            for g in range(8)
            for k in range(40)
        ]
        (spool / f"n{number}.json").write_bytes(report(s.replace({"measured.rates": tuple(many)})))
    load(spool, to=tmp_path / "now.db")
    assert (tmp_path / "now.db").stat().st_size < 60 * 12_000
