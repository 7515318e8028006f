"""Pairs and the all-reduce: on the real CPU wheel with gloo, and on a fake torch with several GPUs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.measured import parse_measured
from doctor.proof.links import standing_out
from doctor.snapshot import Missing
from doctor.snapshot.measured import CollectiveProof, Measured, PairProof
from doctor.targets.agent import AgentResult
from doctor.targets.process import script_argv

from ..rows import for_each
from .fake_site import PATIENT, environment, fields, rows, run

ILLEGAL = "CUDA error: an illegal memory access was encountered"
NCCL = "NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error"


def measured(result: AgentResult) -> Measured:
    found = parse_measured({"collective_proof": [result]}, {"level": "quick", "device": "cuda"})
    assert not [step for step in found.ended if "cannot be read" in step.detail]
    return found


def pairs(result: AgentResult) -> dict[str, PairProof]:
    found = measured(result).pairs
    assert not isinstance(found, Missing), found
    return {f"{pair.source[5:]}>{pair.target[5:]}": pair for pair in found}


def collective(result: AgentResult) -> CollectiveProof:
    found = measured(result).collective
    assert found is not None, result
    return found


def children(result: AgentResult) -> list[int]:
    return [pid for line in result.lines if line.get("field") == "pids" for pid in line["value"]]


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def nothing_is_left(result: AgentResult, folder: Path) -> bool:
    return not list((folder / "tmp").iterdir()) and not any(map(alive, children(result)))


@pytest.mark.torch_wheel
def test_gloo_by_the_real_torch(with_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    env = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    result = run("collective_proof", env, "--device", "cpu", "--ranks", "2", python=str(with_torch / "bin/python"))
    assert (result.fault, result.noise) == (None, [])
    found = collective(result)
    assert (found.backend, found.ranks, found.right, found.fault, found.error) == ("gloo", 2, True, None, "")
    assert isinstance(found.seconds, float) and len(children(result)) == 2
    assert nothing_is_left(result, tmp_path)


@pytest.mark.torch_wheel
def test_a_rank_of_the_real_torch_that_is_killed(with_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()

    def kill(line: dict[str, Any]) -> None:
        if line.get("field") == "pids":
            os.kill(line["value"][1], signal.SIGKILL)

    env = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    python = str(with_torch / "bin/python")
    result = run("collective_proof", env, "--device", "cpu", "--ranks", "2", python=python, on_line=kill)
    found = collective(result)
    assert (result.fault, found.fault) == (None, "crash")
    assert found.error.startswith("rank 1 ended with signal 9") and found.right == Missing("error", found.error)
    assert nothing_is_left(result, tmp_path)


def test_all_pairs_and_an_all_reduce(tmp_path: Path) -> None:
    result = run("collective_proof", environment(tmp_path, devices=3, peer=False))
    found = pairs(result)
    assert sorted(found) == ["0>1", "0>2", "1>0", "1>2", "2>0", "2>1"]
    assert all((pair.right, pair.peer_access, pair.error) == (True, False, "") for pair in found.values())
    assert all(isinstance(pair.gb_s, float) for pair in found.values())
    assert (collective(result).backend, collective(result).ranks, collective(result).right) == ("nccl", 3, True)
    assert (tmp_path / "backends").read_text() == "nccl\n" * 3
    assert nothing_is_left(result, tmp_path)


def test_many_devices_are_a_ring(tmp_path: Path) -> None:
    result = run("collective_proof", environment(tmp_path, devices=9, distributed=False))
    ring = [f"{n}>{(n + 1) % 9}" for n in range(9)]
    assert list(pairs(result)) == [*ring, *(f"{n}>{(n - 1) % 9}" for n in range(9))]


def test_of_the_gpus_of_a_host_every_pair_is_tried(tmp_path: Path) -> None:
    found = list(pairs(run("collective_proof", environment(tmp_path, devices=8, distributed=False))))
    assert len(set(found)) == 56 and found[:8] == [f"{n}>{(n + 1) % 8}" for n in range(8)]


def test_only_the_devices_asked_for(tmp_path: Path) -> None:
    result = run("collective_proof", environment(tmp_path, devices=4), "--devices", "3,1,9")
    assert sorted(pairs(result)) == ["1>3", "3>1"]
    assert collective(result).ranks == 2
    (step,) = rows(result, "ended")
    assert (step["step"], step["fault"]) == ("devices", "failed") and "offers 4" in step["detail"]


@for_each("devices", [0, 1])
def test_fewer_than_two_devices(tmp_path: Path, devices: int) -> None:
    result = run("collective_proof", environment(tmp_path, devices=devices))
    assert (result.fault, rows(result, "pair"), rows(result, "collective")) == (None, [], [])
    (step,) = rows(result, "ended")
    assert (step["step"], step["fault"]) == ("collective", "skipped") and "fewer than two" in step["detail"]


def test_without_nccl_it_is_gloo(tmp_path: Path) -> None:
    found = collective(run("collective_proof", environment(tmp_path, devices=2, nccl=False)))
    assert (found.backend, found.right) == ("gloo", True)


def test_without_torch_distributed(tmp_path: Path) -> None:
    result = run("collective_proof", environment(tmp_path, devices=2, distributed=False))
    assert len(pairs(result)) == 2 and measured(result).collective is None
    assert [step["detail"] for step in rows(result, "ended")] == ["this torch was built without torch.distributed"]


def test_numbers_that_arrive_wrong(tmp_path: Path) -> None:
    env = environment(
        tmp_path, devices=2, faults={"cuda:0>cuda:1": {"copy": "wrong"}, "cuda:1>cuda:0": {"copy": "unwritten"}}
    )
    result = run("collective_proof", env)
    assert [pair.right for pair in pairs(result).values()] == [False, False]
    assert all("numbers came wrong" in pair.error and pair.fault is None for pair in pairs(result).values())
    assert collective(result).right is True


def test_a_pair_that_fails(tmp_path: Path) -> None:
    text = "CUDA error: peer access is not supported between these two devices"
    result = run("collective_proof", environment(tmp_path, devices=2, faults={"cuda:0>cuda:1": {"copy": text}}))
    sick, well = pairs(result).values()
    assert (sick.error, sick.fault, sick.right) == (
        f"RuntimeError: {text}",
        "failed",
        Missing("error", f"RuntimeError: {text}"),
    )
    assert well.right is True


@pytest.mark.slow
@for_each(
    ("fault", "ending", "words"),
    [
        ("hang", "hang", "no answer in pair"),
        ("crash", "crash", "ended with signal 11 in pair"),
        (ILLEGAL, "failed", f"RuntimeError: {ILLEGAL}"),
    ],
)
def test_behind_a_pair_that_ends_the_process_the_next_is_tried(
    tmp_path: Path, fault: str, ending: str, words: str
) -> None:
    env = environment(tmp_path, devices=3, faults={"cuda:1>cuda:0": {"copy": fault}})
    result = run("collective_proof", env, "--seconds", "6")
    assert result.fault is None
    found = pairs(result)
    assert list(found) == ["0>1", "1>2", "2>0", "0>2", "1>0", "2>1"]
    sick = found.pop("1>0")
    assert (sick.fault, sick.error) == (ending, words) and isinstance(sick.right, Missing)
    assert all(pair.right is True for pair in found.values())
    assert collective(result).right is True
    assert nothing_is_left(result, tmp_path)


@pytest.mark.slow
def test_slow_pairs_are_not_called_hanging(tmp_path: Path) -> None:
    names = [f"cuda:{n}" for n in range(12)]
    faults = {f"{a}>{b}": {"copy": "slow"} for a in names for b in names}
    result = run(
        "collective_proof", environment(tmp_path, devices=12, distributed=False, faults=faults), "--seconds", "3"
    )
    assert 0 < len(pairs(result)) < 24
    assert all((pair.right, pair.fault) == (True, None) for pair in pairs(result).values())
    left = f"{24 - len(pairs(result))} pairs were left when the time was over"
    assert ("pairs", left) in [(step["step"], step["detail"]) for step in rows(result, "ended")]


@pytest.mark.slow
def test_ranks_that_import_from_a_slow_disk_do_not_hang(tmp_path: Path) -> None:
    """Two ranks, and a child for the pairs, whose torch comes at 80 kB/s."""
    env = environment(tmp_path, devices=2)
    package = tmp_path / "site" / "torch" / "__init__.py"
    library = tmp_path / "library.so"
    library.write_bytes(bytes(4096))
    package.write_text(f"while True:\n    open({str(library)!r}, 'rb').read()\n    __import__('time').sleep(0.05)\n")
    ranks = run("collective_proof", env, "--device", "cpu", "--ranks", "2", "--seconds", "1.5")
    found = collective(ranks)
    assert found.fault == "slow" and "the disk is slow" in found.error
    assert isinstance(found.right, Missing) and found.right.reason == "timeout"
    pairs_ = run("collective_proof", env, "--seconds", "1.5")
    (end,) = rows(pairs_, "ended")
    assert (end["step"], end["fault"]) == ("import torch", "slow") and "the disk is slow" in end["detail"]


@pytest.mark.slow
@for_each(
    ("fault", "ending", "words"),
    [
        ("crash", "crash", "rank 1 ended with signal 6 in all_reduce"),
        (NCCL, "failed", f"rank 1 in all_reduce: RuntimeError: {NCCL}"),
        ("hang", "hang", "no answer in 5 s: rank 0 in all_reduce, rank 1 in all_reduce, rank 2 in all_reduce"),
    ],
)
def test_a_rank_that_does_not_come_to_its_end(tmp_path: Path, fault: str, ending: str, words: str) -> None:
    seconds = "5" if fault == "hang" else "30"  # who fails is not waited for; others want the cores too
    result = run("collective_proof", environment(tmp_path, devices=3, ranks={"1": fault}), "--seconds", seconds)
    found = collective(result)
    assert (result.fault, found.fault, found.error) == (None, ending, words)
    assert found.right == Missing("timeout" if fault == "hang" else "error", words)
    assert nothing_is_left(result, tmp_path)


_LATE = """
import sys, time
end = time.monotonic() + 3 * ("--rank 0 " in " ".join(sys.argv))
while time.monotonic() < end:
    pass
"""


@pytest.mark.slow
def test_a_rank_that_fails_while_another_one_still_starts(tmp_path: Path) -> None:
    """The slow one is not why: it comes, and waits for the one that failed."""
    env = environment(tmp_path, devices=2, ranks={"1": NCCL})
    package = tmp_path / "site" / "torch" / "__init__.py"
    head, _, rest = package.read_text("utf-8").partition("from __future__ import annotations\n")
    package.write_text(f"{head}from __future__ import annotations\n{_LATE}{rest}", "utf-8")
    found = collective(run("collective_proof", env, "--seconds", "30"))
    assert (found.fault, found.error) == ("failed", f"rank 1 in all_reduce: RuntimeError: {NCCL}")


def test_a_wrong_sum(tmp_path: Path) -> None:
    found = collective(run("collective_proof", environment(tmp_path, devices=2, ranks={"0": "wrong"})))
    assert (found.right, found.fault, found.error) == (False, None, f"wrong sums: rank 0: {1 << 18} elements")


def test_little_memory_makes_it_smaller(tmp_path: Path) -> None:
    result = run("collective_proof", environment(tmp_path, devices=2, room=2 << 20))
    assert all(pair.right is True for pair in pairs(result).values())
    assert [(step["step"], step["fault"]) for step in rows(result, "ended")] == [("pair", "skipped")] * 2
    assert collective(result).right is True


def test_a_torch_that_cannot_be_imported(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "site" / "torch" / "__init__.py").write_text("raise ImportError('libnccl.so.2: cannot open')", "utf-8")
    result = run("collective_proof", env)
    (line,) = [line for line in result.lines if "error" in line]
    assert (line["field"], line["error"], line["text"]) == ("import", "ImportError", "libnccl.so.2: cannot open")
    assert rows(result, "pair") == rows(result, "collective") == [] and result.fault is None


def test_an_import_that_ends_the_process(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "site" / "torch" / "__init__.py").write_text("import os\nos.abort()", "utf-8")
    (step,) = rows(run("collective_proof", env), "ended")
    assert (step["step"], step["fault"], step["detail"]) == (
        "import torch",
        "crash",
        "ended with signal 6 in import torch",
    )


@for_each(("number", "left"), [(signal.SIGTERM, 0), (signal.SIGKILL, 1)])
def test_ranks_do_not_outlive_it(tmp_path: Path, number: signal.Signals, left: int) -> None:
    env = environment(tmp_path, devices=2, ranks={"1": "hang"})
    argv = script_argv(sys.executable, str(PATIENT / "collective_proof.py"), "--seconds", "60")
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines: list[dict[str, Any]] = []
        while sum(line.get("field") == "pids" for line in lines) < 2:
            lines.append(json.loads(child.stdout.readline()))
        child.send_signal(number)
        child.wait(30)
    assert child.returncode == (143 if number is signal.SIGTERM else -number)
    until = time.monotonic() + 30
    while any(map(alive, lines[-1]["value"])) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, lines[-1]["value"]))
    assert len(list((tmp_path / "tmp").iterdir())) == left  # nobody can tidy up behind SIGKILL


@for_each(
    "arguments",
    [("--seconds", "0"), ("--seconds", "nan"), ("--ranks", "65"), ("--devices", "0,x"), ("--device", "tpu")],
)
def test_wrong_arguments(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run("collective_proof", environment(tmp_path), *arguments)
    assert (result.returncode, result.lines) == (2, []) and "usage: collective_proof" in result.stderr_tail
    assert fields(result) == {}


def test_pairs_that_stand_out_are_few() -> None:
    def lines(*slow: str) -> list[dict[str, Any]]:
        names = [(f"cuda:{a}", f"cuda:{b}") for a in range(5) for b in range(5) if a != b]
        return [
            {"pair": {"source": a, "target": b, "gb_s": 12.0 if f"{a[5:]}>{b[5:]}" in slow else 380.0}}
            for a, b in names
        ]

    assert standing_out(lines()) == standing_out([]) == standing_out([{"pair": {"gb_s": "x"}}, {"pair": 3}]) == []
    assert standing_out(lines("3>1", "1>3", "2>0")) == [("cuda:1", "cuda:3"), ("cuda:0", "cuda:2")]
    assert standing_out(lines("0>1", "0>2", "0>3", "0>4", "1>2")) == [], "many: so the machine is built"


def test_a_pair_that_was_wrong_once_stays_wrong() -> None:
    first = {"source": "cuda:0", "target": "cuda:1", "right": False, "gb_s": 5.0}
    again = {**first, "right": True, "gb_s": 300.0}
    for both, kept in (
        ([first, again], (False, 5.0)),
        ([again, first], (False, 5.0)),
        ([again, {**again, "gb_s": 9.0}], (True, 9.0)),
    ):
        result = AgentResult(lines=[{"pair": row} for row in both])
        (pair,) = measured(result).pairs  # type: ignore[misc]
        assert (pair.right, pair.gb_s) == kept
