"""host-memory-exhausted, and the limit of a container or job beside it."""

from __future__ import annotations

from doctor.text import read

from ...judging import report
from ...rows import for_each
from .texts import assert_not_told, the_only_failure

ID = "host-memory-exhausted"
LIMIT = "cgroup-memory-too-small"


@for_each(
    "text",
    [
        "Out of memory: Killed process 318 (python3) total-vm:50331648kB, anon-rss:32505856kB",
        "[ 1234.567890] Out of memory: Kill process 9 (ray::Worker) score 800 or sacrifice child",
        "Nov 28 02:10:11 n1 kernel: Out of memory: Killed process 4711 (python) total-vm:1kB",
    ],
)
def test_the_kernel_ended_a_program_of_a_full_machine(text: str) -> None:
    assert "ps -eo pid,rss" in the_only_failure(text, ID).fixes[0].note


@for_each(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "Out of memory: killed by hand",
        "Memory cgroup out of memory: Killed process 318 (python3)",
        "bash: line 27:   318 Killed                  python train.py",
        "command terminated with exit code 137",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)


@for_each(
    "text",
    [
        "Memory cgroup out of memory: Killed process 318 (python3)",
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137",
        '"State": {"Status": "exited", "OOMKilled": true, "ExitCode": 137}',
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
    ],
)
def test_the_limit_of_a_container_or_job_was_reached(text: str) -> None:
    (found,) = [f for f in report(read(text)).findings if f.status == "fail"]
    assert found.id == LIMIT


@for_each(
    "text",
    [
        '"State": {"Status": "exited", "OOMKilled": false, "ExitCode": 1}',
        "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
        "exited with code 143",
    ],
)
def test_the_end_of_a_program_that_memory_has_no_part_in(text: str) -> None:
    found = report(read(text))
    assert found.verdict == "unknown" and not {ID, LIMIT} & {*found.possible, *(f.id for f in found.findings)}


@for_each("text", ["bash: line 27:   318 Killed                  python train.py", "Exit Code:    137"])
def test_a_killed_program_points_at_memory_and_at_the_log_that_decides(text: str) -> None:
    found = report(read(text))
    (message,) = found.text.messages if found.text else ()
    assert set(message.causes) == {ID, LIMIT} and found.verdict == "unknown"
