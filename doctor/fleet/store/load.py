"""Filling a database: every piece is an answer of a node or a refused line, and nothing stops the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ... import __version__
from ...guard import Refusal
from ..envelope import Answer, name_in, open_envelope
from ..foreign import is_unread
from ..kinds import Refused
from ..lines import Piece
from .answers import Answers
from .draft import Draft
from .judges import Judges
from .look import Silence, after
from .machines import moment
from .tables import Tables, node_row
from .wanted import Wanted

_MOST_REFUSED = 1000
"""Lines of one file that are named one by one."""


class Loaded(NamedTuple):
    """What a run did."""

    answered: int
    missing: int
    """Requested nodes without an answer, and others that could not be examined."""
    not_requested: int
    """Nodes that answered and were not asked for."""
    refused: int
    pieces: int
    judged_here: int
    first_refused: Refused | None


def load(
    draft: Draft, pieces: Iterable[Piece | Refused], requested: list[str], source: str, judge_all: bool, jobs: int
) -> Loaded:
    """Fill a draft. `requested`: nodes that were asked for; `source`: where the answers come from, as text."""
    with Judges(jobs) as judges:
        filling = Filling(Tables(draft.db), judges, judge_all, requested)
        for piece in pieces:
            if isinstance(piece, Refused):
                filling.refuse(piece)
            else:
                filling.add(piece)
        return filling.end(source)


class Filling:
    """Takes pieces in any order; `end` when all have come."""

    def __init__(self, tables: Tables, judges: Judges, judge_all: bool, requested: list[str]) -> None:
        """`requested`: nodes that were asked for."""
        self._tables, self._judges = tables, judges
        self._answers = Answers(tables, judges, judge_all)
        self._machines = self._answers.machines
        self._wanted = Wanted(requested)
        self._silent: dict[str, Silence] = {}
        self._first: Refused | None = None
        self._of_file: dict[str, int] = {}
        self._refused_count = 0
        self._pieces = 0

    def refuse(self, one: Refused, answers: int = 1) -> None:
        """`answers`: how many a row stands for. A file of another kind is none that was expected."""
        if not is_unread(one.reason):
            self._tables.refused(one)
            return
        self._pieces += 1
        self._refused_count += answers
        self._wanted.refused(one)
        of_file = self._of_file[one.file] = self._of_file.get(one.file, 0) + 1
        if of_file <= _MOST_REFUSED:
            reason = self._tables.refused(one)
            self._first = self._first or one._replace(reason=reason, quote="")

    def add(self, piece: Piece) -> None:
        self._pieces += 1
        try:
            answer = open_envelope(piece.data, piece.hint)
            if answer.report is None:
                self._not_examined(piece, answer)
                return
            sections = self._answers.read(answer.report)
        except Refusal as error:
            self._pieces -= 1
            self.refuse(Refused(piece.file, piece.line, str(error), name_in(piece.data) or piece.hint))
            return
        self._answers.take(piece, answer, answer.report, sections)

    def _not_examined(self, piece: Piece, answer: Answer) -> None:
        """The last word counts; where two have no time, the one that was read last."""
        new = Silence(answer.reason, answer.received or piece.modified, answer.received)
        old = self._silent.get(answer.node)
        if old is None or not after(old, new):
            self._silent[answer.node] = new

    def end(self, source: str) -> Loaded:
        """What is known once all has been read."""
        self._judges.finish()
        self._refuse_namesakes()
        here = self._answers.end()
        answered = {name for name, _ in self._machines.all()} - self._silenced()
        heard = {name for name, _ in self._machines.all()} | self._silent.keys()
        self._wanted.match(heard)
        missing = len(self._silent.keys() - answered)
        for name in dict.fromkeys((*self._wanted.silent(), *self._silent)):
            if self._machines.of(name):
                continue
            number = self._answers.next_number()
            silence = self._silent.get(name)
            reason = silence.reason if silence else self._wanted.why(name)
            missing += silence is None
            row = {"state": "not-examined" if silence else "no-answer", "reason": self._tables.masked(reason, 400)}
            self._tables.node(node_row(number, name, None) | row)
            self._remark(name, number)
        for name, one in self._machines.all():
            self._remark(name, one.number)
        self.run(source, here)
        for file, count in self._of_file.items():
            if count > _MOST_REFUSED:
                self._tables.refused(Refused(file, 0, f"and {count - _MOST_REFUSED:,} more lines in this file"))
        others = len(self._wanted.others)
        return Loaded(len(answered), missing, others, self._refused_count, self._pieces, here, self._first)

    def run(self, source: str, judged_here: int) -> None:
        """The row of the run, as far as it has come."""
        answers = self._answers
        counts = (len(self._wanted.names), judged_here, len(answers.seen) - judged_here)
        self._tables.run((*answers.times, source, __version__, answers.matrix, *counts))

    def has_answered(self, node: str) -> bool:
        return bool(self._machines.of(node))

    def _silenced(self) -> set[str]:
        """The nodes that answered, and were not to be examined later; of the others it is said what was before."""
        found = set()
        for name, silence in self._silent.items():
            machines = self._machines.of(name)
            seen = [look for one in machines for look in self._answers.seen[one.number]]
            if not seen:
                continue
            last = max(seen, key=lambda look: look.at)
            if not after(silence, last):
                when = f" (at {moment(silence.at)})" if silence.sent else ""
                self._tables.remark(
                    machines[0].number, "silent-before", f"{self._tables.masked(silence.reason, 400)}{when}"
                )
                continue
            found.add(name)
            for one in machines:
                failed = any(look.plain == "fail" for look in self._answers.seen[one.number])
                words = f"{self._tables.masked(silence.reason, 300)}; its last answer was at {moment(last.at)}"
                self._tables.silent(one.number, "fail" if failed else "", words)
        return found

    def _remark(self, name: str, number: int) -> None:
        if name in self._wanted.others:
            self._tables.remark(number, "not-requested", "")
        elif name in self._wanted.known_as:
            self._tables.remark(number, "answered-as", self._wanted.known_as[name])

    def _refuse_namesakes(self) -> None:
        """File names that say nothing: they stand in several folders, and nothing shows that these are one machine."""
        for name, one in self._machines.all():
            if one.hinted and one.agreeing == 1:
                for number in self._machines.unname(name, 0):
                    self._answers.drop(number)
        for name, count in self._machines.names_of_nobody().items():
            words = f"{count:,} files are" if count > 1 else "one of several files is"
            reason = f"{words} called {name}.json: give the nodes different file names, or name them in an envelope"
            self.refuse(Refused(f"{name}.json", 0, reason), count)
