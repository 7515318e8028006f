"""healthcheck: 0 or 1, one line of at most 80 ASCII characters, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli import run
from doctor.snapshot import Missing, Snapshot

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import for_each
from .command import gpudoctor, one_line, save


def answer(snapshot: Snapshot, folder: Path, *flags: str) -> tuple[int, str]:
    """Exit code and line."""
    done = gpudoctor("healthcheck", "--from", save(folder, snapshot), *flags)
    assert done.stderr == b""
    text = done.stdout.decode("ascii")
    assert text.endswith("\n") and text.count("\n") == 1
    assert 2 < len(text.rstrip("\n")) <= 80
    return done.returncode, text.rstrip("\n")


def test_a_healthy_machine(tmp_path: Path) -> None:
    assert answer(healthy(), tmp_path) == (0, "OK 1x NVIDIA H100 80GB HBM3, driver 580.82.07, torch 2.8.0+cu128")


def test_a_machine_without_gpu(tmp_path: Path) -> None:
    sick = without_gpu(healthy())
    assert answer(sick, tmp_path) == (1, "FAIL no-nvidia-gpu: This machine has no NVIDIA GPU")
    assert answer(sick, tmp_path, "--expect", "any")[0] == 0
    assert answer(sick, tmp_path, "--skip", "no-nvidia-gpu")[1].startswith("OK")


def test_unknown_is_0_and_strict_makes_it_1(tmp_path: Path) -> None:
    half = healthy().replace({"driver.cu_init": Missing("timeout")})
    code, text = answer(half, tmp_path)
    assert code == 0 and text.startswith("UNKNOWN ")
    assert answer(half, tmp_path, "--strict") == (1, text)


_WAITS_FOR_THE_ALARM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

ssize_t read(int number, void *to, size_t size) {
    static int before;
    struct itimerval left;
    if (!number && !before++)
        do
            getitimer(ITIMER_REAL, &left);
        while (left.it_value.tv_sec || left.it_value.tv_usec > 200000);
    if (!number && before == 1) {
        sigset_t none;
        sigemptyset(&none);
        sigsuspend(&none);
    }
    return syscall(SYS_read, number, to, size);
}
"""


def test_the_alarm_ends_a_read_that_begins_right_after_it(tmp_path: Path) -> None:
    """Python's handler of a signal that comes between two of its steps waits for the next step, here a read for ever."""
    (tmp_path / "late.c").write_text(_WAITS_FOR_THE_ALARM)
    shim = tmp_path / "late.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, tmp_path / "late.c"], check=True)
    words = [sys.executable, "-m", "gpudoctor", "healthcheck", "--timeout", "2", "--from", "-"]
    env = {**os.environ, "LD_PRELOAD": str(shim)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as late:
        assert late.stdout is not None
        assert late.stdout.read().startswith(b"UNKNOWN no answer within 2 s")
        assert late.wait() == 0


_NO_IMPORT = """
import sys
from doctor.guard import last_answer
answer = last_answer(sys.argv[1:])
sys.meta_path.clear()
there = set(sys.modules)
code = answer("no answer within 1 s")
assert set(sys.modules) == there, set(sys.modules) - there
sys.exit(code)
"""


def test_the_last_answer_imports_nothing(tmp_path: Path) -> None:
    """The alarm may come in the middle of any import."""
    out = tmp_path / "out"
    for form in ([], ["-f", "line"], ["-f", "prometheus"], ["--format=node-problem-detector"]):
        for to in ([], ["-o", str(out)], [f"--output={out}"], ["-o", "/dev/stderr"]):
            out.write_text("")
            words = [sys.executable, "-c", _NO_IMPORT, "healthcheck", *form, *to]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            said = [done.stdout, done.stderr, out.read_text()]
            assert done.returncode == (2 if "node" in str(form) else 0), done
            assert "UNKNOWN no answer within 1 s" in said.pop(0 if not to else 1 if to[-1] == "/dev/stderr" else 2)
            assert said == ["", ""]


@pytest.mark.slow
@for_each("form", ["line", "prometheus"])
def test_the_time_may_be_over_in_any_moment_of_the_start(form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for seconds in range(10, 90, 5):
        words = [sys.executable, "-m", "gpudoctor", "healthcheck", "--timeout", f"0.{seconds:02}", "--from", "-"]
        with subprocess.Popen([*words, "-f", form, "-o", out], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as late:
            assert late.stderr is not None
            assert (late.stderr.read(), late.wait()) == (b"", 0), seconds
        assert f"UNKNOWN no answer within 0.{seconds:02}".rstrip("0") in out.read_text()
        out.unlink()


def test_a_file_gets_the_answer_that_stdout_would_get(tmp_path: Path) -> None:
    """Also where the time is over: the last answer in the file would look like a new one."""
    out = tmp_path / "gpudoctor.prom"
    flags = ("--from", save(tmp_path, healthy()), "--format", "prometheus")
    whole = gpudoctor("healthcheck", *flags)
    written = gpudoctor("healthcheck", *flags, "-o", out)
    assert (written.returncode, written.stdout) == (whole.returncode, b"")
    assert out.read_bytes().count(b"\n") == whole.stdout.count(b"\n") and b"gpudoctor_answered 1" in out.read_bytes()
    waits = [sys.executable, "-m", "gpudoctor", "healthcheck", "--timeout", "0.5", "--from", "-", "-f", "prometheus"]
    for words in (["-o", str(out)], [f"--output={out}"], [f"-o{out}"]):
        with subprocess.Popen([*waits, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as late:
            assert late.stdout is not None
            assert (late.stdout.read(), late.wait()) == (b"", 0)  # nothing ever comes from stdin
        assert b"gpudoctor_answered 0" in out.read_bytes()
        out.write_text("gpudoctor_answered 1\n")
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".part"] == []


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    _, text = answer(
        healthy("h100", "a100", "l4", "t4", "rtx4090", "gtx1080"), tmp_path, "--skip", "torch-dropped-old-gpu-sm"
    )
    assert len(text) <= 80
    assert "..." in text


def test_what_is_not_ascii_stays_out(tmp_path: Path) -> None:
    odd = healthy().replace({"torch.version": "2.8.0+\x1b[31m\nü\u202e"})
    assert "\x1b" not in answer(odd, tmp_path)[1]


@for_each(
    "arguments",
    [["--nope"], ["--from", "/nonexistent"], ["--timeout", "x"], ["--skip", "nothing"], ["extra"], ["--expect", "?"]],
)
def test_wrong_usage_is_1(arguments: list[str]) -> None:
    one_line(gpudoctor("healthcheck", *arguments), code=1)


def test_this_machine_is_answered_in_one_line() -> None:
    done = gpudoctor("healthcheck")
    assert done.returncode in (0, 1)
    assert done.stdout.count(b"\n") == 1 and len(done.stdout) <= 81
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform != "linux", reason="what a run opens differs")
def test_too_few_descriptors_prove_nothing() -> None:
    """What cannot be opened is not absent."""
    shell = 'ulimit -n 10; exec "$0" "$@"'
    for words, code, out, err in (
        (["healthcheck"], 0, "UNKNOWN not enough resources to run: Too many open files (see ulimit -a)\n", ""),
        (["check"], 2, "", "gpudoctor: this shell's limits are too low: Too many open files"),
    ):
        command = ["bash", "-c", shell, sys.executable, "-m", "doctor", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, out), done.stderr
        assert done.stderr.startswith(err) and bool(done.stderr) == bool(err)


@pytest.mark.skipif(not hasattr(signal, "getitimer"), reason="no timers of signals on this system")
def test_no_timer_is_left_where_it_was_refused() -> None:
    """The end of its time would end the program that called it."""
    assert run(["healthcheck", "--prove", "--from", "report.json", "--timeout", "0.5"]) == 1
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
