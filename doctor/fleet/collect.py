"""The collector: it asks each node once through an engine, and owns all deadlines.

What arrives is handed on at once, so that a run that is ended has all that came until then.
"""

from __future__ import annotations

import zlib
from collections import Counter, deque
from collections.abc import Collection
from time import monotonic, time
from typing import Any, Protocol

from ..guard import Refusal
from ..targets.far_refusals import no_python
from .answer import MARK, Reader
from .gather import BEGINS, FAILS, Engine, Event, Limits, Probe, Roster
from .installed import why_failed

_TICK_S = 0.2
_STORE_S = 1.0
_LONGEST = 400
_NO_TURN = "the run's deadline came before its turn"
_NO_TIME = "the run's deadline came before it answered"
_CUT = "the run was stopped before this node answered"


class Take(Protocol):
    """Where answers go."""

    def answer(self, node: str, data: bytes, received: float) -> str:
        """Why these bytes, received at this time (seconds since 1970 UTC), are none; empty if they are one."""

    def failed(self, node: str, reason: str) -> None:
        """There is none."""

    def left(self, words: str) -> None:
        """What the engine could not end, or not begin any more."""

    def store(self) -> None:
        """Keep what came; called about once a second."""

    def say(self, words: str) -> None:
        """The state of the run, in a few words."""


class _Contact:
    """A node that was asked."""

    __slots__ = ("answered", "began", "failure", "last", "lost", "reader")

    def __init__(self, run: str) -> None:
        self.reader = Reader(run)
        self.began: float | None = None
        self.failure = ""
        self.last = b""
        """The last line of a gpudoctor's own."""
        self.answered = self.lost = False


def collect(
    engine: Engine, roster: Roster, probe: Probe, limits: Limits, take: Take, only: Collection[str] | None = None
) -> None:
    """Ask all nodes of the roster, or `only` some of them. Whatever ends it, the engine's work is ended and each node
    has its reason. Raises Refusal if nothing can be started."""
    names = roster.names if only is None else only
    run = _Run(engine, roster, names, probe, limits, take)
    try:
        for node, reason in roster.left_out.items() if only is None else ():
            run.fail(node, reason)
        for _ in range(1 + limits.retry):
            names = run.round(names)
            if not names or run.over():
                break
    except Refusal as error:
        if not run.started:
            raise
        take.left(str(error))
    finally:
        run.stop()
        run.take(None)
        run.close()


class _Run:
    def __init__(
        self, engine: Engine, roster: Roster, names: Collection[str], probe: Probe, limits: Limits, take: Take
    ) -> None:
        self._engine, self._roster, self._probe, self._limits, self._take = engine, roster, probe, limits, take
        self._began = monotonic()
        self._stored = monotonic()
        self._contacts: dict[str, _Contact] = {}
        self._job: Any = None
        self.started = False
        self._counts: Counter[str] = Counter()
        self._arrived: deque[tuple[str, bytes, float]] = deque()
        """Answers to hand on, compressed: that may be slower than reading, and must not make nodes late."""
        self._number = len(names)
        self.open = set(names)
        """Nodes of which nothing is known yet."""

    def over(self) -> bool:
        """Whether the time for the whole run is over."""
        return self._limits.run_s is not None and monotonic() - self._began >= self._limits.run_s

    def round(self, names: Collection[str]) -> list[str]:
        """Ask these; returns those that were lost."""
        waiting = set(names)
        self._job = self._engine.start(self._roster, names, self._probe)
        self.started = True
        self._contacts = {name: _Contact(self._probe.run) for name in names}
        while waiting and not self.over():
            for event in self._engine.answers(self._job, _TICK_S):
                self._hear(event, waiting)
            self._end_late(waiting)
            self.take(_TICK_S)
            self._tick()
        for node in sorted(waiting):
            self.fail(node, self._why_late(node, _NO_TIME))
        self.stop()
        self.take(None)
        return [name for name, one in self._contacts.items() if one.lost and name in self.open]

    def close(self) -> None:
        """No more attempts: those that were lost, and, if the run was cut short, those that had not answered yet."""
        for node in sorted(self.open):
            one = self._contacts.get(node)
            self.fail(node, (one and one.failure) or _CUT)

    def stop(self) -> None:
        """End all that the engine started."""
        if self._job is not None:
            left = self._engine.stop(self._job)
            self._job = None
            if left:
                self._take.left(left)

    def fail(self, node: str, reason: str) -> None:
        self.open.discard(node)
        self._counts["failed"] += 1
        self._take.failed(node, reason)

    def _hear(self, event: Event, waiting: set[str]) -> None:
        one = self._contacts.get(event.node)
        if one is None:
            return
        if event.kind == "began":
            one.began = one.began or monotonic()
        elif event.kind == "line" and event.node in waiting:
            for data in one.reader.feed(event.data):
                one.answered = True
                self._arrived.append((event.node, zlib.compress(data, 1), time()))
            words = event.data.split()
            if words[:2] == [FAILS, self._probe.run.encode()]:
                one.failure = self._why_failed(words[2:], one.last)
                self.fail(event.node, one.failure)
            elif words and words[0] != BEGINS and MARK.strip() not in words:
                one.last = event.data[:_LONGEST]
        elif event.kind == "ended" and event.node in waiting and not one.answered:
            damage = next(iter(one.reader.rest()), "")
            one.lost = not one.failure and (event.lost or bool(damage))
            one.failure = one.failure or damage or event.reason or "it exited without an answer"
            if not one.lost:
                self.fail(event.node, one.failure)
        if one.answered or one.failure:
            waiting.discard(event.node)

    def _why_failed(self, words: list[bytes], last: bytes) -> str:
        """What the probe's own line says: words after the run."""
        if not self._probe.installed:
            return no_python(words)
        code = words[0].decode("ascii", "replace") if words else ""
        return why_failed(self._probe.installed, code, last.decode("utf-8", "replace"))

    def take(self, seconds: float | None) -> None:
        """Hand on what arrived, for so long; all of it without a limit."""
        until = None if seconds is None else monotonic() + seconds
        while self._arrived and (until is None or monotonic() < until):
            node, packed, received = self._arrived[0]
            reason = self._take.answer(node, zlib.decompress(packed), received)
            self._arrived.popleft()
            if reason:
                self.fail(node, reason)
            else:
                self.open.discard(node)
                self._counts["answered"] += 1
            self._tick()

    def _end_late(self, waiting: set[str]) -> None:
        now, limit = monotonic(), self._limits.node_s
        late = [name for name, one in self._contacts.items() if one.began is not None and now - one.began > limit]
        late_waiting = [name for name in late if name in waiting]
        if late:  # one that has answered, too: it may hold a connection open
            self._engine.stop(self._job, late)
        for name in late_waiting:
            self._counts["late"] += 1
            self.fail(name, self._why_late(name, f"no answer in {limit:,.0f} s"))
            waiting.discard(name)
        for name in late:
            self._contacts[name].began = None

    def _why_late(self, node: str, words: str) -> str:
        if self._contacts[node].began is None:
            return _NO_TURN
        damage = next(iter(self._contacts[node].reader.rest()), "")
        return words + (f" ({damage})" if damage else "")

    def _tick(self) -> None:
        if monotonic() - self._stored < _STORE_S:
            return
        self._take.store()
        self._stored = monotonic()
        several = [f"{self._counts[word]:,} {word}" for word in ("answered", "failed", "late") if self._counts[word]]
        self._take.say(", ".join(["1 node" if self._number == 1 else f"{self._number:,} nodes", *several]))
