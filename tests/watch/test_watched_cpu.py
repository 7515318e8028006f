"""What is measured of real processes, held against what they measured of themselves."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from ..rows import for_each
from .run import measured, python

BUSY = (
    "import time\n"
    "began = time.monotonic()\n"
    "while time.monotonic() < began + 1.8: sum(range(10000))\n"
    "print(time.process_time() / (time.monotonic() - began))\n"
)
WORKERS = (
    "import multiprocessing, os, time\n"
    "def work(queue):\n"
    "    end = time.monotonic() + 1.8\n"
    "    while time.monotonic() < end: sum(range(10000))\n"
    "    queue.put(time.process_time())\n"
    "if __name__ == '__main__':\n"
    "    context = multiprocessing.get_context('fork')\n"
    "    queue = context.Queue()\n"
    "    workers = [context.Process(target=work, args=(queue,)) for _ in range(2)]\n"
    "    began = time.monotonic()\n"
    "    for worker in workers: worker.start()\n"
    "    used = sum(queue.get() for _ in workers)\n"
    "    for worker in workers: worker.join()\n"
    "    print(used / (time.monotonic() - began))\n"
)


@pytest.mark.slow
def test_a_busy_loop_on_one_thread(tmp_path: Path) -> None:
    facts, said, _ = measured(tmp_path, [], python(BUSY))
    watch, share = facts["watch"], float(said)
    assert abs(watch["cpu_cores"] - share) < 0.3
    assert abs(watch["busiest_thread"] - share) < 0.3
    assert abs(watch["main_cores"] - share) < 0.3
    assert watch["busiest_thread_name"].startswith("main thread of ")
    assert (watch["processes_max"], watch["threads_max"], watch["workers"]) == (1, 1, 0)
    assert watch["seconds"] >= 1.8 and 0 < watch["sampler_cpu_s"] < 1.8


def test_a_sleeping_program(tmp_path: Path) -> None:
    facts, _, _ = measured(tmp_path, [], ["sleep", "1"])
    watch = facts["watch"]
    assert watch["cpu_cores"] < 0.1 and watch["busiest_thread"] < 0.1
    assert watch["busiest_thread_saturated_percent"] == 0.0


@pytest.mark.slow
def test_two_busy_workers(tmp_path: Path) -> None:
    facts, said, _ = measured(tmp_path, [], python(WORKERS))
    watch, share = facts["watch"], float(said)
    assert watch["workers"] == 2 and watch["processes_max"] == 3
    assert abs(watch["workers_cores"] - share) < 0.35
    assert abs(watch["cpu_cores"] - share) < 0.35
    assert watch["main_cores"] < 0.3, "the main process waits"


def near(cores: float, said: float) -> bool:
    """On a busy machine the watched window and the program's own differ; nothing at all is far from it."""
    return 0.5 * said <= cores <= said + 0.3


@pytest.mark.slow
def test_a_tree_under_a_shell(tmp_path: Path) -> None:
    code = f"{shlex.join(python(BUSY))}; true"
    facts, said, _ = measured(tmp_path, [], ["sh", "-c", code])
    watch = facts["watch"]
    assert watch["program"] == "sh" and watch["processes_max"] == 2
    assert near(watch["main_cores"], float(said)), "the Python is what matters, not the shell"


@pytest.mark.slow
def test_a_busy_thread_that_is_not_the_main_one(tmp_path: Path) -> None:
    code = "import threading\n" + "def work():\n" + "".join(f"    {line}\n" for line in BUSY.splitlines())
    facts, said, _ = measured(tmp_path, ["--interval", "0.1"], python(code + "threading.Thread(target=work).start()\n"))
    watch = facts["watch"]
    assert watch["threads_max"] == 2
    assert near(watch["busiest_thread"], float(said))
    assert not watch["busiest_thread_name"].startswith("main thread")


@pytest.mark.slow
def test_two_that_share_one_core_wait_for_it(tmp_path: Path) -> None:
    two = "import os, time\nend = time.monotonic() + 2\npid = os.fork()\nwhile time.monotonic() < end: sum(range(10000))\n"
    one = min(os.sched_getaffinity(0))
    facts, _, _ = measured(tmp_path, [], ["taskset", "-c", str(one), *python(two + "if pid: os.wait()")])
    watch = facts["watch"]
    assert watch["cores"] <= 1.0 and watch["cpu_cores"] < 1.2
    if Path("/proc/self/schedstat").exists():
        assert watch["core_wait_percent"] > 20


@pytest.mark.slow
@for_each(("variables", "ranks"), [({"WORLD_SIZE": "8"}, 8), ({}, None)])
def test_the_ranks_of_its_job(tmp_path: Path, variables: dict[str, str], ranks: int | None) -> None:
    """Told to a child, as torchrun tells its workers; not to what is watched itself."""
    words = [f"{name}={value}" for name, value in variables.items()]
    bare = {name: value for name, value in os.environ.items() if name != "WORLD_SIZE"}
    facts, _, _ = measured(tmp_path, [], ["sh", "-c", shlex.join(["env", *words, "sleep", "1"]) + "; true"], bare)
    found = facts["watch"]["world_size"]
    assert found == ranks if ranks else found["missing"] == "absent"


def test_a_command_that_is_over_at_once(tmp_path: Path) -> None:
    facts, _, code = measured(tmp_path, [], ["true"])
    watch = facts["watch"]
    assert code == 0 and watch["exit_code"] == 0
    assert watch["busiest_thread"]["missing"] == "absent", "nobody looked while it ran"
    assert watch["libraries"]["missing"] == "absent"
