"""The child that samples NVML while the others run: it runs until its stdin closes; where it hangs, its lifeline."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from threading import Thread
from time import monotonic
from typing import IO

from ..targets.agent import AgentResult, Fault, Output

OUTPUT_LIMIT = 32 << 20
"""Bytes of samples that are kept, the first ones: ten minutes on eight GPUs."""
PATIENCE_S = 2.0
"""How long it may take to leave; a call into a dead driver does not return."""


class Sampler:
    """`with Sampler(command) as sampler: ...`; its lines are in `sampler.result()` afterwards."""

    def __init__(self, command: Sequence[str]) -> None:
        self._started = monotonic()
        self._output = Output()
        self._hung = False
        self._threads: list[Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        pipe = subprocess.PIPE
        try:
            held, self._lifeline = os.pipe()
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    start_new_session=True,
                    pass_fds=(held,),
                    env={**os.environ, "GPUDOCTOR_LIFELINE": str(held)},
                )
            finally:
                os.close(held)
        except (OSError, ValueError) as error:
            self._output.feed_stderr(str(error).encode("utf-8", "replace"))

    def __enter__(self) -> Sampler:
        if self._process is not None:
            for stream, feed in (
                (self._process.stdout, self._output.feed),
                (self._process.stderr, self._output.feed_stderr),
            ):
                self._threads.append(Thread(target=self._pump, args=(stream, feed), daemon=True))
                self._threads[-1].start()
        return self

    def _pump(self, stream: IO[bytes], feed: Callable[[bytes], None]) -> None:
        while data := stream.read1(1 << 16):  # type: ignore[attr-defined]
            if self._output.size <= OUTPUT_LIMIT:  # the pipe is emptied all the same
                feed(data)

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._hung = True
            self._process.kill()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        os.close(self._lifeline)

    def result(self) -> AgentResult:
        """What it wrote."""
        code = None if self._process is None else self._process.poll()
        fault: Fault | None = "failed" if self._process is None else "hang" if self._hung else None
        return self._output.result(code, fault, monotonic() - self._started)
