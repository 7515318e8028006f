"""Judging in several processes, a bounded number of reports at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal

from ...findings import Finding, Policy
from ...guard import Refusal
from ...snapshot import Snapshot
from .judged import judged_bytes, result_of, task_of

Take = Callable[[tuple[Finding, ...], str], None]
_AHEAD = 4
"""Reports that wait for each process."""


class Judges:
    """`with Judges(jobs) as judges:`; one alone judges in this process, and none is started before it is needed."""

    def __init__(self, jobs: int) -> None:
        self.alone = jobs <= 1
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: dict[Future[bytes], Take] = {}

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def give(self, snapshot: Snapshot, policy: Policy, day: str, take: Take) -> None:
        """Judge it some time; `take` is called in this process with findings and verdict, at the latest by `finish`."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._jobs, mp_context=get_context("spawn"), initializer=signal, initargs=(SIGINT, SIG_IGN)
            )  # an interrupt is this process's to tell
        self._waiting[self._pool.submit(judged_bytes, task_of(snapshot, policy, day))] = take
        while len(self._waiting) > _AHEAD * self._jobs:
            self._take()

    def finish(self) -> None:
        while self._waiting:
            self._take()

    def _take(self) -> None:
        done, _ = wait(self._waiting, return_when=FIRST_COMPLETED)
        for future in done:
            take = self._waiting.pop(future)
            try:
                take(*result_of(future.result()))
            except BrokenProcessPool:
                raise Refusal("a worker process was killed (out of memory?); use fewer --jobs") from None
