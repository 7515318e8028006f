"""Run an installer as a child that terminates with this process, whatever terminates it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..targets.environment import EMPTY, absolute, current_folder
from ..targets.process import script_argv
from .ended import ending_children

GRACE_S = 1.0
"""Time an installer gets to clean up after SIGTERM."""


def run_tied(argv: Sequence[str], deadline_s: float, output: int, variables: Mapping[str, str] | None = None) -> int:
    """Its exit code; stdout and stderr go to the descriptor `output`. It runs in an empty folder.

    `variables`: set only for this child.

    Raises OSError, subprocess.TimeoutExpired (seconds), and Ended if a signal terminates this process; the child and
    its group are stopped first.
    """
    held, lifeline = os.pipe()
    try:
        env = {**absolute(os.environ, current_folder()), **(variables or {}), "GPUDOCTOR_LIFELINE": str(held)}
        if "PYTHONSAFEPATH" not in os.environ:  # an installer may build a package in that package's own folder
            del env["PYTHONSAFEPATH"]
        command = list(argv)
        if sys.platform != "win32":
            command = [sys.executable, "-I", "-S", *script_argv("", *argv, how="command")[1:]]
        with ending_children():
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=env,
                cwd=EMPTY,
                start_new_session=True,
                pass_fds=(held,) if sys.platform != "win32" else (),
            )
            try:
                return child.wait(deadline_s)
            except BaseException:
                _end(child)
                raise
    finally:
        os.close(held)
        os.close(lifeline)


def _end(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(OSError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
            return
