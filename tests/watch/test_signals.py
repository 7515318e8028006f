"""Signals: those sent to gpudoctor reach the command, those of the terminal reach it once; the report always comes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..fakes import Machine
from ..rows import for_each
from .run import COMMAND, environment, python, start

HEARS = (
    "import signal, sys, time\n"
    "heard = []\n"
    "def on(number, frame):\n"
    "    heard.append(number)\n"
    "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):\n"
    "    signal.signal(number, on)\n"
    "print('ready', flush=True)\n"
    "while not heard: time.sleep(0.05)\n"
    "time.sleep(0.3)\n"
    "print('heard', *map(int, heard), flush=True)\n"
    "sys.exit(7)\n"
)
"""Says which signals it got, those of 0.3 s after the first included, and exits with 7."""


def wait_for(child: subprocess.Popen[bytes], word: bytes) -> None:
    assert child.stdout is not None
    while (line := child.stdout.readline()) and word not in line:
        continue
    assert line, "it ended before it said so"


@pytest.mark.slow
@for_each("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda n: n.name)
def test_a_signal_sent_to_gpudoctor_reaches_the_command_once(number: signal.Signals) -> None:
    with start("--", *python(HEARS)) as child:
        wait_for(child, b"ready")
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
    assert out.split() == [b"heard", str(int(number)).encode()]
    assert child.returncode == 7
    assert b"exit code 7" in err or b"exit" in err, "the report comes all the same"
    assert b"Traceback" not in err


def test_a_command_that_dies_of_the_signal(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with start("-o", str(report), "--format", "json", "--", "sh", "-c", "echo ready; exec sleep 600") as child:
        wait_for(child, b"ready")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    watch = json.loads(report.read_bytes())["snapshot"]["measured"]["watch"]
    assert watch["signal"] == signal.SIGTERM and watch["exit_code"]["missing"] == "absent"


def test_a_driver_that_needs_longer_than_a_signal_leaves_is_not_said_to_hang(
    on_machine: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    env = on_machine(Machine.load("healthy-h100").with_(call_ms="700"))
    with start("-o", str(report), "--format", "json", "--", "sh", "-c", "echo ready; exec sleep 600", env=env) as child:
        wait_for(child, b"ready")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    found = json.loads(report.read_bytes())
    assert found["snapshot"]["driver"]["nvml_init"]["missing"] == "timeout"
    ids = {one["id"] for one in found["findings"]}
    assert ids and not ids & {"driver-not-answering", "python-does-not-start"}


def test_an_ignored_signal_stays_ignored() -> None:
    caller = "import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    command = ["watch", "--", "sh", "-c", "echo ready; kill -INT $$; read line; echo alive; exit 9"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", caller, COMMAND, *command], stdin=pipe, stdout=pipe, stderr=pipe, env=environment()
    ) as child:
        wait_for(child, b"ready")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(b"go\n", timeout=60)
    assert (out, child.returncode) == (b"alive\n", 9)


def on_a_terminal(words: list[str], key: bytes) -> tuple[int, str]:
    """Run in the foreground of a terminal of its own, press a key when `ready` shows; (exit code, what was shown)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(words[0], words, environment())
    shown = b""
    pressed = False
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other end was closed
            break
        shown += data
        if not pressed and b"ready" in shown:
            pressed = True
            os.write(terminal, key)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "replace")


def test_ctrl_c_on_a_terminal_reaches_the_command_once() -> None:
    code, shown = on_a_terminal([COMMAND, "watch", "--no-color", "--", *python(HEARS)], b"\x03")
    assert re.findall(r"heard ([\d ]+)", shown) == [str(int(signal.SIGINT))]
    assert code == 7
    assert "KeyboardInterrupt" not in shown and "exit" in shown.partition("heard")[2]


def test_ctrl_c_reaches_a_command_that_left_the_terminals_group() -> None:
    left = "import os; os.setpgid(0, 0)\n" + HEARS
    code, shown = on_a_terminal([COMMAND, "watch", "--no-color", "--", *python(left)], b"\x03")
    assert re.findall(r"heard ([\d ]+)", shown) == [str(int(signal.SIGINT))] and code == 7


def has_child(pid: int) -> bool:
    """Whether a process has started one: gpudoctor's sampler, and from then on it is watching."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text("utf-8", "replace").rpartition(")")[2].split()[1] == str(pid):
                return True
    return False


@pytest.mark.slow
@for_each("how", ["ctrl-c", "its end"])
def test_a_running_process_is_watched_and_left_alone(how: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with subprocess.Popen(["sleep", "600"]) as process:
        with start("--pid", str(process.pid), "--format", "json", "-o", str(report), "--interval", "0.1") as child:
            while not has_child(child.pid):
                time.sleep(0.02)
            time.sleep(0.3)
            if how == "ctrl-c":
                child.send_signal(signal.SIGINT)
            else:
                process.kill()
                process.wait(60)
            out, err = child.communicate(timeout=60)
        assert (child.returncode, out, err) == (0, b"", b"")
        assert how != "ctrl-c" or process.poll() is None
        process.kill()
    watch = json.loads(report.read_bytes())["snapshot"]["measured"]["watch"]
    assert (watch["program"], watch["attached"], watch["processes_max"]) == ("sleep", True, 1)
    assert watch["exit_code"]["missing"] == watch["signal"]["missing"] == "absent"


def test_a_process_that_has_ended_is_refused() -> None:
    with subprocess.Popen(["true"]) as process:
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        with start("--pid", str(process.pid)) as child:
            _, err = child.communicate(timeout=60)
    assert child.returncode == 2 and b"has already exited" in err
