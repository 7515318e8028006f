"""What makes a node odd or slow, and what does not: a missing GPU, figures that are none, several models in a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.fleet.odd import Odd, judge
from doctor.fleet.store.read import open_store
from doctor.snapshot import Measured, Missing, Rate, Snapshot, known

from ..cli.command import gpudoctor
from ..rows import for_each
from . import fleets, spool


def database(folder: Path, nodes: Mapping[str, Snapshot], name: str = "now") -> Path:
    lines = (spool.envelope(node, spool.report(s)) for node, s in nodes.items())
    (folder / f"{name}.jsonl").write_bytes(b"".join(lines))
    spool.load(folder / f"{name}.jsonl", to=folder / f"{name}.db")
    return folder / f"{name}.db"


def speeds(s: Snapshot, *speed: float) -> Snapshot:
    rates = [Rate(kind="matmul", device=f"cuda:{n}", what="bf16", value=value, unit="TFLOP/s")
             for n, value in enumerate(speed)]  # fmt: skip
    return s.replace({"measured": Measured(level="quick", device="cuda", rates=tuple(rates))})


def fleet(counts: Mapping[str, int]) -> dict[str, Snapshot]:
    return {node: spool.machine(n, count=count) for n, (node, count) in enumerate(counts.items())}


def test_a_node_that_lacks_a_gpu_is_odd(tmp_path: Path) -> None:
    counts = {f"gpu-{n:03}": 4 for n in range(1, 11)}
    old = database(tmp_path, fleet(counts), "old")
    now = database(tmp_path, fleet({**counts, "gpu-005": 3}))
    found, _ = fleets.report(now, "--since", str(old))
    (odd,) = found["odd"]
    assert (odd["fact"], odd["value"], odd["usual"], odd["usual_nodes"]) == ("gpus", "3", "4", 9)
    assert odd["nodes"] == ["gpu-005"] == [row["node"] for row in found["nodes"] if row["state"] == "odd"]
    (changed,) = (one for one in found["since"]["changed"] if one["fact"] == "gpus")
    assert (changed["before"], changed["after"], changed["nodes"]) == ("4", "3", ["gpu-005"])


@for_each("eight, seven, is_odd", [(8, 2, True), (7, 3, False), (1, 1, False), (3, 1, False), (4, 1, True)])
def test_few_nodes_with_another_count_beside_most(tmp_path: Path, eight: int, seven: int, is_odd: bool) -> None:
    counts = {f"n{n}": 2 if n < eight else 1 for n in range(eight + seven)}
    found, _ = fleets.report(database(tmp_path, fleet(counts)))
    assert bool([one for one in found["odd"] if one["fact"] == "gpus"]) == is_odd


@for_each("wrong", [0.0, -1.0, 1e-320, 1e300])
def test_what_is_no_speed_is_said_once_and_left_out(tmp_path: Path, wrong: float) -> None:
    nodes = {f"n{n}": speeds(spool.machine(n), 700 + n, wrong if n == 3 else 700) for n in range(6)}
    found, _ = fleets.report(database(tmp_path, nodes))
    assert [(one["label"], one["nodes"]) for one in found["unknown"]] == [("bf16 matmul", ["n3"])]
    assert [one["values"] for one in found["spreads"]] == [11]
    assert not found["slow"] and not found["once"]
    every = {node: speeds(s, wrong, wrong) for node, s in nodes.items()}
    found, _ = fleets.report(database(tmp_path, every, "every"))
    assert [one["nodes"] for one in found["unknown"]] == [list(nodes)]
    assert not found["spreads"]


def test_measured_once_counts_nowhere_as_slow(tmp_path: Path) -> None:
    nodes = {f"n{n}": speeds(spool.machine(n), 700, 100 if n == 3 else 700) for n in range(6)}
    found, code = fleets.report(database(tmp_path, nodes), "--fail-on", "slow")
    assert [one["node"] for one in found["once"]] == ["n3"]
    assert found["counts"]["slow"] == 0 and code == 0
    assert [row["state"] for row in found["nodes"] if row["node"] == "n3"] == ["warn"]


def unread(s: Snapshot) -> Snapshot:
    """A required fact could not be read."""
    return s.replace({"driver.cu_init": Missing("error", "no answer")})


@for_each("slow, blind, counts, state, code", [
    ("n3", "n3", (1, 0, 1), ("slow", "bf16 matmul -86 %", "required-fact-missing"), (3, 1)),
    ("n3", "n4", (1, 1, 0), ("slow", "bf16 matmul -86 %", ""), (3, 1)),
    ("n3", "", (1, 0, 0), ("slow", "bf16 matmul -86 %", ""), (0, 1)),
    ("", "n3", (0, 1, 0), ("unknown", "required-fact-missing", ""), (3, 3)),
])  # fmt: skip
def test_what_is_proven_slow_is_shown_before_what_is_unknown(
    tmp_path_factory: pytest.TempPathFactory, slow: str, blind: str, counts: Any, state: Any, code: Any
) -> None:
    """And the exit code says that something is open."""
    folder = tmp_path_factory.mktemp("fleet")
    lines = b""
    for number in range(8):
        s = unread(spool.machine(number)) if f"n{number}" == blind else spool.machine(number)
        own = speeds(s, 700, 100 if f"n{number}" == slow else 700)
        lines += b"".join(
            spool.envelope(f"n{number}", spool.report(own), repeat=repeat)
            for repeat in range(1, 4 if number == 3 else 2)
        )
    (folder / "now.jsonl").write_bytes(lines)
    spool.load(folder / "now.jsonl", to=folder / "now.db")
    found, own_code = fleets.report(folder / "now.db")
    assert (own_code, fleets.report(folder / "now.db", "--fail-on", "slow")[1]) == code
    assert tuple(found["counts"][name] for name in ("slow", "unknown", "slow_unknown")) == counts
    (row,) = [row for row in found["nodes"] if row["node"] == "n3"]
    assert (row["state"], row["why"], row["unknown"]) == state
    text = gpudoctor("fleet", "report", folder / "now.db").stdout.decode()
    assert ("1 SLOW (1 of them also unknown)" in text) == (slow == blind)
    assert ("1 node could not be judged in full" in text) == (slow == blind)
    page = gpudoctor("fleet", "report", folder / "now.db", "--format", "html").stdout.decode()
    assert ("-86 %; unknown: required-fact-missing" in page) == (slow == blind)


def with_models(s: Snapshot, *names: str) -> Snapshot:
    gpus = known(s.gpus) or ()
    return s.replace({"gpus": tuple(replace(gpu, name=name) for gpu, name in zip(gpus, names, strict=True))})


def test_each_model_in_a_node_is_compared_with_its_own(tmp_path: Path) -> None:
    fast, slower = "NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX A6000"
    nodes = {f"ws-{n}": speeds(with_models(spool.machine(n, count=4), fast, fast, fast, slower), 260, 260, 260, 140)
             for n in range(8)}  # fmt: skip
    found, _ = fleets.report(database(tmp_path, nodes))
    assert not found["slow"] and not found["once"] and not found["lagging"]
    assert sorted(one["median"] for one in found["spreads"]) == [140, 260]


def with_vbios(s: Snapshot, last: str) -> Snapshot:
    *gpus, one = known(s.gpus) or ()
    return s.replace({"gpus": (*(replace(gpu, vbios="1.2.2") for gpu in gpus), replace(one, vbios=last))})


@for_each("nodes, of_them, others", [(1, 1, None), (2, 2, None), (3, 2, 1), (9, 1, 8)])
def test_a_node_is_not_odd_against_itself(tmp_path: Path, nodes: int, of_them: int, others: int | None) -> None:
    def made(n: int) -> Snapshot:
        return with_vbios(spool.machine(n), "1.2.3" if n < of_them else "1.2.2")

    found, _ = fleets.report(database(tmp_path, {f"n{n}": made(n) for n in range(nodes)}))
    assert [one["usual_nodes"] for one in found["odd"] + found["odd_on_failing"]] == (
        [] if others is None else [others]
    )


def test_a_value_of_as_many_nodes_as_the_usual_one_is_not_odd() -> None:
    found: Callable[..., Any] = judge
    assert not [one for one in found("gpus.vbios", {"a": 2, "b": 2}, 0, 2) if isinstance(one, Odd)]
    assert [one.value for one in found("gpus.vbios", {"a": 3, "b": 2}, 0, 3) if isinstance(one, Odd)] == ["b"]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_query_that_nobody_finishes_is_silent(tmp_path: Path) -> None:
    """Ctrl-C leaves one suspended in the traceback while its database is closed."""
    store = open_store(str(database(tmp_path, fleet({"gpu-001": 4, "gpu-002": 4}))))
    counts = store.value_counts(store.nodes()[0].cohort)
    next(counts)
    store.close()
    counts.close()
