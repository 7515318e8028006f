"""The columns of /proc/PID/stat, read of a real child that knows its own figures; and one that is in state D."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doctor.patient.movement import Look, look, moves, waits
from doctor.proof.watch_proc import Tree
from doctor.proof.watch_stat import read_stat
from doctor.proof.watch_tree import TreeSum

from ..rows import for_each

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
CHILD = """
import json, mmap, os, resource, sys, threading, time
def busy(user, system):
    while os.times().user < user: sum(range(9999))
    zero = open("/dev/zero", "rb", 0)
    while os.times().system < system: zero.read(1 << 20)
if not os.fork():
    busy(0.25, 0.15)
    os._exit(0)
os.wait()
os.setsid()
if not os.fork():
    time.sleep(60)  # in its session
    os._exit(0)
for n in range(2):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
busy(0.12, 0.2)
open("/proc/self/comm", "w").write("a) b (c")
with open(sys.argv[1], "rb", 0) as file:
    while file.read(1 << 16): pass
used, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"own": used.ru_utime + used.ru_stime, "reaped": children.ru_utime + children.ru_stime,
                  "faults": used.ru_majflt, "now": time.clock_gettime(time.CLOCK_BOOTTIME)}), flush=True)
sys.stdin.read()
"""
BLOCKED = """
#include <unistd.h>
/* The kernel lets who calls vfork wait in state D until the child has gone. */
int main(void) { if (vfork() == 0) { pause(); _exit(0); } return 0; }
"""


@contextmanager
def running(*argv: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            for pid in (*(one.pid for one in Tree(child.pid).take_sample(0.0) if one.pid != child.pid), child.pid):
                os.kill(pid, 9)


def states(pid: int, wanted: str) -> None:
    """Wait until the process is in this state; a kernel that does not show it has nothing to test here."""
    shown = False
    for _ in range(100_000):
        stat = read_stat("/proc", f"{pid}/stat")
        if stat is not None and stat.state == wanted:
            return
        shown = shown or f") {wanted} " in Path(f"/proc/{pid}/stat").read_text("utf-8")
    assert not shown, "the kernel shows the state, and the reader does not"
    pytest.skip(f"no process gets into state {wanted} here")


@pytest.fixture
def blocked(tmp_path: Path) -> Iterator[int]:
    """The number of a process in uninterruptible sleep."""
    (tmp_path / "blocked.c").write_text(BLOCKED)
    subprocess.run(["gcc", "-o", "blocked", "blocked.c"], cwd=tmp_path, check=True)
    with running(str(tmp_path / "blocked")) as child:
        states(child.pid, "D")
        yield child.pid


def test_each_column_is_what_the_process_says_of_itself(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 3_000_000)
    with running(sys.executable, "-I", "-S", "-c", CHILD, str(tmp_path / "data")) as child:
        assert child.stdout is not None
        own: dict[str, Any] = json.loads(child.stdout.readline())
        states(child.pid, "S")
        seen = read_stat("/proc", f"{child.pid}/stat")
        assert seen is not None
        assert (seen.pid, seen.parent, seen.name, seen.thread_count) == (child.pid, os.getpid(), "a) b (c", 3)
        few = 3 * TICK_S  # two numbers that are cut off to ticks, and its last line
        assert abs(seen.cpu_s - own["own"]) <= few < 0.3 < own["own"]
        assert abs(seen.reaped_s - own["reaped"]) <= few < 0.3 < own["reaped"]
        assert own["now"] - 60 < seen.start * TICK_S <= own["now"] - own["own"] + few
        (threads,) = (one.threads for one in Tree(child.pid).take_sample(0.0) if one.pid == child.pid)
        assert threads is not None and len({one.tid for one in threads}) == 3
        assert sorted(one.cpu_s > 0.2 for one in threads) == [False, False, True]

        now = look(child.pid, 5.0)
        assert now.time == 5.0 and len(now.counts) == 2 and not now.ready and not now.blocked
        cpu_s, faults, count = now.counts[child.pid]
        assert abs(cpu_s - own["own"]) <= few and own["faults"] <= faults <= own["faults"] + 9
        assert count >= 3_000_000 + 100 * (1 << 20), "what it read of a file and of /dev/zero"
        other = next(counts for pid, counts in now.counts.items() if pid != child.pid)
        assert other[0] < 0.2, "another process of its session"


def test_a_process_in_state_d_counts_as_blocked(blocked: int) -> None:
    assert look(blocked, 0.0).blocked
    assert moves(blocked, "import torch") == "slow"
    assert moves(blocked, "cuInit") == ""
    sums, tree = TreeSum(0.0), Tree(blocked)
    for number in range(1, 4):
        sums.take(float(number), tree.take_sample(float(number)))
    main = sums.main()
    assert main is not None and (main.blocked_s, main.observed_s) == (3.0, 3.0)


@for_each(
    ("blocked", "step", "found"),
    [
        ("DDDD", "import torch", "slow"),
        ("DDDD", None, "slow"),
        ("DDDD", "cuInit", ""),  # a call of the driver that waits in the kernel hangs
        ("DDSD", "import torch", ""),
        ("SSSS", "import torch", ""),
    ],
)
def test_a_child_that_is_always_blocked_waits_for_its_disk(blocked: str, step: str | None, found: str) -> None:
    readings = [Look(float(n), {7: (1.0, 40, 10**6)}, False, state == "D") for n, state in enumerate(blocked)]
    assert waits(readings, step) == found


@for_each(
    ("threads", "ready", "blocked"),
    [
        ("S", False, False),
        ("R", True, False),
        ("SR", True, False),
        ("SD", False, True),
        ("DR", True, True),
        ("Z", False, False),
    ],
)
def test_any_thread_of_its_session_makes_it_ready_or_blocked(
    tmp_path: Path, threads: str, ready: bool, blocked: bool
) -> None:
    """The child 70 leads the session; 71 is of it, 72 of another, which is always both."""
    for pid, session, kinds in ((70, 70, "S"), (71, 70, threads), (72, 72, "RD")):
        for number, state in enumerate(kinds):
            task = tmp_path / str(pid) / "task" / str(pid + number)
            task.mkdir(parents=True)
            text = f"{pid} (x y) {state} 1 {pid} {session} 0 -1 0 5 0 9 0 {100 * pid} 50 7 7 20 0 1 0 99 0 0\n"
            (task / "stat").write_text(text)
            (tmp_path / str(pid) / "stat").write_text(text)
        (tmp_path / str(pid) / "io").write_text(f"rchar: {pid}000\nwchar: 5\nread_bytes: 11\n")
    found = look(70, 3.0, str(tmp_path))
    assert found.counts == {pid: (pytest.approx((100 * pid + 50) * TICK_S), 9, pid * 1000 + 11) for pid in (70, 71)}
    assert (found.ready, found.blocked) == (ready, blocked)
