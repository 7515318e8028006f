"""The measurement of links between nodes: round after round of pairs, each with its own time."""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic
from typing import Any, Protocol

from .gather import FAILS, PairEngine, Probe, Roster
from .installed import why_failed
from .link_answer import Measured, read_measured
from .link_rates import LinkRate
from .link_verdict import suspects
from .rounds import Pair, Switches, Turn, first_rounds, fourth_round

_TICK_S = 0.2
_STORE_S = 1.0
_MOST_BYTES = 16 << 20
"""Of the output of a pair."""
_END = b"}"
"""The last line of a report."""
_GRACE_S = 5.0
"""For the ranks to end by themselves after it: srun may stay for a minute."""
_NO_TURN = "the run's deadline came before its turn"
_NO_TIME = "the run's deadline came before it answered"
_CUT = "the run was stopped before this pair answered"


class LinkTake(Protocol):
    """Where the answers of pairs go."""

    def link(self, pair: Pair, found: Measured) -> None:
        """What a pair measured."""

    def left(self, words: str) -> None:
        """What the engine could not end."""

    def store(self) -> None:
        """Keep what came; called about once a second."""

    def say(self, words: str) -> None:
        """The state of the run, in a few words."""


class LinkLimits:
    """pair_s: for one pair; until: when all ends, by time.monotonic; None: never."""

    def __init__(self, pair_s: float, until: float | None) -> None:
        self.pair_s, self._until = pair_s, until

    def over(self) -> bool:
        return self._until is not None and monotonic() >= self._until


def measure_links(
    engine: PairEngine,
    roster: Roster,
    names: Collection[str],
    switches: Switches,
    probe: Probe,
    limits: LinkLimits,
    take: LinkTake,
) -> None:
    """All rounds. A pair that hangs ends only itself; whatever ends the run, what was started is ended. Raises Refusal
    if nothing can be started."""
    rates: list[LinkRate] = []
    for turn in first_rounds(names, switches):
        rates += _Turn(engine, roster, probe, limits, take, turn).rates()
    if limits.over():
        return
    doubts, good = suspects(rates, switches)
    for turn in fourth_round(doubts, good, switches, [one.pair for one in rates]):
        rates += _Turn(engine, roster, probe, limits, take, turn).rates()


class _Waiting:
    """A pair that was started."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.began: float | None = None
        self.failure = ""
        self.lines: list[bytes] = []
        self.size = 0


class _Turn:
    def __init__(
        self, engine: PairEngine, roster: Roster, probe: Probe, limits: LinkLimits, take: LinkTake, turn: Turn
    ) -> None:
        self._engine, self._roster, self._probe, self._limits, self._take = engine, roster, probe, limits, take
        self._turn = turn
        self._open = {pair.one: _Waiting(pair) for pair in turn}
        self._ending: dict[str, tuple[Pair, float]] = {}
        """Pairs that have answered, by their first node, and until when they may end by themselves."""
        self._rates: list[LinkRate] = []
        self._stored = monotonic()
        self._job: Any = None

    def rates(self) -> list[LinkRate]:
        """Of all pairs, whether they have a number or not."""
        try:
            if not self._limits.over():
                pairs = [(pair.one, pair.other) for pair in self._turn]
                self._job = self._engine.start_pairs(self._roster, pairs, self._probe)
            while (self._open or self._ending) and not self._limits.over():
                for event in self._engine.answers(self._job, _TICK_S):
                    self._hear(event.node, event.kind, event.data, event.reason)
                self._end_late()
                self._tick()
            for one in list(self._open.values()):
                self._end(one, Measured(None, _NO_TURN if one.began is None else _NO_TIME))
        finally:
            if self._job is not None and (left := self._engine.stop(self._job)):
                self._take.left(left)
            for one in list(self._open.values()):
                self._end(one, Measured(None, _CUT))
        return self._rates

    def _hear(self, node: str, kind: str, data: bytes, reason: str) -> None:
        if kind == "ended":
            self._ending.pop(node, None)
        one = self._open.get(node)
        if one is None:
            return
        if kind == "began":
            one.began = one.began or monotonic()
        elif kind == "line" and data.split()[:2] == [FAILS, self._probe.run.encode()]:
            code = data.split()[2:3]
            one.failure = why_failed(self._probe.installed, code[0].decode("ascii", "replace") if code else "", "")
        elif kind == "line":
            one.size += len(data)
            if one.size <= _MOST_BYTES:
                one.lines.append(data)
            if data.rstrip() == _END:
                found = read_measured(one.lines)
                if found is not None:
                    self._end(one, found)
                    self._ending[node] = (one.pair, monotonic() + _GRACE_S)
        else:
            reason = one.failure or reason or "it exited without an answer"
            self._end(one, read_measured(one.lines) or Measured(None, reason))

    def _end(self, one: _Waiting, found: Measured) -> None:
        del self._open[one.pair.one]
        self._rates.append(LinkRate(one.pair, found.value, found.reason))
        self._take.link(one.pair, found)

    def _end_late(self) -> None:
        now, limit = monotonic(), self._limits.pair_s
        for node in [node for node, (_, until) in self._ending.items() if now > until]:
            pair, _ = self._ending.pop(node)
            self._engine.stop(self._job, pair[2:])
        for one in [one for one in self._open.values() if one.began is not None and now - one.began > limit]:
            self._engine.stop(self._job, one.pair[2:])
            self._end(one, Measured(None, f"no answer in {limit:,.0f} s"))

    def _tick(self) -> None:
        if monotonic() - self._stored < _STORE_S:
            return
        self._take.store()
        self._stored = monotonic()
        done = len(self._turn) - len(self._open)
        self._take.say(f"links, round {self._turn[0].round}: {done:,} of {len(self._turn):,} pairs")
