"""Every text parameter of every command, as click knows them: a FIFO, socket or device is refused where a path is read.

A new parameter is tried without anybody remembering: it is refused in one line, or its metavar is listed below as one
that names no file.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from doctor.cli import gpudoctor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="FIFOs and /dev/fd")

NO_PATHS = {
    "WHAT", "PKG", "ID", "[ID]", "VERSION", "GPU", "GPUS", "GPUS,GPUS", "N", "HOST[:PORT],...", "DEVICE", "WHERE",
    "NODESET", "LABELS", "SQL", "FACT", "TARGET", "STAGE", "NAME=VALUE", "NAME", "OS/ARCH", "FIELD=VALUE", "[PACKAGE]...", "[COMMAND]...",
    "[--] CMD [ARGS]...",
}  # fmt: skip
"""Metavars of what is no path."""
NO_PATH = {
    ("matrix query", "words"),
    ("matrix show", "table"),
    ("matrix sources", "key"),
    ("print", "image"),
    ("fleet run", "image"),
    ("fleet run", "command"),
    ("fleet run", "address"),
    ("fleet answer", "run"),
}
OUTPUTS = {"output", "plot", "restore_file", "file", "folder"}
"""Parameters that are written to (tests/cli/test_where_it_writes.py)."""
FOLDERS = {"root", "replay", "python_"}
OUT_OF_ORDER = {"reference", "ca", "own_class", "database", "since"}
"""Files that cannot be streams: what reads them goes back and forth, or is another program."""
BESIDE = {
    "dockerfile": ["Dockerfile"], "image": ["127.0.0.1:9/a"], "explain": ["RuntimeError: no CUDA GPUs are available"], "record": ["out"],
    "watch": ["true"], "fit --model": ["--gpus", "T4"],
    "fit": ["--params", "7B"], "what-if": ["--driver", "580"], "matrix export": ["-"],
    "matrix query": ["driver", "580"], "print": ["systemd"],
    "print --from": ["spec"], "print --python": ["spec"], "matrix show": ["nccl"], "resolve -r": ["--gpu", "T4"],
    "fleet report": ["fleet.db"], "fleet run": ["--on", "ssh", "-o", "new.db"], "compare": ["report.json"],
}  # fmt: skip
"""What the command needs beside the parameter that is tried, unless that is one of these."""
FORKS = """
import json, os, pkgutil, signal, sys
from importlib import import_module
import compat_matrix.outside, doctor.commands, doctor.images.layout, doctor.images.registry
from doctor.cli import run
for module in pkgutil.iter_modules(doctor.commands.__path__):  # what is here already need not be imported in each fork
    import_module(f"doctor.commands.{module.name}")
for number, words in enumerate(json.load(sys.stdin)):
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDONLY)
        read, write = os.pipe()
        os.write(write, b"nothing that anybody expects")
        os.close(write)
        os.dup2(null, 0), os.dup2(read, 9)
        for fd, name in (1, "out"), (2, "err"):
            os.dup2(os.open(f"{number}.{name}", os.O_CREAT | os.O_WRONLY), fd)
        signal.alarm(60)
        os._exit(run(words))
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def parameters(
    command: click.Command = gpudoctor, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Parameter]]:
    """(command, parameter) of everything that takes a text."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from parameters(inner, (*words, name))
        return
    for one in command.params:
        free = isinstance(
            one.type, (click.types.StringParamType, click.types.UnprocessedParamType, click.Path, click.File)
        )
        if free and not getattr(one, "is_flag", False):
            yield " ".join(words), one


def paths() -> list[tuple[str, click.Parameter]]:
    """Those that name something to read."""
    return [
        (command, one)
        for command, one in parameters()
        if one.metavar not in NO_PATHS and (command, one.name) not in NO_PATH and one.name not in OUTPUTS
    ]


def line(command: str, one: click.Parameter, value: str) -> list[str]:
    """A command line that gives this parameter this value."""
    if one.name == "own_class":
        value += ":Net"
    if isinstance(one, click.Argument):
        return [*command.split(), value]
    beside = BESIDE.get(f"{command} {one.opts[0]}", BESIDE.get(command, []))
    return [*command.split(), one.opts[0], value, *beside]


def refusals(folder: Path, lines: list[list[str]]) -> list[str]:
    """What each printed, after exit code 2 (healthcheck: 1), nothing on stdout and one line on stderr."""
    (folder / "Dockerfile").write_text("FROM ubuntu:24.04\n")
    env = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-c", FORKS], input=json.dumps(lines), capture_output=True, text=True, cwd=folder, env=env,
        timeout=600, check=True,
    )  # fmt: skip
    codes = [int(code) for code in done.stdout.split()]
    printed = [(folder / f"{n}.out").read_text() for n in range(len(lines))]
    told = [(folder / f"{n}.err").read_text() for n in range(len(lines))]
    wrong = [
        (words, code, out[:200], err[:300])
        for words, code, out, err in zip(lines, codes, printed, told, strict=True)
        if code != (1 if words[0] == "healthcheck" else 2) or out or err.count("\n") != 1
    ]
    assert not wrong, "\n".join(map(str, wrong))
    return told


def test_the_parameters_are_seen() -> None:
    found = {(command, one.name) for command, one in paths()}
    assert {("image", "reference"), ("dockerfile", "paths"), ("fit", "model"), ("resolve", "requirements")} <= found
    assert {("check", name) for name in ("from_", "replay", "matrix", "config", "root", "python_")} <= found
    assert {("explain", "what"), ("topo", "text"), ("prove", "baseline"), ("image", "against")} <= found
    assert {("matrix lint", "path"), ("image", "ca"), ("fix", "replay"), ("record", "python_")} <= found


def test_a_fifo_is_refused_by_every_command(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.json"
    os.mkfifo(fifo)
    tried = [(c, one) for c, one in paths() if one.name != "python_"]
    for (command, one), told in zip(tried, refusals(tmp_path, [line(c, o, str(fifo)) for c, o in tried]), strict=True):
        assert one.name in FOLDERS or "is a FIFO, not a regular file" in told, (command, one.name, told)


@pytest.mark.slow
def test_sockets_devices_and_interpreters_are_refused_by_every_command(tmp_path: Path) -> None:
    names = [tmp_path / "socket.json", Path("/dev/zero"), Path("/dev/tty"), tmp_path / "fifo"]
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(names[0]))
    os.mkfifo(names[-1])
    refusals(tmp_path, [line(c, one, str(name)) for name in names for c, one in paths()])


def test_a_device_that_a_path_leads_around_to_is_no_interpreter(tmp_path: Path) -> None:
    """/dev/fd is a link: the system finds nothing there, and a path shortened as a text would be /dev/zero."""
    refusals(tmp_path, [line(c, one, "/dev/fd/../zero") for c, one in paths() if one.name == "python_"])


def test_what_a_shell_opened_is_read(tmp_path: Path) -> None:
    """`<(command)` is /dev/fd/N: a pipe. Its content is what is refused."""
    tried = [(c, one) for c, one in paths() if one.name not in FOLDERS]
    tried = [(c, one) for c, one in tried if one.name != "what"]  # a text like any other
    for (command, one), told in zip(
        tried, refusals(tmp_path, [line(c, o, "/dev/fd/9") for c, o in tried]), strict=True
    ):
        refused = "is a FIFO" in told or "no such file" in told
        assert refused == (one.name in OUT_OF_ORDER), (command, one.name, told)
