"""The child runner: whatever a child does, what it wrote is kept and the caller goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.targets.agent import AgentResult
from doctor.targets.process import agent_argv, start_agent, wait_agents

from ..rows import for_each
from .run import run_agent


def python(code: str) -> list[str]:
    return [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import os, sys, time, signal\ndef say(t): os.write(1, t.encode())\n" + code,
    ]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_lines_in_order_and_no_fault() -> None:
    result = run_agent(python('say(\'{"a": 1}\\n{"b": 2}\\n\')'), 20)
    assert result.lines == [{"a": 1}, {"b": 2}]
    assert (result.returncode, result.fault, result.guilty, result.noise) == (0, None, None, [])


def test_a_hang_keeps_what_was_said_and_names_the_call() -> None:
    result = run_agent(python('say(\'{"a": 1}\\n{"begin": "cuInit"}\\n\'); time.sleep(600)'), 0.5)
    assert result.lines[0] == {"a": 1}
    assert (result.fault, result.guilty) == ("hang", "cuInit")
    assert 0 < result.silent <= result.seconds


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    result = run_agent(
        python("signal.signal(signal.SIGTERM, signal.SIG_IGN); say('{\"a\": 1}\\n'); time.sleep(600)"), 0.5
    )
    assert (result.fault, result.returncode) == ("hang", -signal.SIGKILL)


@for_each("how", ["os.kill(os.getpid(), signal.SIGSEGV)", "os.abort()"])
def test_a_crash_names_the_call(how: str) -> None:
    result = run_agent(python('say(\'{"begin": "nvmlInit"}\\n\'); ' + how), 20)
    assert (result.fault, result.guilty) == ("crash", "nvmlInit")
    assert result.returncode is not None and result.returncode < 0


def test_an_exit_inside_a_call_is_a_failure_even_with_code_zero() -> None:
    result = run_agent(python('say(\'{"begin": "x"}\\n\'); os._exit(0)'), 20)
    assert (result.fault, result.guilty, result.returncode) == ("failed", "x", 0)


def test_a_traceback_is_a_failure_with_its_last_words() -> None:
    result = run_agent(python("raise ValueError('the reason')"), 20)
    assert (result.fault, result.returncode, result.guilty) == ("failed", 1, None)
    assert "the reason" in result.stderr_tail


def test_malformed_lines_are_kept_apart() -> None:
    result = run_agent(python('say(\'hello\\n{"a": 1}\\n[1]\\n{"cut": \')'), 20)
    assert result.lines == [{"a": 1}]
    assert result.noise == ["hello", "[1]", '{"cut": ']
    assert result.fault is None


def test_deep_nesting_is_noise() -> None:
    result = run_agent(python("say('[' * 200000 + '\\n{\"a\": 1}\\n')"), 20)
    assert result.lines == [{"a": 1}]


def test_a_grandchild_that_holds_the_pipe_delays_nothing_and_is_killed() -> None:
    code = "pid = os.fork()\nif not pid: time.sleep(600)\nsay('{\"pid\": %d}\\n' % pid)\nos._exit(0)"
    result = run_agent(python(code), 60)
    assert result.fault is None
    grandchild = result.lines[0]["pid"]
    for _ in range(200):
        if not alive(grandchild):
            break
        signal.sigtimedwait([], 0.02)
    assert not alive(grandchild)


@pytest.mark.slow
def test_too_much_output_is_cut_off() -> None:
    result = run_agent(python("while True: say('{\"a\": 1}\\n' * 5000)"), 60)
    assert result.fault == "failed"
    assert "8 MiB" in result.stderr_tail


def test_a_command_that_is_not_there_is_a_failure() -> None:
    for argv in (["/nonexistent/python"], ["gpudoctor-has-no-such-command"], [sys.executable + "\0"]):
        result = run_agent(argv, 5)
        assert (result.fault, result.returncode) == ("failed", None)
        assert result.stderr_tail


def test_several_side_by_side_each_to_its_deadline() -> None:
    slow = start_agent(python('say(\'{"begin": "slow"}\\n\'); time.sleep(600)'), 1.0)
    quick = start_agent(python("say('{\"a\": 1}\\n')"), 20)
    absent = start_agent(["/nonexistent"], 20)
    results = wait_agents(slow, quick, absent)
    assert [r.fault for r in results] == ["hang", None, "failed"]
    assert results[1].lines == [{"a": 1}]


def test_the_environment_and_the_folder_are_as_told(tmp_path: Path) -> None:
    code = "import json; say(json.dumps({'x': os.environ.get('X'), 'cwd': os.getcwd()}) + '\\n')"
    result = run_agent(python(code), 20, env={"X": "1"}, cwd=str(tmp_path))
    assert result.lines == [{"x": "1", "cwd": os.path.realpath(tmp_path)}]
    assert run_agent(python(code), 20, env={"X": "2"}).lines[0]["x"] == "2"


def test_lines_are_seen_as_they_come() -> None:
    seen: list[object] = []
    result = run_agent(python("say('{\"a\": 1}\\n'); time.sleep(600)"), 1.0, on_line=seen.append)
    assert seen == [{"a": 1}] and result.fault == "hang"


def test_an_interrupt_kills_the_child() -> None:
    pids: list[int] = []

    def interrupt(line: dict[str, int]) -> None:
        pids.append(line["pid"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_agent(python("say('{\"pid\": %d}\\n' % os.getpid()); time.sleep(600)"), 60, on_line=interrupt)
    with pytest.raises(ProcessLookupError):  # ended and reaped
        os.kill(pids[0], 0)


def test_a_result_survives_being_recorded() -> None:
    result = run_agent(python('say(\'{"begin": "x"}\\n\'); os.abort()'), 20)
    assert AgentResult(**result.as_dict()).as_dict() == result.as_dict()


def test_agents_run_isolated(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(
        "import json, os, sys\ndef main(a): os.write(1, json.dumps({'a': a, 'flags': [sys.flags.isolated, sys.flags.no_site]}).encode())\n"
    )
    (tmp_path / "json.py").write_text(
        "raise SystemExit('a file beside the agent must not shadow the standard library')\n"
    )
    result = run_agent(agent_argv(str(tmp_path / "probe.py"), "one"), 20)
    assert result.lines == [{"a": ["one"], "flags": [1, 1]}]


_LIKE_MACOS = "import os; [delattr(os, n) for n in ('waitid', 'WNOWAIT', 'P_PID', 'pidfd_open') if hasattr(os, n)];"


def test_a_system_without_waitid() -> None:
    """macOS before Python 3.13: the children's answers, exit codes and deadlines are the same."""
    command = [sys.executable, "-c", f"{_LIKE_MACOS}from doctor.__main__ import main; main()", "check", "--format=json"]
    done = subprocess.run([*command, "--expect=any"], capture_output=True, timeout=120, check=False)
    assert done.returncode in (0, 1, 3) and not done.stderr, done
    assert json.loads(done.stdout)["verdict"]

    code = (
        f"{_LIKE_MACOS}import json, sys\n"
        "from doctor.targets.process import start_agent, wait_agents\n"
        "def one(text, s): return start_agent([sys.executable, '-I', '-S', '-c', 'import os, time; ' + text], s)\n"
        "told = wait_agents(one('print(1)', 60), one('os._exit(7)', 60), one('os.abort()', 60),\n"
        "                   one('time.sleep(600)', 0.5), one('os.fork() or time.sleep(600); os._exit(0)', 60))\n"
        "print(json.dumps([[r.returncode, r.fault] for r in told]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=True)
    expected = [[0, None], [7, "failed"], [-signal.SIGABRT, "crash"], [-signal.SIGKILL, "hang"], [0, None]]
    assert json.loads(done.stdout) == expected


def test_an_interrupt_that_an_import_swallowed_is_heard_before_a_wait() -> None:
    """C code that imports may clear KeyboardInterrupt: whoever waits for a child next raises it again."""
    code = """
import os, signal, sys
from doctor.targets.interrupts import listen
from doctor.targets.process import start_agent, wait_agents
listen()
try:
    os.kill(os.getpid(), signal.SIGINT)
    [].sort()
except KeyboardInterrupt:
    pass
try:
    wait_agents(start_agent([sys.executable, "-c", "import time; time.sleep(60)"], 60))
except KeyboardInterrupt:
    print("heard")
print(len(wait_agents(start_agent([sys.executable, "-c", "print('{}')"], 60))[0].lines))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "heard\n1\n", done
