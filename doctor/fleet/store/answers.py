"""The answers of nodes: which of several counts, what is stored of it, and by whom it is judged."""

from __future__ import annotations

import time
from typing import Any, get_args

from msgspec.structs import replace

from ...judge.report import OURS, Tool, Verdict
from ...snapshot import known
from ..envelope import Answer, Report
from ..kinds import CLOCK_OFF_S
from ..lines import Piece
from .judged import node_verdict, our_matrix
from .judges import Judges
from .judging import Judging
from .look import Look
from .machines import Known, Machines, digests, seconds_of, share
from .sections import Reader, Sections, real_snapshot
from .tables import Tables, node_row

_WORST = ("fail", "unknown", "warn", "pass")
_VERDICTS = frozenset(get_args(Verdict))


class Answers:
    """Takes the answers in any order; `end` when all have come."""

    def __init__(self, tables: Tables, judges: Judges, judge_all: bool) -> None:
        self._tables, self._judges, self._judge_all = tables, judges, judge_all
        self._reader = Reader()
        self._judging = Judging(our_matrix())
        self.matrix = our_matrix().version
        self.machines = Machines()
        self.seen: dict[int, list[Look]] = {}
        """Number of a node to its measurements that count."""
        self.number = 0
        """Of the last node."""
        self.times = [0.0, 0.0]
        """Of the first and the last answer."""

    def read(self, report: Report) -> Sections:
        """Raises Refusal if it is no report."""
        return self._reader.read(report)

    def take(self, piece: Piece, answer: Answer, report: Report, sections: Sections) -> None:
        """One more answer; report, sections: its own."""
        uuids = digests(sections.uuids)
        machines, name = self.machines, answer.node
        hinted = answer.hinted and piece.namesakes > 1
        if hinted and machines.nameless(name):
            return
        digest = hash(piece.data)
        if machines.repeats(name, digest):
            return
        received = answer.received or piece.modified or time.time()
        made = seconds_of(report.generated_at)
        one = Known(self.number + 1, received, answer.received, made, uuids, digest, hinted, repeat=answer.repeat)
        same = machines.same(name, uuids)
        if hinted and any(m.hinted for m in machines.of(name)) and (same is None or not share(same.uuids, uuids)):
            for number in machines.unname(name, 1):
                self.drop(number)
            return
        if same is not None and one.repeat > same.repeat:
            self._again(one, same, answer, report, sections)
            return
        if same is not None and one.repeat < same.repeat:  # what was kept until now measured again
            machines.put(name, one._replace(number=same.number, agreeing=same.agreeing + 1), same)
            self._tables.drop_base(same.number)
            for look in self.seen[same.number]:
                look.known = look.known or same
                look.base = False
            self._store(same.number, answer, report, sections, received)
            return
        if same is not None:
            old, new = (one, same) if one.before(same) else (same, one)
            detail = f"of {old.identity(new)} and of {new.identity(old)}"
            if not share(same.uuids, uuids):
                detail += "; one of them has no UUIDs"
            self._tables.duplicate("answer", [name], detail)
            if new is same:
                machines.put(name, same._replace(agreeing=same.agreeing + 1), same)
                return
            one = one._replace(agreeing=same.agreeing + 1)
        elif machines.of(name):
            self._tables.duplicate("name", [name], "")
        self.next_number()
        machines.put(name, one, same)
        seen = self.seen.get(same.number, []) if same is not None else []
        self._store(self.number, answer, report, sections, received)
        if same is not None:
            for look in [look for look in seen if not look.base and not 0 < look.sent < one.sent]:
                self._tables.move_look(look.number, look.repeat, self.number)
                seen.remove(look)
                look.number = self.number
                self.seen[self.number].append(look)
            self.drop(same.number)

    def next_number(self) -> int:
        """For one more node."""
        self.number += 1
        return self.number

    def drop(self, number: int) -> None:
        self._tables.drop_node(number)
        for look in self.seen.pop(number, ()):
            look.number = 0

    def _again(self, one: Known, base: Known, answer: Answer, report: Report, sections: Sections) -> None:
        """A repeated measurement of a machine that has answered: its figures, and all that it found."""
        if 0 < one.sent < base.sent:  # it is one of an earlier answer
            detail = f"of {one.identity(base)} and of {base.identity(one)}"
            self._tables.duplicate("answer", [answer.node], detail)
            return
        seen = self.seen[base.number]
        old = next((look for look in seen if look.repeat == one.repeat), None)
        if old is not None and old.known is not None:
            if old.known.digest == one.digest:
                return
            first, last = (one, old.known) if one.before(old.known) else (old.known, one)
            detail = f"of {first.identity(last)} and of {last.identity(first)}, both of measurement {one.repeat}"
            self._tables.duplicate("answer", [answer.node], detail)
            if last is old.known:
                return
        if old is not None:
            self._tables.drop_look(base.number, one.repeat)
            old.number = 0
            seen.remove(old)
        look = Look(base.number, one.repeat, one.received, one.sent, False)
        look.known = one
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
            "clock_off_s": _clock_off(report.generated_at, answer.received), "tool": _tool(report.tool),
            "matrix": report.matrix.version[:80],
        }  # fmt: skip
        self.times = [min(self.times[0] or received, received), max(self.times[1], received)]
        look = Look(number, answer.repeat, received, answer.received, True)
        self.seen.setdefault(number, []).append(look)
        self._judge(look, report, sections, received)
        tables.node(row | {"verdict": look.word, "judged": look.judged})

    def _judge(self, look: Look, report: Report, sections: Sections, received: float) -> None:
        """Its own verdict where that counts; else it is judged here, perhaps later."""
        ours = (report.tool, report.matrix.version) == (OURS, self.matrix)
        ours &= abs(_clock_off(report.generated_at, look.sent) or 0.0) <= CLOCK_OFF_S
        if ours and not self._judge_all and sections.verdict in _VERDICTS:
            self._judged(look, sections, sections.findings, sections.verdict, "there")
        elif self._judges.alone or not self._judging.differ(sections):
            found = self._judging.judge(sections, replace(sections.policy, judged_on=_day(received)))
            self._judged(look, sections, *found, "here")
        else:
            self._judges.give(
                real_snapshot(sections), sections.policy, _day(received),
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

    def end(self) -> int:
        """Verdicts of several measurements together; returns how many nodes were judged here."""
        for number, seen in self.seen.items():
            if len(seen) > 1:
                words = [look.word if look.base else look.plain for look in seen]
                worst = next((word for word in _WORST if word in words), "")
                self._tables.judged(number, worst, next(look.judged for look in seen if look.base))
                self._tables.same_findings(number)
        return sum(look.base and look.judged == "here" for seen in self.seen.values() for look in seen)


def _tool(tool: Tool) -> str:
    """Its version; of another program than this one its name too."""
    return (tool.version if tool.name in ("", OURS.name) else f"{tool.name} {tool.version}")[:80]


def _clock_off(generated_at: str, received: float) -> float | None:
    """Seconds by which the node's clock is ahead of the collector's; None if one of the two is not known."""
    if not received:
        return None
    made = seconds_of(generated_at)
    return round(made - received, 3) if made else None


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
