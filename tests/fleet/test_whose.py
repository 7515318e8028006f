"""Whose answer is whose in `fleet load`: folders with one file name, old answers, copies, deaths and repeats."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from doctor.snapshot import Missing, Snapshot, TorchRun

from ..rows import for_each
from .spool import envelope, load, machine, report, rows


def sick(s: Snapshot) -> Snapshot:
    return s.replace({"driver.nvml_init": 18, "driver.cu_init": 803, "driver.nvml_library_version": "570.1.1"})


def blind(s: Snapshot) -> Snapshot:
    return sick(s).replace({"gpus": Missing("absent", "libnvidia-ml.so.1")})


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def made(s: Snapshot, when: str, **more: Any) -> bytes:
    return json.dumps({**json.loads(report(s)), "generated_at": when, **more}).encode()


@for_each("machines", [[machine(n) for n in range(4)], [blind(machine(n)) for n in range(4)],
                       [blind(machine(0)), machine(1), machine(2)], [machine(0), sick(machine(1))]],
          ids=["good", "blind", "mixed", "two"])  # fmt: skip
def test_one_file_name_in_many_folders_names_no_node(tmp_path: Path, machines: list[Snapshot]) -> None:
    for number, s in enumerate(machines):
        put(tmp_path / "spool" / f"gpu-{number:03}" / "tmp" / "report.json", made(s, f"2026-11-20T10:00:0{number}Z"))
    code, db = load(tmp_path / "spool", to=tmp_path / "now.db")
    assert code == 3 and rows(db, "select * from node") == rows(db, "select * from duplicate") == []
    assert rows(db, "select count(*) from gpu_row") == rows(db, "select count(*) from finding") == [(0,)]
    ((file, reason),) = rows(db, "select file, reason from refused")
    assert (
        reason.startswith(f"{len(machines)} files are called report.json: give the nodes different file names")
        and file == "report.json"
    )


def test_the_one_good_file_of_many_with_its_name_names_no_node(tmp_path: Path) -> None:
    put(tmp_path / "spool" / "a" / "report.json", report(machine(1)))
    put(tmp_path / "spool" / "b" / "report.json", b"{")
    put(tmp_path / "spool" / "c" / "report.json", envelope("gpu-3", report(machine(3))))
    code, db = load(tmp_path / "spool", to=tmp_path / "now.db")
    assert (code, rows(db, "select node from node")) == (0, [("gpu-3",)])
    assert len(rows(db, "select reason from refused where reason like '%called report.json%'")) == 1


def test_todays_failure_counts_whatever_the_files_times_say(tmp_path: Path) -> None:
    days = {"today": (sick(machine()), "2026-11-27T10:00:00Z"), "yesterday": (machine(), "2026-11-26T10:00:00Z")}
    for number, (day, (s, when)) in enumerate(days.items()):
        put(tmp_path / day / "gpu-001.json", made(s, when))
        os.utime(tmp_path / day / "gpu-001.json", (1e9 + number, 1e9 + number))
    for order in (list(days), list(days)[::-1]):
        _, db = load(*(tmp_path / day for day in order), to=tmp_path / "now.db")
        assert rows(db, "select node, verdict, generated_at from node") == [("gpu-001", "fail", "2026-11-27T10:00:00Z")]
        assert rows(db, "select detail from duplicate") == [("of 2026-11-26T10:00:00Z and of 2026-11-27T10:00:00Z",)]


def test_an_answer_without_uuids_is_none_of_two_machines(tmp_path: Path) -> None:
    answers = [
        envelope("a", report(s), received=100.0 + n) for n, s in enumerate((machine(1), machine(2), blind(machine(3))))
    ]
    put(tmp_path / "a.jsonl", b"".join(answers))
    _, db = load(tmp_path / "a.jsonl", to=tmp_path / "now.db")
    assert rows(db, "select verdict from node order by id") == [("pass",), ("pass",), ("fail",)]
    put(tmp_path / "a.jsonl", answers[0] + answers[2])
    _, db = load(tmp_path / "a.jsonl", to=tmp_path / "now.db")
    assert rows(db, "select verdict from node") == [("fail",)]
    assert rows(db, "select detail from duplicate where detail like '%; one of them has no UUIDs'")


def test_the_same_bytes_twice_are_one_answer(tmp_path: Path) -> None:
    data = report(machine(1))
    for folder in "ab":
        put(tmp_path / folder / "gpu-1.json", data)
    _, db = load(tmp_path / "a", tmp_path / "b", tmp_path / "a", to=tmp_path / "now.db")
    assert rows(db, "select node, state from node") == [("gpu-1", "answered")]
    assert rows(db, "select * from duplicate") == rows(db, "select * from refused") == []


def test_a_driver_too_old_for_the_torch_there_fails_no_node(tmp_path: Path) -> None:
    """It is about an environment, of which a node has many."""
    names = (
        "driver.nvml_driver_version",
        "driver.kernel_version",
        "driver.nvml_library_version",
        "driver.libcuda_version",
    )
    driver = dict.fromkeys(names, "470.256.02")
    old = machine().replace(
        {**driver, "driver.cuda_version": "11.4", "driver.nvml_cuda_version": "11.4", "torch_run": TorchRun()}
    )
    put(tmp_path / "spool" / "gpu-1.json", report(old))
    _, db = load(tmp_path / "spool", to=tmp_path / "now.db")
    found = rows(db, "select id, status from finding where status = 'fail'")
    assert ("driver-too-old-for-cuda-build", "fail") in found
    assert rows(db, "select verdict from node") == [("pass",)]
