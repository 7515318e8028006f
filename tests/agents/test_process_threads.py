"""The runner for systems without poll() on pipes (Windows) works on this one too."""

from __future__ import annotations

import sys

import pytest

from doctor.targets import process_threads

from ..rows import for_each


def run(code: str, deadline_s: float) -> process_threads.AgentResult:
    argv = [sys.executable, "-I", "-S", "-c", "import os, time\ndef say(t): os.write(1, t.encode())\n" + code]
    return process_threads.wait_agents(process_threads.start_agent(argv, deadline_s))[0]


@for_each(
    ("code", "deadline_s", "fault"),
    [
        ("", 20.0, None),
        ("; time.sleep(600)", 0.5, "hang"),
        ("; os.abort()", 20.0, "crash"),
        ("; os._exit(3)", 20.0, "failed"),
    ],
)
def test_what_was_said_is_kept(code: str, deadline_s: float, fault: str | None) -> None:
    result = run("say('{\"a\": 1}\\nnoise\\n')" + code, deadline_s)
    assert (result.lines, result.noise, result.fault) == ([{"a": 1}], ["noise"], fault)


def test_a_grandchild_that_holds_the_pipe_delays_nothing() -> None:
    result = run("pid = os.fork()\nif not pid: time.sleep(5)\nelse: say('{\"a\": 1}\\n')\nos._exit(0)", 4)
    assert (result.lines, result.fault) == ([{"a": 1}], None)


@pytest.mark.slow
def test_too_much_output_is_cut_off() -> None:
    assert run("while True: say('{\"a\": 1}\\n' * 5000)", 60).fault == "failed"


def test_a_command_that_is_not_there_is_a_failure() -> None:
    (result,) = process_threads.wait_agents(process_threads.start_agent(["/nonexistent"], 5))
    assert (result.fault, result.returncode) == ("failed", None)
