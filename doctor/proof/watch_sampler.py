"""NVML's sampler during a watched command: its lines are read now and then, and none is kept."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Sequence
from time import monotonic

import msgspec
from msgspec import Struct

from ..snapshot.measured import Fault, StepEnd
from .samples import Sample, sensible

AGENT = "nvml_sampler"
PATIENCE_S = 1.0
"""How long it may take to leave."""
SILENT_S = 10.0
"""Silence after which a call of NVML counts as one that does not return."""
_STEPS = {"library": "dlopen libnvidia-ml.so.1", "binding": "import nvidia-ml-py", "init": "nvmlInit"}
"""What was begun, by the field that the agent says it could not have."""
_PIPE_BYTES = 1 << 20
_MAX_LINE = 1 << 20


class About(Struct, frozen=True):
    """What does not change of a GPU."""

    key: str
    minor: int | None = None
    name: str | None = None


class _Line(Struct, frozen=True):
    sample: Sample | None = None
    gpu: About | int | None = None
    begin: str | None = None
    field: str | None = None
    error: int | None = None
    text: str = ""


_STOPS = [getattr(signal, name) for name in ("SIGTSTP", "SIGTTIN", "SIGTTOU") if hasattr(signal, name)]
"""Stopped before its exec, it would hold us for ever: posix_spawn returns after that."""


class WatchSampler:
    """Start it, `read` now and then, `stop` it. It ends with us, whatever ends us: its stdin closes."""

    def __init__(self, command: Sequence[str], interval_s: float) -> None:
        self.gpus: dict[str, About] = {}
        self.cpu_s = 0.0
        self.pid = 0
        self._decode = msgspec.json.Decoder(_Line).decode
        self._rest = b""
        self._interval_s = interval_s
        self._heard = monotonic()
        self._started = "the start"
        self._refused: tuple[str, int, str] | None = None
        self._samples = 0
        self._status: int | None = None
        self._out = self._in = self._lifeline = -1
        try:
            self._start(list(command))
        except (OSError, ValueError) as error:
            self._refused = ("start", -1, str(error)[:300])

    def _start(self, command: list[str]) -> None:
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        held, self._lifeline = os.pipe()
        try:
            actions = [
                (os.POSIX_SPAWN_DUP2, child_in, 0),
                (os.POSIX_SPAWN_DUP2, child_out, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ]
            os.set_inheritable(held, True)
            env = {**os.environ, "GPUDOCTOR_LIFELINE": str(held)}
            self.pid = os.posix_spawn(
                command[0], command, env, file_actions=actions, setpgroup=0, setsigmask=_STOPS
            )  # of its own group: a terminal's signals are not for it, nor one that stopped ours a moment before
        finally:
            for descriptor in (child_in, child_out, held):
                os.close(descriptor)
        os.set_blocking(self._out, False)
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import fcntl

            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def read(self) -> list[Sample]:
        """The samples that came since."""
        return [sample for line in self._lines() if (sample := self._take(line)) is not None]

    def _lines(self) -> Iterable[bytes]:
        while self._out >= 0:
            try:
                data = os.read(self._out, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                os.close(self._out)
                self._out = -1
                return
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest if len(self._rest) < _MAX_LINE else b""
            yield from whole

    def _take(self, data: bytes) -> Sample | None:
        try:
            line = self._decode(data)
        except (ValueError, RecursionError):
            return None
        self._heard = monotonic()
        if line.begin is not None:
            self._started = line.begin
        if isinstance(line.gpu, About):
            self.gpus[line.gpu.key] = line.gpu
        if line.error is not None and line.field is not None and line.gpu is None:
            self._refused = (line.field, line.error, line.text)
        if line.sample is None:
            return None
        self._samples += 1
        return sensible(line.sample)

    def stop(self, patience_s: float = PATIENCE_S) -> list[Sample]:
        """End it and return the last samples. One that hangs inside the driver is killed, or left behind."""
        last = self.read()
        if self._in >= 0:
            os.close(self._in)
            self._in = -1
        try:
            return last if not self.pid or self._status is not None else self._leave(last, patience_s)
        finally:
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1

    def _leave(self, last: list[Sample], patience_s: float) -> list[Sample]:
        end = monotonic() + patience_s
        killed = False
        while not self._reap():
            if monotonic() > end:
                if killed:
                    break
                with contextlib.suppress(OSError):
                    os.kill(self.pid, signal.SIGKILL)
                killed, end = True, monotonic() + patience_s / 2
            signal.sigtimedwait([], 0.005)
        return last + self.read()

    def _reap(self) -> bool:
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self._status, self.cpu_s = status, usage.ru_utime + usage.ru_stime
        return pid != 0

    def end(self, now: float | None = None) -> StepEnd | None:
        """How it went wrong, where it did. `now`: time.monotonic(), where it is not now that is meant."""
        fault: Fault = "failed"
        silent = (monotonic() if now is None else now) - self._heard
        if self._refused is not None:
            field, code, text = self._refused
            fault = "skipped" if field == "library" else "failed"
            return StepEnd(agent=AGENT, step=_STEPS.get(field, field), fault=fault, detail=text or f"NVML {code}")
        if self._status is not None and os.WIFSIGNALED(self._status) and os.WTERMSIG(self._status) != signal.SIGKILL:
            words = f"signal {os.WTERMSIG(self._status)}"
            return StepEnd(agent=AGENT, step=self._started, fault="crash", detail=words)
        if silent > SILENT_S + 10 * self._interval_s:
            words = f"no answer for {silent:.0f} s"
            step = "an NVML call" if self._samples else self._started
            return StepEnd(agent=AGENT, step=step, fault="hang", detail=words)
        if not self._samples:
            return StepEnd(agent=AGENT, step=self._started, fault="skipped", detail="it exited before NVML answered")
        return None
