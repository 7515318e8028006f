"""The loop: mutate, run with a time limit and a bound on memory, keep what reached new code, collect what went wrong."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from time import perf_counter, process_time
from types import FrameType
from typing import Any, NamedTuple

from .targets import Target, corpus

LIMIT_S = 1.0
"""Processor time for one input (another program's load is not its fault); the largest valid one takes a hundredth."""
TRACED = 4
"""One input in so many is run under a tracer: tracing costs ten times the run."""
MOST_KEPT = 400
MOST_FOUND = 20


class TimeUp(BaseException):
    """The input took too long."""


class Found(NamedTuple):
    """Something that went wrong: what, and the input."""

    what: str
    data: bytes


class Result(NamedTuple):
    """One campaign. `steps`: steps from line to line of our code that were taken; `slowest_ms`: the slowest input."""

    inputs: int
    seconds: float
    slowest_ms: float
    grown_mib: float
    steps: int
    kept: int
    found: list[Found]


def fuzz(name: str, target: Target, count: int, seed: int, limit_s: float = LIMIT_S) -> Result:
    """`count` inputs made of the target's seeds and what grew out of them."""
    random = Random(f"{name} {seed}")
    base = target.seeds()
    pool = [*base, *(path.read_bytes() for path in corpus(name))]
    reached: set[tuple[str, int, int]] = set()
    found: dict[str, Found] = {}
    for data in pool:
        with _tracing(reached):
            _fail(found, target, data, limit_s)
    slowest, begun, first_mib = 0.0, perf_counter(), _peak_mib()
    for number in range(count):
        start = random.choice(base) if random.random() < 0.3 else random.choice(pool)
        data = target.mutate(random, start, pool, target.words)
        before, peak = len(reached), _peak_mib()
        clock = process_time()
        if number % TRACED:
            _fail(found, target, data, limit_s)
            slowest = max(slowest, process_time() - clock)
        else:
            with _tracing(reached):
                _fail(found, target, data, limit_s)
            if len(reached) > before and len(pool) < MOST_KEPT:
                pool.append(data)
        if _peak_mib() - peak > target.most_mib:
            found.setdefault("memory", Found(f"one input took {_peak_mib() - peak:.0f} MiB", data))
        if len(found) >= MOST_FOUND:
            break
    return Result(
        number + 1,
        perf_counter() - begun,
        slowest * 1e3,
        _peak_mib() - first_mib,
        len(reached),
        len(pool) - len(base),
        list(found.values()),
    )


def run_once(target: Target, data: bytes, limit_s: float = LIMIT_S) -> None:
    """Run one input; raises what the parser raised, or TimeUp."""
    previous = signal.signal(signal.SIGPROF, _time_up)
    signal.setitimer(signal.ITIMER_PROF, limit_s, limit_s / 4)  # again and again: a generator's end swallows one
    try:
        target.take(data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _fail(found: dict[str, Found], target: Target, data: bytes, limit_s: float) -> None:
    try:
        run_once(target, data, limit_s * (10 if sys.gettrace() else 1))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        what, where = f"{type(error).__name__}: {str(error)[:200]}", _where(error)
        found.setdefault(f"{type(error).__name__} {where}", Found(f"{what} ({where})", data))


def _where(error: BaseException) -> str:
    """File and line of the innermost frame that is ours."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/doctor/" in file or "/compat_matrix/" in file or not place:
            place = f"{'/'.join(file.split('/')[-3:])}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _time_up(_number: int, _frame: FrameType | None) -> None:
    raise TimeUp("over the time limit")


@contextmanager
def _tracing(reached: set[tuple[str, int, int]]) -> Iterator[None]:
    """Note which steps from line to line of our code are taken; the checks and renderers are left out."""

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        file, before = frame.f_code.co_filename, 0

        def local(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal before
            if event == "line":
                reached.add((file, before, frame.f_lineno))
                before = frame.f_lineno
            return local

        return local if "/doctor/" in file and "/checks/" not in file and "/report/" not in file else None

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def _peak_mib() -> float:
    """Of this program alone: ru_maxrss also counts what the process was before it became this program."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next((int(row.split()[1]) / 1024 for row in status if row.startswith("VmHWM:")), 0.0)
