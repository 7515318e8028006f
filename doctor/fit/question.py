"""What was asked, and the whole answer: the parts, the ladder, the largest that fits."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .cards import Board
from .ladder import ADAPTED, Rung, as_done, ladder, ways
from .memory import Estimate, Part, chosen, estimate, per_parameter
from .pace import Pace, pace
from .shape import Shape
from .solve import Solved, largest
from .work import Work


class Question(Struct, frozen=True, kw_only=True):
    """count: parameters; fewest: the least there can be where the family is not known; guessed: the shape is a typical
    one; board.memory: bytes, the share that may be used already taken."""

    shape: Shape
    count: float
    fewest: float
    name: str
    work: Work
    board: Board
    share: float = 1.0
    notes: tuple[str, ...] = ()
    guessed: bool = False
    solve: str = ""
    sizes: tuple[Board, ...] = ()
    """The boards of this name with more memory than `board`, which is the smallest; the smaller first."""
    others: tuple[Board, ...] = ()
    """GPUs that the same work is compared on."""


class Compared(Struct, frozen=True):
    """The same work on other GPUs: the first way that fits there, or may, and its pace; solved: with --solve."""

    board: Board
    way: str
    sure: bool
    pace: Pace | None
    solved: Solved | None = None

    @property
    def exit_code(self) -> int:
        """As that of an answer."""
        return _exit_code(self.solved, self.sure, bool(self.way))


class Answer(Struct, frozen=True, kw_only=True):
    """whole: all on one GPU; within: None if only the low ends do; first: the first rung that does for sure.

    enough: where no rung of all weights may, how many such GPUs would do for sure, and by which rung; up to 64 the
    fewest. sizes: the same on the boards of this name that have more memory.
    """

    whole: Estimate
    within: bool | None
    rungs: tuple[Rung, ...]
    first: Rung | None
    perhaps: Rung | None
    pace: Pace | None
    compared: tuple[Compared, ...]
    solved: Solved | None
    enough: tuple[int, str] | None = None
    sizes: tuple[Compared, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 it fits, as it is or in a way that is named (with --solve: some value does), 1 it does not, 3 it may.

        3 also where it fits on some memory sizes of a name only.
        """
        own = _exit_code(self.solved, self.first is not None, self.perhaps is not None)
        codes = {own, *(one.exit_code for one in self.sizes)}
        return codes.pop() if len(codes) == 1 else 3

    def plain(self, q: Question) -> dict[str, Any]:
        """For JSON: bytes, milliseconds, and the question."""
        return {
            "parameters": q.count,
            "model": q.name,
            "shape": q.shape,
            "shape_guessed": q.guessed,
            "work": q.work,
            "gpus": q.board,
            "fits": self.within,
            "exit_code": self.exit_code,
            "memory": {"low": self.whole.low, "high": self.whole.high, "parts": self.whole.parts},
            "ways": [
                {
                    "name": rung.name,
                    "low": rung.held.low,
                    "high": rung.held.high,
                    "fits": rung.within(q.board.memory),
                    "sent_per_step": rung.sent,
                    "link_gb_s": rung.link_gb_s,
                    "ms_on_the_link": rung.ms,
                    "what": rung.words,
                }
                for rung in self.rungs
            ],
            "first_that_fits": self.first.name if self.first else None,
            "enough": {"gpus": self.enough[0], "way": self.enough[1]} if self.enough else None,
            "pace": self.pace,
            "compared": self.compared,
            "sizes": self.sizes,
            "solved": self._solved(q),
            "notes": q.notes,
        }

    def _solved(self, q: Question) -> dict[str, Any] | None:
        if self.solved is None:
            return None
        return {"for": q.solve, "sure": self.solved.sure, "perhaps": self.solved.perhaps, "ended_by": self.solved.part}


def answer(q: Question) -> Answer:
    """Everything that the command prints."""
    whole = estimate(q.shape, q.count, q.work)
    if q.fewest < q.count:
        whole = _down_to(estimate(q.shape, q.fewest, q.work), whole)
    rungs = _ways(q, q.board)
    memory = q.board.memory
    within = True if whole.high <= memory else None if whole.low <= memory else False
    first = next((rung for rung in rungs if rung.within(memory)), None)
    perhaps = next((rung for rung in rungs if rung.within(memory) is None), None)
    plain = [rung for rung in rungs if rung.name.partition(",")[0] not in ADAPTED]
    return Answer(
        pace=_pace(q, q.board, first),
        compared=tuple(_compared(q, board) for board in q.others),
        whole=whole,
        within=within,
        rungs=rungs,
        first=first,
        perhaps=perhaps,
        solved=_solved(q, q.board),
        enough=None if any(rung.within(memory) is not False for rung in plain) else _enough(q),
        sizes=tuple(_compared(q, board) for board in q.sizes),
    )


def _down_to(few: Estimate, whole: Estimate) -> Estimate:
    """From the low ends of the fewest parameters to the high ends of the most."""
    least = {part.name: part.low for part in few.parts}
    parts = tuple(Part(one.name, min(least.get(one.name, one.low), one.low), one.high, one.note) for one in whole.parts)
    return Estimate(parts, (few.states[0], whole.states[1]), whole.accumulating)


def _ways(q: Question, board: Board) -> tuple[Rung, ...]:
    rungs = tuple(ways(q.shape, q.count, q.work, board))
    if q.fewest >= q.count:
        return rungs
    few = {rung.name: rung.held for rung in ways(q.shape, q.fewest, q.work, board)}
    return tuple(replace(rung, held=_down_to(few.get(rung.name, rung.held), rung.held)) for rung in rungs)


def _exit_code(solved: Solved | None, sure: bool, perhaps: bool) -> int:
    if solved is not None:
        return 0 if solved.sure else 3 if solved.perhaps else 1
    return 0 if sure else 3 if perhaps else 1


def _solved(q: Question, board: Board) -> Solved | None:
    if not q.solve:
        return None
    split = q.work.task == "inference" and q.shape.heads % board.count == 0
    found, few = (
        largest(q.shape, count, q.work, board.memory, q.solve == "seq", board.count if split else 1)
        for count in (q.count, q.fewest)
    )
    return replace(found, perhaps=max(found.perhaps, few.perhaps))


_MOST = 4096
"""GPUs that are tried."""
_EACH = 64
"""Up to so many each number is tried: what splits evenly need not be a power of two."""


def _enough(q: Question) -> tuple[int, str] | None:
    def way(count: int) -> str | None:
        rungs = ladder(q.shape, q.count, q.work, replace(q.board, count=count))
        return next((rung.name for rung in rungs if rung.within(q.board.memory)), None)

    if q.board.mig:
        return None
    low = high = max(1, q.board.count)
    while not way(high):
        low, high = high, 2 * high
        if high > _MOST:
            return None
    if high <= _EACH:
        high = next(count for count in range(low + 1, high + 1) if way(count))
    while high - low > 1 and high > _EACH:
        middle = (low + high) // 2
        low, high = (low, middle) if way(middle) else (middle, high)
    return high, way(high) or ""


def _pace(q: Question, board: Board, way: Rung | None) -> Pace | None:
    """On each GPU where a copy, or its share of the split model, is at work."""
    sent = way.sent if way is not None and board.count > 1 and way.name != "offload" else 0.0
    name = way.name if way is not None else "none"
    found = pace(q.shape, q.count, as_done(q.work, name), board, name, sent)
    whole = estimate(q.shape, q.count, q.work)
    if found is not None and found.copies > 1:
        found = replace(found, copies=max(1, min(found.copies, int(board.memory / whole.high))))
    return found


def _compared(q: Question, board: Board) -> Compared:
    rungs = _ways(q, board)
    sure = next((rung for rung in rungs if rung.within(board.memory)), None)
    way = sure or next((rung for rung in rungs if rung.within(board.memory) is None), None)
    return Compared(board, way.name if way else "", sure is not None, _pace(q, board, sure), _solved(q, board))


def tables(q: Question) -> list[tuple[str, float, str]]:
    """(school, bytes per trained parameter, why) of each rule table that applies; none for inference."""
    if q.work.task == "inference":
        return []
    return [(rule.title, sum(per_parameter(rule, q.work).values()), rule.why) for rule in chosen(q.work)]
