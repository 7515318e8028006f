"""What changed between two looks: failures, cures, facts, and who is slow again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.fleet.since import Change, SlowOne, Summary, changes, was_slow
from doctor.fleet.store.machines import seconds_of
from doctor.fleet.times import moment
from doctor.snapshot import Missing, Snapshot, known

from ..cli.command import gpudoctor
from ..drawn import drawn
from ..rows import for_each
from ..sickness import cuda_says
from . import spool

DRIVER, LIBCUDA = "driver.kernel_version", "driver.libcuda_version"


def look(nodes: str = "abcdef", **more: object) -> Summary:
    return Summary(frozenset(nodes), **more)  # type: ignore[arg-type]


def failing(**nodes: str) -> dict[str, frozenset[str]]:
    return {node: frozenset(ids.split()) for node, ids in nodes.items()}


def test_failures_that_are_new_and_those_that_are_gone() -> None:
    old, new = look(failing=failing(a="x", b="x y", c="z")), look(failing=failing(a="x", b="y", c="y", d="y"))
    found = changes(old, new)
    assert found.failed == {"y": ("c", "d")}
    assert found.cured == {"x": ("b",), "z": ("c",)}


def test_a_node_that_does_not_answer_is_gone_and_not_cured() -> None:
    found = changes(look("ab", failing=failing(a="x")), look("bc", failing=failing(c="y")))
    assert (found.cured, found.gone, found.new) == ({}, ("a",), ("c",))
    assert found.failed == {"y": ("c",)}


def test_what_could_not_be_decided_now_is_not_cured() -> None:
    old = look(failing=failing(a="x", b="x"))
    assert changes(old, look(unknown=failing(a="x"))).cured == {"x": ("b",)}


def test_facts_that_changed_are_counted_by_their_two_values() -> None:
    before = {DRIVER: dict(a="570", b="570", c="570", d="565", e="580")}
    after = {DRIVER: dict(a="580", b="580", c="570", d="580", f="580")}
    found = changes(look(facts=before), look(facts=after))
    assert found.changed == (Change(DRIVER, "570", "580", ("a", "b")), Change(DRIVER, "565", "580", ("d",)))


def test_what_follows_from_a_fact_goes_into_its_line() -> None:
    before = {DRIVER: dict(a="570", b="570"), LIBCUDA: dict(a="570", b="570")}
    after = {DRIVER: dict(a="580", b="570"), LIBCUDA: dict(a="580", b="570")}
    assert changes(look(facts=before), look(facts=after)).changed == (Change(DRIVER, "570", "580", ("a",), (LIBCUDA,)),)
    after[LIBCUDA]["b"] = "580"  # on its own: no consequence of the driver
    found = changes(look(facts=before), look(facts=after)).changed
    assert found == (Change(LIBCUDA, "570", "580", ("a", "b")), Change(DRIVER, "570", "580", ("a",)))


@for_each(
    "path, before, after, differs",
    [
        (DRIVER, "1", "2", True),
        (DRIVER, "1", "1", False),
        ("host.memory_total_mib", "100000", "99100", False),
        ("host.memory_total_mib", "100000", "98900", True),
        ("host.open_files", "100000", "99999", True),
        ("gpus.temperature_c", "30", "60", False),
        ("gpus.uuid", "a", "b", False),
        ("host.environment[SLURM_JOB_ID]", "1", "2", False),
        ("no.fact", "1", "2", False),
    ],
)
def test_only_facts_that_are_compared_and_not_equal(path: str, before: str, after: str, differs: bool) -> None:
    found = changes(look("a", facts={path: {"a": before}}), look("a", facts={path: {"a": after}}))
    assert bool(found.changed) == differs


def test_a_fact_that_was_not_known_has_not_changed() -> None:
    assert changes(look(facts={DRIVER: {}}), look(facts={DRIVER: {"a": "1"}})).changed == ()
    assert changes(look(), look(facts={DRIVER: {"a": "1"}})).changed == ()


@for_each(
    "before, now, again",
    [
        (SlowOne("a", 1, "matmul bf16"), SlowOne("a", 1, "matmul bf16"), True),
        (SlowOne("a", 1, "matmul bf16"), SlowOne("a", 1, "matmul fp16"), True),
        (SlowOne("a", 1, "matmul bf16"), SlowOne("a", 2, "matmul bf16"), False),
        (SlowOne("a", 1, "matmul bf16"), SlowOne("b", 1, "matmul bf16"), False),
        (SlowOne("a", 1, "matmul bf16"), SlowOne("a", 1, "memory copy"), False),
        (SlowOne("a", -1, "matmul bf16"), SlowOne("a", 2, "matmul bf16"), True),
        (SlowOne("a", 2, "matmul bf16"), SlowOne("a", -1, "matmul bf16"), True),
        (SlowOne("a", 1, "launch eager"), SlowOne("a", 1, "launch graph"), False),
    ],
)
def test_slow_for_the_second_time(before: SlowOne, now: SlowOne, again: bool) -> None:
    assert was_slow([before], now) == again
    found = changes(look(slow=frozenset({before})), look(slow=frozenset({now})))
    assert found.slow_again == ((now,) if again else ())


def test_facts_may_be_fetched_one_path_at_a_time() -> None:
    fetched = []

    class Lazy(Mapping[str, Mapping[str, str]]):
        def __init__(self, value: str) -> None:
            self.value = value

        def __getitem__(self, path: str) -> Mapping[str, str]:
            fetched.append(path)
            return {"a": self.value}

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([DRIVER, "gpus.uuid"])

        def __len__(self) -> int:
            return 2

    found = changes(look("a", facts=Lazy("1")), look("a", facts=Lazy("2")))
    assert [one.path for one in found.changed] == [DRIVER]
    assert fetched == [DRIVER, DRIVER]


NODES = st.frozensets(st.sampled_from("abcd"))
FAILING = st.dictionaries(st.sampled_from("abcd"), st.frozensets(st.sampled_from("xyz")))


@drawn(200)
@given(NODES, NODES, FAILING, FAILING)
def test_nothing_changed_between_a_look_and_itself_and_what_failed_is_cured_backwards(
    first: frozenset[str], second: frozenset[str], a: dict[str, frozenset[str]], b: dict[str, frozenset[str]]
) -> None:
    old = Summary(first, {node: ids for node, ids in a.items() if node in first})
    new = Summary(second, {node: ids for node, ids in b.items() if node in second})
    same = changes(old, old)
    assert not any(same)
    there, back = changes(old, new), changes(new, old)
    for id, nodes in there.cured.items():
        assert set(nodes) <= set(back.failed[id])
    assert (there.gone, there.new) == (back.new, back.gone)
    for id, nodes in there.failed.items():
        assert all(id in new.failing[node] and id not in old.failing.get(node, ()) for node in nodes)


def looked_at(folder: Path, name: str, *days: int, clock: float = 0.0) -> Path:
    """A database of one node a day: its report is of that day in November 2026; `clock`: by which its own clock is off."""
    lines = []
    for number, day in enumerate(days):
        at = seconds_of(f"2026-11-{day:02}T10:00:00Z")
        data = json.loads(spool.report(spool.machine(number))) | {"generated_at": moment(at + clock)}
        lines.append(spool.envelope(f"n{number}", json.dumps(data).encode(), received=at if clock else 0.0))
    (folder / f"{name}.jsonl").write_bytes(b"".join(lines))
    assert spool.load(folder / f"{name}.jsonl", to=folder / f"{name}.db")[0] == 0
    return folder / f"{name}.db"


SINCE = {
    "an earlier one": ((19, 19), (26, 26), 0.0, 0),
    "of the same day": ((26,), (26,), 0.0, 0),
    "a later one": ((27,), (26,), 0.0, 2),
    "mostly a later one": ((19, 27, 27), (26, 26, 20), 0.0, 2),
    "one node of which is later": ((19, 19, 27), (26, 26, 26), 0.0, 0),
    "an earlier one of a node whose clock is years ahead": ((19,), (26,), 3e8, 0),
}


@for_each("which", SINCE)
def test_only_an_earlier_database_is_compared_with(which: str, tmp_path: Path) -> None:
    """By what the reports say, not by when the files were written: the older one is loaded last here."""
    before, after, clock, code = SINCE[which]
    now, last = looked_at(tmp_path, "now", *after), looked_at(tmp_path, "last", *before, clock=clock)
    done = gpudoctor("fleet", "report", now, "--since", last)
    assert done.returncode == code, done
    assert (b"is newer than" in done.stderr and b"2026-11-27T10:00:00Z" in done.stderr) == (code == 2)
    assert done.stderr.count(b"\n") == (1 if code else 0)


def ecc(number: int, faulty: bool) -> Snapshot:
    """A machine whose first GPU has an uncorrectable memory error, or none."""
    s = spool.machine(number)
    first, *rest = (
        replace(gpu, row_remap_failed=False, remapped_rows_uncorrectable=0, retired_pages=0, ecc_uncorrected_volatile=0)
        for gpu in known(s.gpus) or ()
    )
    return s.replace({"gpus": (replace(first, ecc_uncorrected_volatile=int(faulty)), *rest)})


def without_uvm(s: Snapshot) -> Snapshot:
    nodes = known(s.driver.device_nodes) or ()
    left = tuple(node for node in nodes if "uvm" not in node.path)
    return cuda_says(s, 999).replace({"driver.device_nodes": left, "driver.modules": ("nvidia", "nvidia_modeset")})


ECC = "gpu-hardware-ecc-fault"
UNREADABLE = {"gpus": Missing("error", "NVML does not start")}
NOW = {
    "its error is gone": (ecc(0, False), spool.TODAY, True),
    "it has the error and another cause first": (without_uvm(ecc(1, True)), spool.TODAY, False),
    "its GPUs cannot be read": (ecc(2, True).replace(UNREADABLE), spool.TODAY, False),
    "the check was skipped": (ecc(3, True), replace(spool.TODAY, skip=(ECC,)), False),
    "other checks were asked for": (ecc(4, True), replace(spool.TODAY, only=("uvm-device-missing",)), False),
}


@for_each("which", NOW)
def test_only_what_was_decided_is_cured(which: str, tmp_path: Path) -> None:
    """A database stores root findings alone: what is not among them may have another cause now, or be unknown."""
    now, policy, cured = NOW[which]
    (tmp_path / "now.json").write_bytes(spool.envelope("n", spool.report(now, policy=policy)))
    (tmp_path / "last.json").write_bytes(spool.envelope("n", spool.report(ecc(9, True))))
    for name in ("now", "last"):
        assert spool.load(tmp_path / f"{name}.json", to=tmp_path / f"{name}.db")[0] == 0
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--since", tmp_path / "last.db", "--format", "json")
    assert json.loads(done.stdout)["since"]["cured"] == ({ECC: ["n"]} if cured else {})


def test_what_failed_before_with_another_cause_is_no_new_failure(tmp_path: Path) -> None:
    before, now = without_uvm(ecc(0, True)), ecc(0, True)
    for name, s in (("now", now), ("last", before)):
        (tmp_path / f"{name}.json").write_bytes(spool.envelope("n", spool.report(s)))
        assert spool.load(tmp_path / f"{name}.json", to=tmp_path / f"{name}.db")[0] == 0
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--since", tmp_path / "last.db", "--format", "json")
    since = json.loads(done.stdout)["since"]
    assert ECC not in since["failed"] and "uvm-device-missing" in since["cured"]


@for_each("given", ["now.db", "./now.db", "link.db", "hard.db"])
def test_a_database_is_not_compared_with_itself(given: str, tmp_path: Path) -> None:
    looked_at(tmp_path, "now", 26)
    (tmp_path / "link.db").symlink_to("now.db")
    (tmp_path / "hard.db").hardlink_to(tmp_path / "now.db")
    done = gpudoctor("fleet", "report", "now.db", "--since", given, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), done
    assert b"is the same database as now.db: give an earlier one" in done.stderr
