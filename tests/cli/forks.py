"""Command lines of gpudoctor as forks of one process that has imported it already: a quarter of the processor time.

A command has its own process, streams, variables and folder; only the imports are shared. test_forks.py compares them with
processes that start anew.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

TIMEOUT_S = 60
_READ_AT_START = ("LD_", "PYTHON", "LANG", "LC_", "TZ", "MALLOC_", "GLIBC_", "COVERAGE_", "MUTANT_")
"""How the variables begin that act on the start of a process or on its imports."""


def as_good(variables: Mapping[str, str]) -> bool:
    """Whether a fork does what a process started with these variables would do."""
    return hasattr(os, "pidfd_open") and _server()[1] == _at_start(variables)


def run(line: list[str], data: bytes, env: Mapping[str, str], cwd: Path | None) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run` with captured output; raises subprocess.TimeoutExpired."""
    stdin, to_stdin = os.pipe()
    from_stdout, stdout = os.pipe()
    from_stderr, stderr = os.pipe()
    status, tell = os.pipe()
    request = {"arguments": line, "env": dict(env), "cwd": str(cwd or os.getcwd())}
    socket.send_fds(_server()[0], [json.dumps(request).encode()], [stdin, stdout, stderr, tell])
    for number in (stdin, stdout, stderr, tell):
        os.close(number)
    with ThreadPoolExecutor(3) as streams, open(status, "rb", buffering=0) as answers:
        streams.submit(_write, to_stdin, data)
        out, err = (streams.submit(_read, number) for number in (from_stdout, from_stderr))
        (pid,) = struct.unpack("i", answers.read(4))
        if not select.select([answers], [], [], TIMEOUT_S)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(line, TIMEOUT_S)
        (code,) = struct.unpack("i", answers.read(4))
        return subprocess.CompletedProcess(line, code, out.result(), err.result())


def _write(number: int, data: bytes) -> None:
    with open(number, "wb", buffering=0) as stream:
        try:
            while data:
                data = data[stream.write(data) :]
        except BrokenPipeError:
            return


def _read(number: int) -> bytes:
    with open(number, "rb") as stream:
        return stream.read()


def _at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_READ_AT_START)}


@cache
def _server() -> tuple[socket.socket, dict[str, str]]:
    """A connection to the process that forks, and the variables that acted on its start."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = str(Path(__file__).with_name("fork_server.py"))
    variables = dict(os.environ)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, script, str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd="/",
            env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours, _at_start(variables)
