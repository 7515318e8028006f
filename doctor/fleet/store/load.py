"""Filling a database: every piece is an answer of a node or a refused line, and nothing stops the rest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ... import __version__
from ...guard import Refusal
from ...snapshot import known
from ..envelope import Answer, Report, name_in, open_envelope
from ..kinds import Refused
from ..lines import Piece
from .draft import Draft
from .judged import judged_here, node_verdict
from .judges import Judges
from .look import Look, Silence, after
from .machines import Known, Machines, moment, seconds_of
from .sections import Reader, Sections, whole_snapshot
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


_WORST = ("fail", "unknown", "warn", "pass")


def load(
    draft: Draft, pieces: Iterable[Piece | Refused], requested: list[str], source: str, judge_all: bool, jobs: int
) -> Loaded:
    """Fill a draft. `requested`: nodes that were asked for; `source`: where the answers come from, in words."""
    with Judges(jobs) as judges:
        filling = _Filling(Tables(draft.db), judges, judge_all, requested)
        for piece in pieces:
            if isinstance(piece, Refused):
                filling.refuse(piece)
            else:
                filling.add(piece)
        return filling.end(source)


class _Filling:
    def __init__(self, tables: Tables, judges: Judges, judge_all: bool, requested: list[str]) -> None:
        from compat_matrix import Matrix

        self._tables, self._judges, self._judge_all = tables, judges, judge_all
        self._matrix = Matrix.load().version
        self._reader = Reader()
        self._machines = Machines()
        self._wanted = Wanted(requested)
        self._silent: dict[str, Silence] = {}
        self._seen: dict[int, list[Look]] = {}
        self._number = 0
        self._first: Refused | None = None
        self._of_file: dict[str, int] = {}
        self._refused_count = 0
        self._pieces = 0
        self._times = [0.0, 0.0]

    def refuse(self, one: Refused, answers: int = 1) -> None:
        """`answers`: how many a row stands for."""
        self._pieces += 1
        self._refused_count += answers
        self._first = self._first or one
        self._wanted.refused(one)
        of_file = self._of_file[one.file] = self._of_file.get(one.file, 0) + 1
        if of_file <= _MOST_REFUSED:
            self._tables.refused(one)

    def add(self, piece: Piece) -> None:
        self._pieces += 1
        try:
            answer = open_envelope(piece.data, piece.hint)
            if answer.report is None:
                self._not_examined(piece, answer)
                return
            sections = self._reader.read(answer.report)
        except Refusal as error:
            self._pieces -= 1
            self.refuse(Refused(piece.file, piece.line, str(error), name_in(piece.data) or piece.hint))
            return
        uuids = frozenset(uuid for uuid in sections.uuids if uuid)
        self._answer(piece, answer, answer.report, sections, uuids)

    def _not_examined(self, piece: Piece, answer: Answer) -> None:
        """The last word counts; where two have no time, the one that was read last."""
        new = Silence(answer.reason, answer.received or piece.modified, answer.received)
        old = self._silent.get(answer.node)
        if old is None or not after(old, new):
            self._silent[answer.node] = new

    def _answer(self, piece: Piece, answer: Answer, report: Report, sections: Sections, uuids: frozenset[str]) -> None:
        machines, name = self._machines, answer.node
        hinted = answer.hinted and piece.namesakes > 1
        if hinted and machines.nameless(name):
            return
        digest = hash(piece.data)
        if machines.repeats(name, digest):
            return
        received = answer.received or piece.modified or time.time()
        made = seconds_of(report.generated_at)
        one = Known(self._number + 1, received, answer.received, made, uuids, digest, hinted, repeat=answer.repeat)
        same = machines.same(name, uuids)
        if hinted and any(m.hinted for m in machines.of(name)) and (same is None or not same.uuids & uuids):
            for number in machines.unname(name, 1):
                self._drop(number)
            return
        if same is not None and one.repeat > same.repeat:
            self._again(one, same, answer, report, sections)
            return
        if same is not None and one.repeat < same.repeat:  # what was kept until now measured again
            machines.put(name, one._replace(number=same.number, agreeing=same.agreeing + 1), same)
            self._tables.drop_base(same.number)
            for look in self._seen[same.number]:
                look.base = False
            self._store(same.number, answer, report, sections, received)
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
            one = one._replace(agreeing=same.agreeing + 1)
        elif machines.of(name):
            self._tables.duplicate("name", [name], "")
        self._number += 1
        machines.put(name, one, same)
        seen = self._seen.get(same.number, []) if same is not None else []
        self._store(self._number, answer, report, sections, received)
        if same is not None:
            for look in [look for look in seen if not look.base and not 0 < look.sent < one.sent]:
                self._tables.move_look(look.number, look.repeat, self._number)
                seen.remove(look)
                look.number = self._number
                self._seen[self._number].append(look)
            self._drop(same.number)

    def _drop(self, number: int) -> None:
        self._tables.drop_node(number)
        for look in self._seen.pop(number, ()):
            look.number = 0

    def _again(self, one: Known, base: Known, answer: Answer, report: Report, sections: Sections) -> None:
        """A repeated measurement of a machine that has answered: its figures, and all that it found."""
        if 0 < one.sent < base.sent:  # it is one of an earlier answer
            detail = f"of {one.identity(base)} and of {base.identity(one)}"
            self._tables.duplicate("answer", [answer.node], detail)
            return
        seen = self._seen[base.number]
        old = next((look for look in seen if look.repeat == one.repeat), None)
        if old is not None and one.sent < old.sent:
            return
        if old is not None:
            self._tables.drop_look(base.number, one.repeat)
            old.number = 0
            seen.remove(old)
        look = Look(base.number, one.repeat, one.received, one.sent, False)
        seen.append(look)
        self._tables.figures(base.number, one.repeat, sections)
        self._judge(look, report, sections, one.received)

    def _store(self, number: int, answer: Answer, report: Report, sections: Sections, received: float) -> None:
        s, tables = sections.kind.snapshot, self._tables
        tables.report(number, sections)
        tables.figures(number, answer.repeat, sections)
        for check in sections.policy.skip:
            tables.remark(number, "skipped", check)
        row = node_row(number, answer.node, sections.kind.cohort)
        row |= {
            "driver": known(s.driver.version), "received": received, "generated_at": report.generated_at[:40],
            "clock_off_s": _clock_off(report.generated_at, answer.received), "tool": report.tool.version[:80],
            "matrix": report.matrix.version[:80],
        }  # fmt: skip
        self._times = [min(self._times[0] or received, received), max(self._times[1], received)]
        look = Look(number, answer.repeat, received, answer.received, True)
        self._seen.setdefault(number, []).append(look)
        self._judge(look, report, sections, received)
        tables.node(row | {"verdict": look.word, "judged": look.judged})

    def _judge(self, look: Look, report: Report, sections: Sections, received: float) -> None:
        """Its own verdict where that counts; else it is judged here, perhaps later."""
        ours = report.tool.version == __version__ and report.matrix.version == self._matrix
        if ours and not self._judge_all and sections.verdict:
            self._judged(look, sections, sections.findings, sections.verdict, "there")
        elif self._judges.alone:
            found = judged_here(whole_snapshot(sections), sections.policy, _day(received))
            self._judged(look, sections, *found, "here")
        else:
            self._judges.give(
                whole_snapshot(sections), sections.policy, _day(received),
                lambda findings, word: self._judged(look, sections, findings, word, "here", True),
            )  # fmt: skip

    def _judged(
        self, look: Look, sections: Sections, findings: Any, word: str, where: str, stored: bool = False
    ) -> None:
        """`stored`: the node has its row already."""
        if not look.number:  # a later answer counts
            return
        verdict = node_verdict(findings, word, sections.kind.snapshot, sections.policy)
        look.word, look.plain, look.judged = verdict.word, verdict.plain, where
        self._tables.findings(look.number, verdict.roots, look.repeat)
        if stored and look.base:
            self._tables.judged(look.number, verdict.word, where)

    def end(self, source: str) -> Loaded:
        """What is known once all has been read."""
        self._judges.finish()
        self._refuse_namesakes()
        for number, seen in self._seen.items():
            if len(seen) > 1:
                words = [look.word if look.base else look.plain for look in seen]
                worst = next((word for word in _WORST if word in words), "")
                self._tables.judged(number, worst, next(look.judged for look in seen if look.base))
                self._tables.same_findings(number)
        answered = {name for name, _ in self._machines.all()} - self._silenced()
        heard = {name for name, _ in self._machines.all()} | self._silent.keys()
        self._wanted.match(heard)
        missing = len(self._silent.keys() - answered)
        for name in dict.fromkeys((*self._wanted.silent(), *self._silent)):
            if self._machines.of(name):
                continue
            self._number += 1
            silence = self._silent.get(name)
            reason = silence.reason if silence else self._wanted.why(name)
            missing += silence is None
            row = {"state": "not-examined" if silence else "no-answer", "reason": reason[:400]}
            self._tables.node(node_row(self._number, name, None) | row)
            self._remark(name, self._number)
        for name, one in self._machines.all():
            self._remark(name, one.number)
        started, ended = self._times
        bases = [look for seen in self._seen.values() for look in seen if look.base]
        here = sum(look.judged == "here" for look in bases)
        counts = (len(self._wanted.names), here, len(bases) - here)
        self._tables.run((started, ended, source, __version__, self._matrix, *counts))
        for file, count in self._of_file.items():
            if count > _MOST_REFUSED:
                self._tables.refused(Refused(file, 0, f"and {count - _MOST_REFUSED:,} more of its lines"))
        others = len(self._wanted.others)
        return Loaded(len(answered), missing, others, self._refused_count, self._pieces, here, self._first)

    def _silenced(self) -> set[str]:
        """The nodes that answered, and were not to be examined later; of the others it is said what was before."""
        found = set()
        for name, silence in self._silent.items():
            machines = self._machines.of(name)
            seen = [look for one in machines for look in self._seen[one.number]]
            if not seen:
                continue
            last = max(seen, key=lambda look: look.at)
            if not after(silence, last):
                when = f" (at {moment(silence.at)})" if silence.sent else ""
                self._tables.remark(machines[0].number, "silent-before", f"{silence.reason[:400]}{when}")
                continue
            found.add(name)
            for one in machines:
                failed = any(look.plain == "fail" for look in self._seen[one.number])
                words = f"{silence.reason[:300]}; it had answered at {moment(last.at)}"
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
