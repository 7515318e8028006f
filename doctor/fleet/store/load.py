"""Filling a database: every piece is an answer of a node or a refused line, and nothing stops the rest."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ... import __version__
from ...guard import Refusal
from ...snapshot import known
from ..cohorts import cohort_of
from ..envelope import Answer, Report, open_envelope
from ..kinds import Refused
from ..sources import Piece
from .draft import Draft
from .judged import judged_here, node_verdict
from .judges import Judges
from .machines import Known, Machines, seconds_of
from .rates import Figure, gpu_numbers
from .sections import Reader, Sections, whole_snapshot
from .tables import Tables, node_row

_MOST_REFUSED = 1000
"""Lines of one file that are named one by one."""


class Loaded(NamedTuple):
    """What a run did."""

    answered: int
    missing: int
    """Requested nodes without an answer."""
    refused: int
    pieces: int
    judged_here: int
    first_refused: Refused | None


class _Later(NamedTuple):
    """A measurement that was repeated, whose first look has not come yet."""

    piece: Piece
    name: str
    repeat: int
    figures: tuple[Figure, ...]
    uuids: frozenset[str]


def load(
    draft: Draft, pieces: Iterable[Piece | Refused], requested: list[str], source: str, judge_all: bool, jobs: int
) -> Loaded:
    """Fill a draft. `requested`: nodes that were asked for; `source`: where the answers come from, in words."""
    with Judges(jobs) as judges:
        filling = _Filling(Tables(draft.db), judges, judge_all)
        for piece in pieces:
            if isinstance(piece, Refused):
                filling.refuse(piece)
            else:
                filling.add(piece)
        return filling.end(requested, source)


class _Filling:
    def __init__(self, tables: Tables, judges: Judges, judge_all: bool) -> None:
        from compat_matrix import Matrix

        self._tables, self._judges, self._judge_all = tables, judges, judge_all
        self._matrix = Matrix.load().version
        self._reader = Reader()
        self._machines = Machines()
        self._reasons: dict[str, str] = {}
        self._later: list[_Later] = []
        self._number = 0
        self._first: Refused | None = None
        self._of_file: dict[str, int] = {}
        self._refused_count = 0
        self._pieces = 0
        self._here: set[int] = set()
        self._times = [0.0, 0.0]

    def refuse(self, one: Refused, answers: int = 1) -> None:
        """`answers`: how many a row stands for."""
        self._pieces += 1
        self._refused_count += answers
        self._first = self._first or one
        of_file = self._of_file[one.file] = self._of_file.get(one.file, 0) + 1
        if of_file <= _MOST_REFUSED:
            self._tables.refused(one)

    def add(self, piece: Piece) -> None:
        self._pieces += 1
        try:
            answer = open_envelope(piece.data, piece.hint)
            if answer.report is None:
                self._reasons[answer.node] = answer.reason
                return
            sections = self._reader.read(answer.report)
        except Refusal as error:
            self._pieces -= 1
            self.refuse(Refused(piece.file, piece.line, str(error)))
            return
        gpus = known(sections.snapshot.gpus) or ()
        uuids = frozenset(uuid for gpu in gpus if (uuid := known(gpu.uuid)))
        if answer.repeat > 1:
            later = _Later(piece._replace(data=b""), answer.node, answer.repeat, sections.figures, uuids)
            if not self._repeated(later):
                self._later.append(later)
            return
        self._first_answer(piece, answer, answer.report, sections, uuids)

    def _first_answer(
        self, piece: Piece, answer: Answer, report: Report, sections: Sections, uuids: frozenset[str]
    ) -> None:
        """An answer that is no repeated measurement."""
        machines, name = self._machines, answer.node
        hinted = answer.hinted and piece.namesakes > 1
        if hinted and machines.nameless(name):
            return
        digest = hashlib.blake2b(piece.data, digest_size=16).digest()
        if machines.repeats(name, digest):
            return
        received = answer.received or piece.modified or time.time()
        made = seconds_of(report.generated_at)
        one = Known(self._number + 1, received, answer.received, made, uuids, digest, hinted)
        same = machines.same(name, uuids)
        if hinted and any(m.hinted for m in machines.of(name)) and (same is None or not same.uuids & uuids):
            for number in machines.unname(name, 1):
                self._drop(number)
            return
        if same is not None:
            old, new = (one, same) if one.before(same) else (same, one)
            detail = f"of {old.identity(new)} and of {new.identity(old)}"
            if not same.uuids & uuids:
                detail += "; one of them has no UUIDs"
            self._tables.duplicate("answer", [name], detail)
            if new is same:
                machines.put(name, same._replace(agreeing=same.agreeing + 1), same)
                return
            self._drop(same.number)
            one = one._replace(agreeing=same.agreeing + 1)
        elif machines.of(name):
            self._tables.duplicate("name", [name], "")
        self._number += 1
        machines.put(name, one, same)
        self._store(self._number, answer, report, sections, received)

    def _drop(self, number: int) -> None:
        self._tables.drop_node(number)
        self._here.discard(number)

    def _repeated(self, later: _Later) -> bool:
        machines = self._machines.of(later.name)
        mine = [m for m in machines if m.uuids & later.uuids] or machines
        if mine:
            self._tables.figures(mine[0].number, later.repeat, later.figures)
        return bool(mine)

    def _store(self, number: int, answer: Answer, report: Report, sections: Sections, received: float) -> None:
        s, tables = sections.snapshot, self._tables
        gpus = known(s.gpus) or ()
        tables.sections(number, sections.stored)
        tables.facts(number, sections.stored, sections.of_gpus, gpu_numbers(gpus))
        tables.gpus(number, gpus)
        tables.figures(number, 1, sections.figures)
        row = node_row(number, answer.node, cohort_of(s))
        row |= {
            "driver": known(s.driver.version), "received": received, "generated_at": report.generated_at[:40],
            "clock_off_s": _clock_off(report.generated_at, answer.received), "tool": report.tool.version[:80],
            "matrix": report.matrix.version[:80], "judged": "there",
        }  # fmt: skip
        self._times = [min(self._times[0] or received, received), max(self._times[1], received)]
        ours = report.tool.version == __version__ and report.matrix.version == self._matrix
        if ours and not self._judge_all and sections.verdict:
            verdict = node_verdict(sections.findings, sections.verdict, s, sections.policy)
            row["verdict"] = verdict.word
            tables.findings(number, verdict.roots)
        tables.node(row)
        if row["verdict"]:
            return
        self._here.add(number)
        day = _day(received)
        if self._judges.alone:
            self._judged(number, sections, *judged_here(whole_snapshot(sections), sections.policy, day))
        else:
            self._judges.give(
                whole_snapshot(sections), sections.policy, day,
                lambda findings, word: self._judged(number, sections, findings, word),
            )  # fmt: skip

    def _judged(self, number: int, sections: Sections, findings: Any, word: str) -> None:
        if number not in self._here:  # a later answer counts
            return
        verdict = node_verdict(findings, word, sections.snapshot, sections.policy)
        self._tables.findings(number, verdict.roots)
        self._tables.judged(number, verdict.word, "here")

    def end(self, requested: list[str], source: str) -> Loaded:
        self._judges.finish()
        self._refuse_namesakes()
        for later in self._later:
            if not self._repeated(later):
                reason = "it measures again what has not answered before"
                self.refuse(Refused(later.piece.file, later.piece.line, reason))
        missing = 0
        for name in dict.fromkeys((*requested, *self._reasons)):
            if self._machines.of(name):
                continue
            missing += 1
            self._number += 1
            reason = self._reasons.get(name, "")
            state = "not-examined" if reason else "no-answer"
            self._tables.node(node_row(self._number, name, None) | {"state": state, "reason": reason[:400]})
        answered = len(self._machines.all())
        started, ended = self._times
        here = len(self._here)
        counts = (len(requested), here, answered - here)
        self._tables.run((started, ended, source, __version__, self._matrix, *counts))
        for file, count in self._of_file.items():
            if count > _MOST_REFUSED:
                self._tables.refused(Refused(file, 0, f"and {count - _MOST_REFUSED:,} more of its lines"))
        return Loaded(answered, missing, self._refused_count, self._pieces, here, self._first)

    def _refuse_namesakes(self) -> None:
        """File names that say nothing: they stand in several folders, and nothing shows that these are one machine."""
        for name, one in self._machines.all():
            if one.hinted and one.agreeing == 1:
                for number in self._machines.unname(name, 0):
                    self._drop(number)
        for name, count in self._machines.names_of_nobody().items():
            words = f"{count:,} files are" if count > 1 else "one of several files is"
            reason = f"{words} called {name}.json: name the nodes by envelope or by file name"
            self.refuse(Refused(f"{name}.json", 0, reason), count)


def _clock_off(generated_at: str, received: float) -> float | None:
    """Seconds by which the node's clock is ahead of the collector's; None where one of the two is not known."""
    if not received:
        return None
    made = seconds_of(generated_at)
    return round(made - received, 3) if made else None


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
