"""The tree of processes, read from a /proc made by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.proof.watch_proc import Tree
from doctor.proof.watch_stat import Seen

from ..rows import for_each
from .proc_folder import ProcFolder

SPAWNED = (
    "python3",
    "-c",
    "from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=7)",
    "--multiprocessing-fork",
)


@pytest.fixture
def proc(tmp_path: Path) -> ProcFolder:
    made = ProcFolder(tmp_path / "proc")
    made.put(1, 0, name="init", line=["init"])
    made.put(10, 1)
    return made


def look(tree: Tree, now: float = 0.0) -> dict[int, Seen]:
    return {seen.pid: seen for seen in tree.take_sample(now)}


def test_descendants_and_nobody_else(proc: ProcFolder) -> None:
    for pid, parent in ((11, 10), (12, 11), (13, 12), (20, 1), (21, 20)):
        proc.put(pid, parent)
    (proc.root / "sys").mkdir()
    tree = Tree(10, str(proc.root))
    assert set(look(tree)) == {10, 11, 12, 13}
    proc.put(14, 13)
    proc.put(22, 21)
    proc.end(11)
    assert set(look(tree)) == {10, 12, 13, 14}, "a child stays in the tree when its parent ends"


def test_ourselves_are_left_out_with_our_children(proc: ProcFolder) -> None:
    proc.put(11, 10)
    proc.put(12, 11)
    assert set(look(Tree(10, str(proc.root), without=[11]))) == {10}


def test_a_number_given_again_to_a_stranger_is_not_ours(proc: ProcFolder) -> None:
    proc.put(11, 10)
    tree = Tree(10, str(proc.root))
    look(tree)
    proc.put(11, 1, start=500)
    assert set(look(tree)) == {10}


def test_a_name_with_brackets_and_blanks(proc: ProcFolder) -> None:
    proc.put(11, 10, 250, name="a) S 1 (b c")
    seen = look(Tree(10, str(proc.root)))[11]
    assert (seen.name, seen.parent) == ("a) S 1 (b c", 10)
    assert seen.cpu_s == pytest.approx(250 / os.sysconf("SC_CLK_TCK"))


def test_threads_are_read_where_somebody_worked(proc: ProcFolder) -> None:
    proc.put(10, 1, 100, threads={10: 20, 11: 80})
    tree = Tree(10, str(proc.root))
    first = look(tree, 1.0)[10].threads
    assert first is not None and {thread.tid for thread in first} == {10, 11}
    assert look(tree, 2.0)[10].threads is None, "nothing was used since"
    proc.put(10, 1, 160, threads={10: 20, 11: 140})
    again = look(tree, 3.0)[10].threads
    assert again is not None and max(thread.cpu_s for thread in again) == pytest.approx(140 / os.sysconf("SC_CLK_TCK"))


@pytest.mark.parametrize(
    ("name", "line", "worker"),
    [
        ("python3", ("python3", "train.py"), 1),
        ("pt_data_worker", ("other",), 1),
        ("python3", SPAWNED, 1),
        ("python3", ("python3", "-c", "from multiprocessing.resource_tracker import main; main(5)"), 0),
        ("python3", ("python3", "other.py"), 0),
        ("nvidia-smi", ("nvidia-smi",), 0),
    ],
    ids=["forked", "named by torch", "spawned", "resource tracker", "another program", "a tool"],
)
def test_workers_of_a_data_loader(proc: ProcFolder, name: str, line: tuple[str, ...], worker: int) -> None:
    proc.put(11, 10, name=name, line=line)
    tree = Tree(10, str(proc.root))
    look(tree)
    seen = look(tree)
    assert (seen[10].worker, seen[11].worker) == (0, worker)


def test_between_fork_and_exec_a_child_is_no_worker_for_long(proc: ProcFolder) -> None:
    proc.put(11, 10)
    tree = Tree(10, str(proc.root))
    look(tree)
    proc.put(11, 10, name="ffmpeg", line=["ffmpeg", "-i", "x"])
    assert look(tree)[11].worker == 0


def test_a_workers_child_works_for_it(proc: ProcFolder) -> None:
    proc.put(11, 10, line=SPAWNED)
    proc.put(12, 11, name="ffmpeg", line=["ffmpeg"])
    assert look(Tree(10, str(proc.root)))[12].worker == 2


@pytest.mark.parametrize(
    ("first", "python"),
    [("/opt/venv/bin/python3.11", True), ("python", True), ("/usr/bin/pypy3", True), ("bash", False)],
)
def test_which_processes_are_python(proc: ProcFolder, first: str, python: bool) -> None:
    proc.put(10, 1, name="main", line=[first, "x.py"])
    seen = look(Tree(10, str(proc.root)))[10]
    assert (seen.python, seen.path) == (python, first if python else "")


NVML_ONLY = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/null"]
CONTEXT = ["/dev/nvidiactl", "/dev/nvidia-uvm", *["/dev/nvidia1"] * 9, "/dev/nvidia0", "socket:[1]"]


def test_who_holds_which_gpu_open(proc: ProcFolder) -> None:
    proc.put(11, 10, line=["python3", "monitor.py"], files=NVML_ONLY)
    proc.put(12, 10, line=["python3", "rank.py"], files=CONTEXT)
    proc.put(13, 12, line=["python3", "rank.py"], files=CONTEXT)
    proc.put(14, 10, line=["wsl"], files=["/dev/dxg"])
    tree = Tree(10, str(proc.root))
    look(tree)
    held = tree.held()
    assert held.by_pid == {12: (1,), 14: (-1,)}, "a monitor has no context, a forked worker has its parent's files"
    assert not held.denied


def test_all_gpus_opened_alike_are_all_held(proc: ProcFolder) -> None:
    proc.put(10, 1, files=["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1"])
    tree = Tree(10, str(proc.root))
    look(tree)
    assert tree.held().by_pid == {10: (0, 1)}


def test_cuda_libraries_by_base_name(proc: ProcFolder) -> None:
    names = ["/usr/lib/libcuda.so.580.82.07", "/v/nvidia/cublas/lib/libcublasLt.so.12", "/v/torch/lib/libtorch_cuda.so",
             "/v/torch/lib/libtorch_cpu.so", "/usr/lib/libc.so.6", "/v/libcudart-9335f6a2.so.12", "/v/libnotcuda.so"]  # fmt: skip
    proc.put(10, 1, maps="".join(f"7f00-7f01 r-xp 00000000 08:01 12 {name}\n" for name in names))
    tree = Tree(10, str(proc.root))
    look(tree)
    assert tree.libraries() == (
        {"libcuda.so.580.82.07", "libcublasLt.so.12", "libtorch_cuda.so", "libcudart-9335f6a2.so.12"},
        True,
    )


@for_each(
    ("told", "ranks"),
    [
        (("WORLD_SIZE=8", ""), 8),
        (("", "WORLD_SIZE=2"), 2),
        (("OMPI_COMM_WORLD_SIZE=16", "WORLD_SIZE=8"), 16),
        (("PMI_SIZE=4", ""), 4),
        (("WORLD_SIZE=", "MY_WORLD_SIZE=3"), None),
        (("WORLD_SIZE=eight", "WORLD_SIZE=-1"), None),
        (("", ""), None),
    ],
)
def test_how_many_ranks_a_launcher_told_of(proc: ProcFolder, told: tuple[str, str], ranks: int | None) -> None:
    for pid, parent, variable in ((10, 1, told[0]), (11, 10, told[1])):
        proc.put(pid, parent)
        (proc.root / str(pid) / "environ").write_bytes(b"HOME=/root\0" + variable.encode() + b"\0LANG=C\0")
    tree = Tree(10, str(proc.root))
    look(tree)
    assert tree.world_size() == ranks


def test_a_stat_that_is_none_is_no_process(proc: ProcFolder) -> None:
    for pid, text in ((11, ""), (12, "12 (x"), (13, "13 (x) S 10 1"), (14, "x (y) S 10 " + "1 " * 40)):
        (proc.root / str(pid)).mkdir()
        (proc.root / str(pid) / "stat").write_text(text)
    assert set(look(Tree(10, str(proc.root)))) == {10}


def test_a_dead_process_is_empty(tmp_path: Path) -> None:
    tree = Tree(10, str(tmp_path / "nothing"))
    assert tree.take_sample(0.0) == [] and tree.libraries() == (set(), False)
