"""The process that talks to Ray (`ray_driver.py`), and its messages: a JSON object per line."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from time import monotonic
from typing import Any

from ..extra import extra_line
from ..guard import Refusal
from ..targets.environment import absolute, current_folder

_DRIVER = str(Path(__file__).with_name("ray_driver.py"))
_STOP_S = 12.0
"""Over what the driver gives its tasks to end."""
_EXIT_S = 5.0
_TAIL = 4000


class Link:
    """A driver. address: HOST:PORT, or auto."""

    def __init__(self, address: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._child = subprocess.Popen(
            [python_with_ray(), _DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            cwd="/", env=absolute(os.environ, current_folder()), start_new_session=True,
        )  # fmt: skip
        self._buffer = b""
        self.ended = False
        """Nothing more comes."""
        self.ask(address=address)

    def ask(self, **what: Any) -> None:
        """Send a message; one that has ended does not get it."""
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(what).encode() + b"\n")
            self._child.stdin.flush()

    def heard(self, wait_s: float) -> list[dict[str, Any]]:
        """The messages that came, after waiting so long at most for the first."""
        assert self._child.stdout is not None
        number = self._child.stdout.fileno()
        while not self.ended and select.select([number], [], [], wait_s)[0]:
            data = os.read(number, 1 << 20)
            self._buffer += data
            self.ended = not data
            wait_s = 0.0
        *lines, self._buffer = self._buffer.split(b"\n")
        return [json.loads(line) for line in lines]

    def last_words(self) -> str:
        """The last line that Ray or the driver wrote to stderr."""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _TAIL))
        lines = [line.strip() for line in self._errors.read().decode("utf-8", "replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def close(self) -> tuple[list[dict[str, Any]], bool]:
        """Let it end all tasks and itself. Returns its last messages, and whether it had to be killed. It may be called
        again."""
        if self._child.returncode is not None:
            return [], False
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):
            self._child.stdin.close()
        messages: list[dict[str, Any]] = []
        until = monotonic() + _STOP_S
        while not self.ended and monotonic() < until:
            messages += self.heard(max(0.0, until - monotonic()))
        try:
            self._child.wait(_EXIT_S)
            return messages, False
        except subprocess.TimeoutExpired:
            self.kill()
            return messages, True

    def kill(self) -> None:
        """End it at once; Ray then ends its tasks."""
        self._child.kill()
        self._child.wait()
        self.ended = True


def python_with_ray() -> str:
    """This Python if it has ray, else that of the `ray` on PATH. Raises Refusal."""
    spec = find_spec("ray")
    if spec is not None and spec.origin:
        return sys.executable
    script = which("ray")
    with suppress(OSError, UnicodeDecodeError):
        if script is not None:
            with open(script, encoding="utf-8") as file:
                first = file.readline(1000)
            python = first[2:].strip()
            if first.startswith("#!/") and " " not in python and os.access(python, os.X_OK):
                return python
    raise Refusal(f"--on ray requires the same version of Ray as the cluster: {extra_line('ray')}")
