"""The watched command: started as the user's shell would have started it, signals passed on, its end waited for."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence

from .watch_host import own_environment

_FROM_TERMINAL = 128
"""si_code SI_KERNEL: the terminal sent it, to the whole group in the foreground, the command included."""
_PASSED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")


class CannotStart(Exception):
    """The command does not start: one line, and the exit code that a shell has for it (126, 127)."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


class Signals:
    """`with Signals() as signals:` nothing interrupts us; `wait` returns what came. Those ignored stay ignored."""

    def __init__(self) -> None:
        named = {getattr(signal, name) for name in _PASSED if hasattr(signal, name)}
        self.passed = {number for number in named if signal.getsignal(number) is not signal.SIG_IGN}
        self.before: set[signal.Signals | int] = set()

    def __enter__(self) -> Signals:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would take away the command's exit code
        self.before = set(signal.pthread_sigmask(signal.SIG_BLOCK, {*self.passed, signal.SIGCHLD}))
        return self

    def wait(self, seconds: float) -> signal.struct_siginfo | None:
        """The next signal, or None after so many seconds."""
        return signal.sigtimedwait({*self.passed, signal.SIGCHLD}, max(0.0, seconds))

    def __exit__(self, *_: object) -> None:
        """From here on only Ctrl-C stops us: whoever ended the command may send his signal again while we report."""
        while signal.sigtimedwait(self.passed, 0) is not None:
            continue
        for number in self.passed:
            ours = signal.default_int_handler if number == signal.SIGINT else lambda *_: None
            signal.signal(number, ours)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


class Command:
    """A child that shares our stdin, stdout, stderr, process group and session."""

    def __init__(self, words: Sequence[str], signals: Signals) -> None:
        """Start it. Raises CannotStart."""
        env = own_environment()
        self.words = tuple(words)
        try:
            self.pid = self._spawn(list(words), env, signals)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise CannotStart(*_why(words[0], error)) from None
            try:  # a script without #!: what a shell would do
                self.pid = self._spawn(["/bin/sh", *_with_path(words)], env, signals)
            except OSError as again:
                raise CannotStart(*_why(words[0], again)) from None

    def _spawn(self, words: list[str], env: Mapping[bytes, bytes], signals: Signals) -> int:
        default = [getattr(signal, name) for name in _IGNORED_BY_PYTHON if hasattr(signal, name)]
        return os.posix_spawnp(words[0], words, env, setsigmask=signals.before, setsigdef=default)

    def ended(self) -> bool:
        """Whether it has ended; it stays a zombie until `reap`."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def reap(self) -> tuple[int, float]:
        """(exit code, minus the signal's number where one ended it; CPU seconds with all that it waited for)."""
        try:
            _, status, usage = os.wait4(self.pid, 0)
        except ChildProcessError:
            return 0, 0.0
        return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime

    def pass_on(self, came: signal.struct_siginfo) -> None:
        """A signal that was sent to us alone; what the terminal sends reaches the command's group by itself."""
        if came.si_code != _FROM_TERMINAL or os.getpgid(self.pid) != os.getpgrp():
            os.kill(self.pid, came.si_signo)


def _with_path(words: Sequence[str]) -> list[str]:
    import shutil

    return [shutil.which(words[0]) or words[0], *words[1:]]


def _why(program: str, error: OSError) -> tuple[str, int]:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if "/" in program and os.path.exists(program):  # noqa: PTH110
            return f"{program}: the interpreter named in its first line does not exist", 127
        return f"{program}: command not found", 127
    if error.errno == errno.EACCES and os.path.isdir(program):  # noqa: PTH112
        return f"{program}: is a directory", 126
    return f"{program}: {error.strerror or error}", 126
