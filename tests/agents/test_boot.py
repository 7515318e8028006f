"""What a child does first: it ends with its parent or by its alarm, and imports nothing from the user's folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from doctor.targets.agent import AgentResult
from doctor.targets.deadlines import stuck
from doctor.targets.process import agent_argv, script_argv, start_agent, wait_agents

from ..reaction import too_slow
from ..rows import for_each

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lifeline is Linux's")
_ROOT = Path(__file__).parents[2]
_AGENT = """
import ctypes, json, os, sys, time
def main(arguments=()):
    print(json.dumps({"pid": os.getpid(), "cwd": os.getcwd(), "path": sys.path, "stdin": sys.stdin.read()}), flush=True)
    if "hang" in sys.argv:
        ctypes.PyDLL(None).sleep(600)  # a call that holds the interpreter's lock, as a driver's can
    time.sleep(0.5)
    print(json.dumps({"end": True}), flush=True)
if __name__ == "__main__":
    main()
"""


def pythons() -> list[str]:
    """Interpreters of other versions that are here: the oldest and the newest that patients have."""
    found = [shutil.which(f"python3.{minor}") for minor in (8, 12)]
    roots = [Path(path).resolve() for path in found if path]
    return [
        sys.executable,
        *(str(p) for p in roots if subprocess.run([p, "-c", ""], capture_output=True).returncode == 0),
    ]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Whether it ends in time: a child that is not ended sleeps ten minutes."""
    return not too_slow(lambda: {"child": [pid] if alive(pid) else []})


@for_each("own", [True, False], ids=["own", "patient"])
def test_a_child_in_a_call_that_never_returns_ends_with_its_parent(tmp_path: Path, own: bool) -> None:
    """The parent is killed with SIGKILL; the child holds the interpreter's lock in C."""
    agent = tmp_path / "hung.py"
    agent.write_text(_AGENT)
    which = f"agent_argv({str(agent)!r}, 'hang')" if own else f"script_argv(sys.executable, {str(agent)!r}, 'hang')"
    parent = (
        "import sys\nfrom doctor.targets.process import agent_argv, script_argv, start_agent, wait_agents\n"
        f"wait_agents(start_agent({which}, 60, None, lambda line: print(line['pid'], flush=True)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, cwd=_ROOT) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        time.sleep(0.2)
        assert alive(pid)
        running.kill()
    assert gone(pid)


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """A death signal of the kernel (prctl) would end it with that thread."""
    agent = tmp_path / "short.py"
    agent.write_text(_AGENT)
    started = []
    thread = threading.Thread(target=lambda: started.append(start_agent(script_argv(sys.executable, str(agent)), 30)))
    thread.start()
    thread.join()
    (result,) = wait_agents(started[0])
    assert result.fault is None and result.lines[-1] == {"end": True}


def test_the_alarm_ends_a_child_that_nobody_ends(tmp_path: Path) -> None:
    agent = tmp_path / "hung.py"
    agent.write_text(_AGENT)
    env = {**os.environ, "GPUDOCTOR_ALARM_S": "1"}
    done = subprocess.run(
        agent_argv(str(agent), "hang"), env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert done.returncode == -signal.SIGALRM


@pytest.mark.slow
def test_nothing_is_imported_from_the_users_folder(tmp_path: Path) -> None:
    """By Pythons of 3.8 to 3.12, for both ways to start; relative entries of PYTHONPATH still count."""
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    for name in ("json", "ctypes", "agent_boot", "sitecustomize", "usercustomize", "encodings", "hung"):
        (work / f"{name}.py").write_text("raise SystemExit('imported from the working directory')\n")
    (work / "src" / "of_mine.py").write_text("")
    agent = tmp_path / "hung.py"
    agent.write_text(_AGENT)
    faults = []
    for python in pythons():
        for argv in (agent_argv(str(agent), python=python), script_argv(python, str(agent))):
            env = {**os.environ, "PYTHONPATH": ":.:src", "LD_LIBRARY_PATH": ":lib:/usr/lib"}
            child = start_agent(argv, 30, env, cwd=str(work))
            (result,) = wait_agents(child)
            if not result.lines or result.fault:
                faults.append((python, argv, result, result.stderr_tail))
                continue
            line = result.lines[0]
            assert line["stdin"] == "" and os.listdir(line["cwd"]) == ["uv.toml"], line
            assert str(work) not in line["path"] and not {"", "."} & set(line["path"]), line
            assert (str(work / "src") in line["path"]) == ("-I" not in argv), line
    assert not faults


def test_a_child_that_nothing_ends_is_told_with_its_kernel_function(tmp_path: Path) -> None:
    """State D cannot be made here at will: the reader gets files as /proc has them, the report a recorded end."""
    proc = tmp_path / "4711"
    proc.mkdir()
    (proc / "stat").write_text("4711 (python3 (x) D) D 1 4711 4711 0 -1\n")
    (proc / "wchan").write_text("_nv045384rm")
    assert stuck(4711, str(tmp_path)) == "_nv045384rm"
    (proc / "wchan").write_text("0")
    assert stuck(4711, str(tmp_path)) == ""
    (proc / "stat").write_text("4711 (python3) S 1 4711 4711 0 -1\n")
    assert stuck(4711, str(tmp_path)) is None and stuck(1, str(tmp_path)) is None
    result = AgentResult(fault="hang", guilty="cuInit", stuck={"pid": 4711, "wchan": "f"}, lines=[{"begin": "cuInit"}])
    assert json.loads(json.dumps(AgentResult(**result.as_dict()).as_dict()))["stuck"] == {"pid": 4711, "wchan": "f"}
