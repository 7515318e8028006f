"""Outputs that are cut short, shared, somebody else's or not there at all: whole, or one line that says why not."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from doctor.cli import COMMANDS
from doctor.cli import gpudoctor as group

from ..healthy import healthy
from ..rows import for_each
from .command import COMMAND, gpudoctor, one_line, save

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full, pipes and mounts of Linux")
CHECK = ("check", "--no-import", "--expect", "any", "--format", "json")
LONG = ("schema",), ("matrix", "show"), ("list-checks",), ("explain", "no-nvidia-gpu"), CHECK


def shell(words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, with `gpudoctor` in it."""
    return subprocess.run(
        ["bash", "-c", words.replace("gpudoctor", shlex.quote(str(COMMAND)))],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_a_full_disk_is_told() -> None:
    faults = []
    for unbuffered in ("", "1"):
        for words in LONG:
            done = shell(f"gpudoctor {' '.join(words)} > /dev/full", PYTHONUNBUFFERED=unbuffered)
            if done.returncode != 2 or "No space left" not in done.stderr.replace("no space", "No space"):
                faults.append((unbuffered, words, done))
            if done.stderr.count("\n") != 1 or "Traceback" in done.stderr:
                faults.append((unbuffered, words, done))
    assert not faults


def test_a_limit_of_file_sizes_is_told(tmp_path: Path) -> None:
    for words in LONG:
        done = shell(
            f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 0; cd {shlex.quote(str(tmp_path))}; gpudoctor {' '.join(words)} > limited"
        )
        told = "cannot write the report: " in done.stderr and "arge" in done.stderr
        assert done.returncode == 2 and told and done.stderr.count("\n") == 1, done


@pytest.mark.slow
@for_each("unbuffered", ["", "1"])
def test_a_pipe_that_does_not_block_gets_all_of_it(unbuffered: str) -> None:
    for words in (("schema",), ("list-checks", "--format", "json"), CHECK):
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        child = subprocess.Popen(
            [COMMAND, *words], stdout=theirs, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}
        )
        os.close(theirs)
        time.sleep(0.5)  # it fills the pipe first
        with open(ours, "rb") as stream:
            data = stream.read()
        assert child.communicate(timeout=60)[1] == b""
        json.loads(data)


@pytest.mark.slow
def test_a_closed_stdout() -> None:
    done = shell("gpudoctor check --no-import --expect any >&-")
    assert (done.returncode, done.stderr) == (2, "gpudoctor: cannot write the report: standard output is closed\n")
    told = (2, "gpudoctor: cannot write the report: standard output is closed\n")
    for words in ("matrix show", "--help", "check --help", "list-checks", "schema"):
        done = shell(f"gpudoctor {words} >&-")
        assert (done.returncode, done.stderr) == told, words
    for words in ("matrix show", "--help", "check --no-import", "schema"):
        done = shell(f"gpudoctor {words} 1< /dev/null")
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "internal" not in done.stderr, done
    for streams in (">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = shell(f"gpudoctor healthcheck --expect any {streams}")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), streams
        assert shell(f"gpudoctor healthcheck --expect 8 {streams}").returncode == 1, streams


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert gpudoctor(*CHECK, "-o", report).returncode == 0
    assert stat.S_IMODE(report.stat().st_mode) == 0o666 & ~_mask()
    report.chmod(0o640)
    inode = report.stat().st_ino
    assert gpudoctor(*CHECK, "-o", report).returncode == 0
    assert stat.S_IMODE(report.stat().st_mode) == 0o640 and report.stat().st_ino != inode
    private = tmp_path / "private.json"
    assert gpudoctor(*CHECK, "--no-redact", "-o", private).returncode == 0
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert gpudoctor("record", tmp_path / "here", "--no-import", "--no-redact").returncode == 0
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o700
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "private.json", "report.json"]


@pytest.mark.slow
def test_links_devices_and_pipes_are_written_in_place(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert gpudoctor(*CHECK, "-o", link).returncode == 0
    assert link.is_symlink() and json.loads(target.read_bytes())
    assert gpudoctor(*CHECK, "-o", "/dev/null").returncode == 0
    assert gpudoctor(*CHECK, "-o", "/dev/stderr").stdout == b""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "a pipe or socket without a reader" in one_line(gpudoctor(*CHECK, "-o", pipe))
    reader, data = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), b""  # somebody reads from the beginning
    child, running = subprocess.Popen([COMMAND, *CHECK, "-o", pipe]), True
    while running:
        running = child.poll() is None
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(reader, 1 << 16):
                data += chunk
        time.sleep(0.01)
    os.close(reader)
    assert child.returncode == 0 and json.loads(data)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert "cannot write" in one_line(gpudoctor(*CHECK, "-o", tmp_path / "socket"))
    assert "cannot write" in one_line(gpudoctor(*CHECK, "-o", tmp_path))


WRITERS: dict[str, tuple[str, ...]] = {
    "check": ("--from", "report.json", "-o"),
    "prove": ("--quick", "--device", "cpu", "-o"),
    "watch": ("-o", "{}", "--", "true"),
    "resolve": ("--gpu", "RTX 5090", "--driver", "575", "-o"),
    "what-if": ("--from", "report.json", "--driver", "580", "-o"),
    "dockerfile": ("Dockerfile", "-o"),
    "fit": ("--params", "7B", "--gpus", "RTX 4090", "-o"),
    "topo": ("--from", "report.json", "-o"),
    "compare": ("report.json", "report.json", "-o"),
    "explain": ("804", "-o"),
    "healthcheck": ("--from", "report.json", "-o"),
    "fix": ("--from", "report.json", "-o"),
    "list-checks": ("-o",),
    "schema": ("-o",),
    "print": ("systemd", "-o"),
    "matrix show": ("gpus", "-o"),
    "matrix query": ("driver 570", "-o"),
    "matrix sources": ("-o",),
    "matrix age": ("-o",),
    "matrix lint": ("-o",),
    "fleet load": ("report.json", "-o"),
    "fleet report": ("fleet.db", "-o"),
    "fleet run": ("--on", "ssh", "--nodes", "gpu-1", "-o"),
    "matrix export": (),
    "record": (),
}
NEEDS_AN_IMAGE = {"image"}


def _writing() -> Iterator[str]:
    """Every command that writes where it is told."""
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        inner = {name: command}
        if isinstance(command, click.Group):
            inner = {f"{name} {one}": command.get_command(context, one) for one in command.list_commands(context)}
        for words, one in inner.items():
            if one and any("-o" in option.opts or option.name in ("folder", "file") for option in one.params):
                yield words


def test_the_table_has_every_command_that_writes() -> None:
    assert set(_writing()) == {*WRITERS, *NEEDS_AN_IMAGE}


@pytest.mark.slow
@for_each("name", list(WRITERS))
def test_what_is_in_the_way_stays_and_is_one_line(name: str, tmp_path: Path) -> None:
    """A folder with files, a file where a folder should be, links that lead nowhere."""
    save(tmp_path, healthy())
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("precious")
    if name == "fleet report":
        assert gpudoctor("fleet", "load", "report.json", "-o", "fleet.db", cwd=tmp_path).returncode == 0
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to-folder").symlink_to("folder")
    before = {path: path.read_bytes() if path.is_file() else b"" for path in tmp_path.rglob("*")}
    targets = [
        "folder",
        "to-folder",
        "loop",
        "folder/thesis.tex/sub",
        "" if name == "record" else "none/sub",
    ]
    for target in filter(None, targets):
        words = [word.format(target) for word in WRITERS[name]]
        done = gpudoctor(*name.split(), *words, *([] if name == "watch" else [target]), cwd=tmp_path)
        line = one_line(done, 1 if name == "healthcheck" else 2)  # Docker keeps 2 for itself
        assert "cannot" in line or "did not write" in line, (target, line)
    assert {path: path.read_bytes() if path.is_file() else b"" for path in tmp_path.rglob("*")} == before


def test_a_stream_is_not_opened_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        log.write_text("old\n")
        shell(f"gpudoctor explain 804 -o {name} >> {shlex.quote(str(log))}")
        assert log.read_text().startswith("old\n") and len(log.read_text()) > 100, name
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing-yet")
    assert gpudoctor(*CHECK, "--no-redact", "-o", link).returncode == 0
    assert stat.S_IMODE((tmp_path / "nothing-yet").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_strangers_link_is_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("precious")
    link.symlink_to(target)
    os.lchown(link, 4711, 4711)
    assert "another user" in one_line(gpudoctor(*CHECK, "-o", link))
    assert target.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes mounts")
def test_a_file_that_is_a_mount_point(tmp_path: Path) -> None:
    """A file bound into a container: rename says 'busy'; and a folder that may not be written."""
    report, source = tmp_path / "report.json", tmp_path / "source"
    report.write_text("old")
    source.write_text("old")
    mount = shlex.join(["mount", "--bind", str(source), str(report)])
    script = f"{mount} && {shlex.join([str(COMMAND), *CHECK, '-o', str(report)])}; echo $?"
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr}")
    assert done.stdout.strip().endswith("0") and json.loads(source.read_bytes()), done


@pytest.mark.slow
def test_what_is_read_is_a_plain_file_or_a_stream(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    recording = tmp_path / "recording"
    recording.mkdir()
    os.mkfifo(recording / "manifest.json")
    for words in (
        ("check", "--from", pipe),
        ("explain", pipe),
        ("check", "--replay", recording),
        ("check", "--from", "/dev/zero"),
    ):
        said = one_line(gpudoctor(*words))
        assert "not a regular file" in said or "manifest.json" in said, words
    assert gpudoctor(*CHECK, "-o", tmp_path / "report.json").returncode == 0
    for words in ("--from <(cat {})", "--from /dev/stdin < {}", "--from - < {}"):
        done = shell(f"gpudoctor check {words.format(shlex.quote(str(tmp_path / 'report.json')))}")
        assert done.returncode == 0 and done.stdout, words


@pytest.mark.slow
def test_a_poor_shell_gets_an_answer() -> None:
    """Few descriptors, no process: one line and 0 or 1 of a healthcheck, never a traceback of anything."""
    for limit in ("ulimit -n 8", "ulimit -n 5", "ulimit -u 1"):
        done = shell(f"{limit}; gpudoctor healthcheck --expect any")
        assert done.returncode in (0, 1) and (done.stdout + done.stderr).count("\n") == 1, (limit, done)
        done = shell(f"{limit}; gpudoctor check --no-import --expect any")
        assert done.returncode in (0, 1, 2, 3) and "Traceback" not in done.stderr, (limit, done)
        assert done.stdout or done.stderr.count("\n") == 1, (limit, done)


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv takes root's leave to start any number")
def test_no_process_and_no_thread_is_left_to_start() -> None:
    """`ulimit -u` does not bind root, so root becomes somebody who may still read all."""
    rights = "+dac_override,+dac_read_search"
    someone = f"setpriv --reuid 54321 --clear-groups --inh-caps {rights} --ambient-caps {rights}"
    poor = f'{someone if os.geteuid() == 0 else ""} bash -c \'ulimit -u 1; exec "$0" "$@"\''
    if shell(f"{poor} true").returncode:
        pytest.skip("setpriv may not do that here")
    done = shell(f"{poor} gpudoctor healthcheck --expect any")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\n") == 1, done
    for words in ("check --expect any", "check --no-import --expect any --format json", "explain 804"):
        done = shell(f"{poor} gpudoctor {words}")
        assert done.returncode == 0 and done.stdout and done.stderr == "", (words, done)


@pytest.mark.slow
def test_an_interrupted_healthcheck_is_one_line(tmp_path: Path) -> None:
    for more, code in (([], 0), (["--strict"], 1)):
        child = subprocess.Popen(
            [COMMAND, "healthcheck", "--from", "-", *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdin
        child.stdin.write(b" ")
        child.stdin.flush()
        while array("i", fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4)))[0] and child.poll() is None:
            time.sleep(0.02)  # until it reads its input
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out, err) == (code, b"UNKNOWN interrupted before the check finished\n", b"")


INTERRUPTS = """
import os, signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "click" and sys.meta_path.pop(0):
            os.kill(os.getpid(), signal.SIGINT)
            [].sort()
sys.meta_path.insert(0, Finder)
"""


def test_an_interrupt_during_an_import_is_no_traceback(tmp_path: Path) -> None:
    """Ctrl-C just after the start, while click is still being imported."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS)
    env = {"PYTHONPATH": str(tmp_path)}
    for words in (["fix"], ["record", tmp_path / "out"], ["prove"], ["watch", "--", "true"], ["list-checks"]):
        done = gpudoctor(*words, env=env)
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"\n"), done
    done = gpudoctor("healthcheck", "--help", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"UNKNOWN interrupted before the check finished\n", b"")


@pytest.mark.slow
def test_a_healthcheck_answers_once(tmp_path: Path) -> None:
    """The time is over while its line waits for a reader: no second line comes after it."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(theirs, b"x" * 4096):
            continue
    os.set_blocking(theirs, True)
    child = subprocess.Popen([COMMAND, "healthcheck", "--expect", "any", "--timeout", "2"], stdout=theirs)
    os.close(theirs)
    time.sleep(3)
    with open(ours, "rb") as stream:
        said = stream.read().lstrip(b"x")
    assert child.wait(60) == 0 and said.count(b"\n") == 1 and said.startswith(b"OK"), said


@pytest.mark.slow
@for_each("seconds", ["1", "0.5"], ids=["read at once", "read by click"])
def test_the_time_of_a_healthcheck_holds_for_all_of_it(seconds: str) -> None:
    child = subprocess.Popen(
        [COMMAND, "healthcheck", "--from", "-", "--timeout", seconds], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    out = child.communicate(timeout=60)[0] if child.wait(60) is not None else b""
    line = f"UNKNOWN no answer within {seconds} s ("
    assert child.returncode == 0 and out.startswith(line.encode()) and out.count(b"\n") == 1, out


def _mask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
