"""The watched command runs as without gpudoctor: input, output, environment, exit code."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from ..rows import Faults, for_each
from .run import COMMAND, environment, python, run


@for_each(
    ("code", "expected"),
    [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)],
)
def test_the_exit_code_passes_through(code: str, expected: int) -> None:
    done = run("--", "sh", "-c", code)
    assert done.returncode == expected
    assert b"What was watched" in done.stderr or b"exit" in done.stderr, (
        "whatever becomes of the command, it is reported"
    )


def test_input_and_output_pass_untouched(tmp_path: Path) -> None:
    data = os.urandom(300_000) + b"no newline at the end"
    done = run("--", "sh", "-c", "cat; printf 'its own words' >&2", data=data)
    assert done.stdout == data
    assert done.stderr.startswith(b"its own words")


@pytest.mark.slow
def test_the_report_can_go_to_a_file_or_to_stdout(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    done = run("-o", str(report), "--format", "markdown", "--", "echo", "hello")
    assert (done.stdout, done.stderr, done.returncode) == (b"hello\n", b"", 0)
    assert report.read_bytes().startswith(b"#")
    done = run("-o", "-", "--format", "json", "--", "true")
    assert json.loads(done.stdout)["snapshot"]["measured"]["watch"]["program"] == "true"


def test_the_environment_is_the_users_own() -> None:
    # pip starts a command in a path with a space by sh, which would add PWD
    env = {"PATH": os.environ["PATH"], "ODD": "a=b\nc", "LANG": "C", "PWD": os.getcwd()}
    with_it = subprocess.run(
        [COMMAND, "watch", "--", "env", "-0"], env=env, capture_output=True, timeout=60, check=True
    )
    without = subprocess.run(["env", "-0"], env=env, capture_output=True, check=True)
    assert sorted(with_it.stdout.split(b"\0")) == sorted(without.stdout.split(b"\0"))


def test_open_files_signals_and_directory_are_the_users_own(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    code = (
        "import os, signal\n"
        f"os.write({writing}, b'passed on')\n"
        "print(os.getcwd(), os.getpgrp(), os.getsid(0), signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL,\n"
        "      signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    caller = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "print(subprocess.run(sys.argv[1:], close_fds=False, stdout=-1).stdout.decode(), end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", caller, COMMAND, "watch", "--", *python(code)],
        pass_fds=[writing],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    os.close(writing)
    assert os.read(reading, 100) == b"passed on"
    os.close(reading)
    assert done.stdout.decode().split() == [
        str(tmp_path),
        str(os.getpgrp()),
        str(os.getsid(0)),
        "True",
        "set()",
        "True",
    ]


def test_a_script_without_a_first_line_runs_as_in_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1; exit 4\n")
    script.chmod(0o755)
    done = run("--", str(script), "argument")
    assert (done.stdout, done.returncode) == (b"argument\n", 4)


def test_options_of_the_command_are_its_own() -> None:
    assert run("echo", "--format", "json", "--pid", "-h").stdout == b"--format json --pid -h\n"


def _one_line(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode()
    assert done.stdout == b"" and text.startswith("gpudoctor: ") and text.count("\n") == 1, done
    return text


NOT_FOUND = "command not found"
WHAT = "nothing to watch: gpudoctor watch -- python train.py, or gpudoctor watch --pid PID"


@pytest.mark.slow
@for_each(
    ("words", "code", "said"),
    [
        (["--", "no-such-command-here", "x"], 127, f"no-such-command-here: {NOT_FOUND}"),
        (["--", "./nothing/here"], 127, f"./nothing/here: {NOT_FOUND}"),
        (["--", "/"], 126, "/: is a directory"),
        ([], 2, WHAT),
        (["--"], 2, WHAT),
        (["--pid", "1", "--", "touch", "started"], 2, "--pid cannot be used with a command"),
        (["--pid", "4194399"], 2, "--pid 4194399: no such process"),
        (["--pid", "0"], 2, "Invalid value for '--pid': 0 is not in the range x>=1."),
        (["--interval", "0", "--", "touch", "started"], 2,
         "Invalid value for '--interval': 0.0 is not in the range 0.05<=x<=60."),
        (["--only", "no-such-check", "--", "touch", "started"], 2,
         "--only 'no-such-check': no such check (see gpudoctor list-checks)"),
        (["--python", "/nowhere/python", "--", "touch", "started"], 2, "--python /nowhere/python: no such file"),
        (["--python", "no-such-python", "--", "touch", "started"], 2, "--python no-such-python: no such file"),
        (["-o", "/nowhere/report", "--", "touch", "started"], 2, "--output /nowhere/report: cannot be written"),
        (["--", ""], 2, "the command's name is empty"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    given = words if "-o" in words else ["--format", "json", "-o", "report.json", *words]
    done = run(*given, cwd=tmp_path)
    assert done.returncode == code
    assert _one_line(done) == f"gpudoctor: {said}\n"
    assert list(tmp_path.iterdir()) == [], "nothing is started, no report is written"


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    for name, text, mode, code, said in (
        ("plain", "x", 0o644, 126, "Permission denied"),
        ("lost", "#!/nowhere/interpreter\n", 0o755, 127, "interpreter"),
    ):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(mode)
        done = run("--", str(path))
        assert (done.returncode, said in _one_line(done)) == (code, True)


def test_nothing_is_started_where_the_report_could_not_be_written(tmp_path: Path) -> None:
    done = run("-o", str(tmp_path), "--", "touch", str(tmp_path / "started"))
    assert done.returncode == 2 and not (tmp_path / "started").exists()


@pytest.mark.slow
def test_the_report_obeys_the_schema_and_is_judged_again(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run(
        "--format",
        "json",
        "-o",
        str(report),
        "--",
        *python("import time; time.sleep(0.3)"),
        env={**os.environ, "SECRET": "x"},
    )
    saved = json.loads(report.read_bytes())
    schema = subprocess.run([COMMAND, "schema"], capture_output=True, timeout=60, check=True).stdout
    jsonschema.validate(saved, json.loads(schema))
    again = subprocess.run(
        [COMMAND, "check", "--from", str(report), "--format", "json"], capture_output=True, timeout=60, check=False
    )
    assert [f["id"] for f in json.loads(again.stdout)["findings"]] == [f["id"] for f in saved["findings"]]


def test_of_the_command_line_only_the_programs_name_is_kept(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = run("--format", "json", "-o", str(report), "--", "/bin/sh", "-c", "true hunter2-is-a-password")
    assert done.returncode == 0
    assert b"hunter2" not in report.read_bytes()
    assert json.loads(report.read_bytes())["snapshot"]["measured"]["watch"]["program"] == "sh"


def test_a_full_or_closed_stderr_does_not_change_the_exit_code(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [COMMAND, "watch", "--", "sh", "-c", "exit 5"], stderr=full, env=environment(), timeout=60, check=False
        )
    assert done.returncode == 5


@pytest.mark.slow
@for_each("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_exit_code(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(str(COMMAND))} watch -- sh -c 'exit 5' {closed}"],
        env=environment(),
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 5 and b"internal error" not in done.stderr


@pytest.mark.slow
def test_the_python_of_the_watched_program_is_the_one_that_is_judged(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    report = tmp_path / "report.json"
    run(
        "--format",
        "json",
        "-o",
        str(report),
        "--no-redact",
        "--",
        "sh",
        "-c",
        f"{shlex.quote(str(venv))}/bin/python -c 'import time; time.sleep(0.4)'; true",
    )
    python_ = json.loads(report.read_bytes())["snapshot"]["python"]
    assert (python_["patient"]["prefix"], python_["chosen_because"]) == (str(venv), "the watched program")


@pytest.mark.slow
def test_a_program_that_ended_before_it_was_seen_has_the_python_that_it_names(tmp_path: Path) -> None:
    """The command's own word, a name on PATH, and a script's first line; else the report says that it saw none."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    own = venv / "bin" / "python"
    for name, first in (("named", f"#!{own} -S"), ("by-env", "#!/usr/bin/env -S python -S"), ("other", "#!/bin/sh")):
        (tmp_path / name).write_text(f"{first}\nexit\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{venv}/bin:/usr/bin:/bin"}
    env.pop("VIRTUAL_ENV", None)
    rows = {
        str(own): [str(own), "-S", "-c", "import nosuch"],
        "python": ["python", "-S", "-c", "import nosuch"],
        "#!": [str(tmp_path / "named")],
        "env": [str(tmp_path / "by-env")],
        "sh": [str(tmp_path / "other")],
    }
    with Faults() as faults:
        for name, words in rows.items():
            with faults.of(name):
                report = tmp_path / "report.json"
                run("--format", "json", "-o", str(report), "--no-redact", "--", *words, env=env)
                s = json.loads(report.read_bytes())["snapshot"]
                told = [one for one in s["measured"].get("ended", ()) if one["step"].endswith("'s Python")]
                if name == "sh":
                    assert [one["step"] for one in told] == ["other's Python"] and "about" in told[0]["detail"]
                else:
                    assert (s["python"]["patient"]["prefix"], told) == (str(venv), [])
                    assert s["python"]["chosen_because"] == "the watched program"
