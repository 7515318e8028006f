"""Slow is not broken: a silent child that reads, computes or has no core gets more time; one that stands still hangs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from doctor.patient import library_agent
from doctor.patient.movement import WORDS, Look, look, waited_s, waits
from doctor.targets.agent import AgentResult
from doctor.targets.process import start_agent, wait_agents

from ..rows import for_each
from ..slow_files import SLOW_DISK, read_slowly

BEGIN = 'import os, sys, time\nos.write(1, b\'{"begin": "%s"}\\n\')\n'
SPIN = "while True: pass"
STAND = "time.sleep(600)"
READ = "f = open({fifo!r}, 'rb', 0)\nwhile f.read(65536): pass\nos.write(1, b'{{\"field\": \"import\"}}\\n')"
OVER = "\nos._exit(0)"
BYTES = READ.replace("65536", "1")
POLL = "while True:\n open('/proc/self/stat', 'rb', 0).read(500)\n time.sleep(0.1)"


def run(code: str, step: str, deadline_s: float, patience_s: float, heard: Callable[[str], None]) -> AgentResult:
    agent = start_agent([sys.executable, "-I", "-S", "-c", BEGIN % step + code], deadline_s, patience_s=patience_s)
    agent.on_wait = heard
    return wait_agents(agent)[0]


ROWS = [
    (STAND, "import torch", "hang", ""),
    (READ, "convolution", "slow", "the disk is slow"),  # the first load of cuDNN
    (SPIN, "cuInit", "hang", ""),  # a driver that spins never comes back
    (STAND, "cuInit", "hang", ""),
    (SPIN, "import torch", "slow", "still computing"),
    (READ, "import torch", "slow", "the disk is slow"),
    (POLL, "import torch", "hang", ""),  # a thread of a library that watches over something
    (BYTES, "convolution", "hang", ""),  # a byte of a pipe wakes it now and then
]
NAMES = ("code", "step", "fault", "words")


@for_each(NAMES, ROWS[:2])
def test_a_child_that_stands_still_and_one_that_reads(
    tmp_path: Path, code: str, step: str, fault: str, words: str
) -> None:
    judged(tmp_path, code, step, fault, words)


@pytest.mark.slow
def test_one_that_answers_slowly_does_not_hang() -> None:
    """The call that it is in at the end has not stood still for long, whatever those before it took."""
    answers = 'for n in range(99):\n time.sleep(0.1)\n os.write(1, b\'{"field": 1}\\n{"begin": "cuInit"}\\n\')'
    for patience_s in (0.0, 1.2):
        result = run(answers, "cuInit", 0.8, patience_s, lambda words: None)
        assert (result.fault, result.waits) == ("slow", "it was still answering, slowly")
        assert result.seconds >= max(0.8, patience_s)


def test_the_wait_for_a_core_is_not_its_own_time(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "schedstat").write_text("601393477 5256958000 45\n")
    assert waited_s(7, str(tmp_path)) == pytest.approx(5.256958)
    assert waited_s(8, str(tmp_path)) == 0.0
    (tmp_path / "7" / "schedstat").write_text("")
    assert waited_s(7, str(tmp_path)) == 0.0


@pytest.mark.slow
@for_each(NAMES, ROWS)
def test_what_a_silent_child_does(tmp_path: Path, code: str, step: str, fault: str, words: str) -> None:
    judged(tmp_path, code, step, fault, words)


def judged(tmp_path: Path, code: str, step: str, fault: str, words: str) -> None:
    heard: list[str] = []
    times = (3.0, 5.0) if code == SPIN else (1.0, 1.6) if code == POLL else (0.4, 0.8)  # others want the cores too
    size = SLOW_DISK if code == READ else 1
    with read_slowly(tmp_path / "fifo", 60, size) if "{fifo" in code else nullcontext() as fifo:
        for seconds in (0, 5, 10, 20, 40):  # of a machine that is too busy for it, nothing else can be said
            time.sleep(seconds)
            result = run(code.format(fifo=fifo) if fifo else code, step, *times, heard.append)
            if code != SPIN or result.fault != "starved":
                break
    assert (result.fault, result.guilty, result.returncode) == (fault, step, -9), result.waits
    told = [why for why in heard if why != WORDS["starved"]]  # which a busy machine may say of any child
    assert words in result.waits and bool(told) == (fault == "slow")
    assert bool(result.waits) == (fault == "slow")


@pytest.mark.slow
def test_one_that_reads_slowly_comes_to_its_end(tmp_path: Path) -> None:
    heard: list[str] = []
    with read_slowly(tmp_path / "fifo", 1.2) as fifo:
        result = run(READ.format(fifo=fifo) + OVER, "import torch", 0.4, 60.0, heard.append)
    assert (result.fault, result.returncode) == (None, 0) and result.lines[-1] == {"field": "import"}
    assert result.seconds > 0.4 and set(heard) == {"the disk is slow"}


@pytest.mark.slow
def test_one_that_stands_still_after_it_was_slow_hangs(tmp_path: Path) -> None:
    with read_slowly(tmp_path / "fifo", 0.8) as fifo:
        result = run(READ.format(fifo=fifo) + "\n" + STAND, "import torch", 0.5, 60.0, lambda words: None)
    assert result.fault == "hang" and 0.5 < result.seconds < 30


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="needs a core that others may take wholly")
def test_one_without_a_core_is_not_timed() -> None:
    """It may run only when nobody else wants its core, and somebody always does."""
    core = min(os.sched_getaffinity(0))
    pin = f"import os\nos.sched_setaffinity(0, {{{core}}})\n"
    last = "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n"
    if os.path.exists("/proc/self/autogroup"):  # each session has a share of its own then
        last += "open('/proc/self/autogroup', 'w').write('19')\n"
    others = [start_agent([sys.executable, "-I", "-S", "-c", pin + SPIN], 60.0) for _ in range(3)]
    try:
        result = run(pin + last + SPIN, "cuInit", 1.0, 1.6, lambda words: None)
        assert (result.fault, result.waits) == ("starved", "not enough processor time")
    finally:
        for other in others:
            other.kill()
        wait_agents(*others)


@pytest.mark.slow
def test_a_call_is_as_old_as_it_is_and_not_as_the_reading_of_its_line() -> None:
    """Whoever reads may have no core for as long as the child stands still."""
    patient = os.path.dirname(library_agent.__file__)
    child = f"import sys, time; sys.path.append({patient!r}); from library_agent import Lines\n"
    agent = start_agent(
        [sys.executable, "-I", "-S", "-c", child + "Lines(1).emit(begin='cuInit'); time.sleep(600)"], 4.0
    )
    time.sleep(3.5)
    [result] = wait_agents(agent)
    assert (result.fault, result.guilty, result.lines) == ("hang", "cuInit", [{"begin": "cuInit"}])
    assert result.silent > 2


def test_a_rate_of_reading_is_slow_and_a_little_of_it_is_not() -> None:
    """Some ten seconds of each: (CPU seconds, page-ins, bytes read)."""
    for faults, count, expected in (
        (0, 30_000, ""), (3, 0, ""), (5, 50_000, ""), (0, 100_000, "slow"), (25, 0, "slow"), (1000, 10**7, "slow"),
    ):  # fmt: skip
        readings = [
            Look(float(n), {7: (1.0, 40 + faults * n // 10, 10**6 + count * n // 10)}, False, False) for n in range(11)
        ]
        for step in ("import torch", "cuInit"):
            assert waits(readings, step) == expected, (faults, count, step)


@pytest.mark.parametrize(
    ("share", "ready", "importing", "calling"),
    [
        (0.9, True, "computing", ""),
        (0.25, True, "computing", ""),  # others want its core too
        (0.1, True, "starved", "starved"),
        (0.4, False, "computing", ""),
        (0.25, False, "", ""),  # a thread that polls
    ],
)
def test_a_share_of_a_core(share: float, ready: bool, importing: str, calling: str) -> None:
    readings = [Look(float(n), {7: (share * n, 40, 10**6)}, ready, False) for n in range(9)]
    assert (waits(readings, "import torch"), waits(readings, "cuInit")) == (importing, calling)


def test_a_look_at_a_folder_without_processes_says_that_nothing_moves(tmp_path: Path) -> None:
    seen = look(os.getpid(), 1.0, str(tmp_path / "no-proc"))
    assert (seen.time, seen.counts, seen.ready, seen.blocked) == (1.0, {}, False, False)
    assert waits([seen, look(os.getpid(), 2.0, str(tmp_path))], "import torch") == ""
    assert waits([seen], None) == ""
