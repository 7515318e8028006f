"""Compare two reports: findings that are new or cured, the facts that explain them, and all else that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..findings import Finding
from ..findings.baseline import Baseline
from ..findings.measured_baseline import baseline_of
from ..findings.measured_baseline import compared as rates_compared
from ..fleet.facts import GROUPS, differs_by_nature, key_of
from ..judge.compared import Named, apart, compared
from ..judge.registry import Registered
from ..judge.report import OURS, Report
from ..snapshot import Snapshot, known
from . import listed
from .answer import Comparison, FactChange, FindingChange, PutBack, RateChange, Side, Way
from .atoms import Pair
from .explain import Judge
from .packages import TORCH, Packages, in_text, is_same_environment, packages, put_back
from .ways import Ways

if TYPE_CHECKING:
    from compat_matrix import Matrix

_FOUND = ("fail", "warn")


class Question(Struct, frozen=True, kw_only=True):
    """Two sides to compare. typed: NEW without masks, for commands; load: a check by its id."""

    old: Side
    new: Side
    before: Report
    after: Report
    typed: Snapshot
    matrix: Matrix
    load: Callable[[str], Registered]
    is_ignored: Callable[[FactChange], bool]
    redacted: bool
    notes: tuple[str, ...] = ()


def earlier_rates(old: Snapshot, new: Snapshot) -> Baseline | None:
    """OLD's rates as a baseline for NEW, as `prove --baseline` has them; None if they have no rate in common."""
    if known(old.measured.level) is None or known(new.measured.level) is None:
        return None
    base = baseline_of(old, old.target.gathered_at[:10], Baseline().regression_percent)
    return base if rates_compared(new, base).changes else None


def compare(q: Question) -> Comparison:
    """The whole answer. Both reports are judged by the same policy, with OLD's rates as its baseline."""
    pair = Pair(q.before.snapshot, q.after.snapshot)
    found = packages(pair.old, pair.new)
    findings = _Findings(q, pair, found)
    appeared, cured = findings.appeared(), findings.cured()
    shown = {fact.path for one in (*appeared, *cured) for way in one.ways for fact in (*way.facts, *way.follows)}
    rows = [fact for fact in listed.changed(pair) if fact.path not in shown and not _is_package(fact, found)]
    rest = [fact for fact in sorted(rows, key=_in_order) if not q.is_ignored(fact)]
    rates = _rates(pair)
    fails = any(one.status == "fail" for one in findings.new)
    return Comparison(
        tool=OURS,
        matrix=q.matrix.version,
        old=q.old,
        new=q.new,
        exit_code=1 if fails else 3 if q.old.unknown or q.new.unknown else 0,
        matters=bool(appeared or cured),
        redacted=q.redacted,
        appeared=appeared,
        cured=cured,
        undecided=findings.undecided,
        stays=findings.stays,
        facts=tuple(fact for fact in rest if fact.kind not in ("known", "unknown")),
        unread=tuple(fact for fact in rest if fact.kind in ("known", "unknown")),
        varying=varying(pair),
        ignored=len(rows) - len(rest),
        packages=in_text(found, pair.old, pair.new),
        put_back=findings.put_back(),
        rates=rates[1],
        rates_compared=rates[0],
        notes=q.notes,
    )


class _Findings:
    """The findings that only one of the two has."""

    def __init__(self, q: Question, pair: Pair, found: Packages) -> None:
        self._q, self._pair, self._packages = q, pair, found
        open_ = frozenset(check.id for check in q.after.checks if check.status == "unknown")
        after = [replace(finding, subject=pair.subject(finding.subject)) for finding in apart(q.after.findings)]
        both = compared((), q.before.findings, after, open_, other_gpus=False)
        worse, better = self._worse(q.before, q.after), self._worse(q.after, q.before)
        changed = {(one.id, one.subject) for one in (*worse, *better)}
        self.new = (*both.new, *worse)
        self._gone = (*both.gone, *better)
        self.undecided = both.open
        self.stays = tuple(one for one in both.stays if (one.id, one.subject) not in changed)

    def appeared(self) -> tuple[FindingChange, ...]:
        """What NEW alone has."""
        return self._changes(self._q.after, self._q.before, self.new, into_new=True)

    def cured(self) -> tuple[FindingChange, ...]:
        """What OLD alone has."""
        return self._changes(self._q.before, self._q.after, self._gone, into_new=False)

    def _worse(self, before: Report, after: Report) -> tuple[Named, ...]:
        """What warned in one and fails in the other."""
        statuses = {self._key(finding): finding.status for finding in apart(before.findings)}
        return tuple(
            Named(finding.id, finding.status, finding.title, finding.subject, finding.cause)
            for finding in apart(after.findings)
            if finding.status == "fail" and statuses.get(self._key(finding)) == "warn"
        )

    def _key(self, finding: Finding | Named) -> tuple[str, str]:
        return finding.id, self._pair.subject(finding.subject)

    def _changes(self, own: Report, other: Report, only: Sequence[Named], into_new: bool) -> tuple[FindingChange, ...]:
        """`only`: the findings that `own` alone has."""
        keys = {self._key(one) for one in only}
        findings = [one for one in apart(own.findings) if one.status in _FOUND and self._key(one) in keys]
        ids = {finding.id for finding in findings}
        roots = dict.fromkeys(finding.id for finding in findings if finding.cause not in ids)
        if not roots:
            return ()
        judge = Judge(self._pair, self._packages, self._q.matrix, own.policy, into_new)
        ways = Ways(self._pair, judge.units)
        results = {check.id: check for check in other.checks}
        there_found = {self._key(finding): finding.status for finding in apart(other.findings)}
        rows = []
        for id in roots:
            some = [finding for finding in findings if finding.id == id]
            reason = judge.reason(self._q.load(id), some)
            there, found = results.get(id), ways.of(reason.ways)
            rows.append(
                FindingChange(
                    id=id,
                    status=min(finding.status for finding in some),  # fail before warn
                    titles=tuple(dict.fromkeys(finding.title for finding in some)),
                    subjects=tuple(dict.fromkeys(finding.subject for finding in some if finding.subject)),
                    undecided=(there is not None and (there.status == "unknown" or there.skip == "not-examined"))
                    or any(there_found.get(self._key(finding)) == "unknown" for finding in some),
                    other_status=next((there_found[k] for k in map(self._key, some) if k in there_found), ""),
                    explained=reason.explained,
                    ways=found,
                    consequences=tuple(
                        Named(f.id, f.status, f.title, f.subject, f.cause) for f in findings if f.cause == id
                    ),
                    fix=next((fix.title for finding in some for fix in finding.fixes), "") if into_new else "",
                    put_back=self.put_back(found) if into_new else (),
                )
            )
        return tuple(rows)

    def put_back(self, ways: Sequence[Way] | None = None) -> tuple[PutBack, ...]:
        """Commands for all packages that changed, or for those that these ways name."""
        if not is_same_environment(self._pair.old, self._pair.new):
            return ()
        names = None
        if ways is not None:
            facts = [fact for way in ways for fact in (*way.facts, *way.follows)]
            names = {key_of(fact.path) for fact in facts if fact.path.startswith("python.distributions[")}
        return put_back(self._packages, self._pair.old, self._q.typed, self._q.matrix, names)


def _in_order(fact: FactChange) -> tuple[int, str]:
    return GROUPS.index(fact.group), fact.label


def varying(pair: Pair) -> tuple[str, ...]:
    """Variables with other values that differ between any two jobs, such as CUDA_VISIBLE_DEVICES."""
    return tuple(sorted(atom.key for atom in pair.atoms() if atom.key and differs_by_nature(atom.path)))


def _is_package(fact: FactChange, found: Packages) -> bool:
    """Whether the packages already show it."""
    if not found.followed:
        return False
    return fact.path.startswith("python.distributions") or (fact.path == "torch.version" and TORCH in found.followed)


def _rates(pair: Pair) -> tuple[int, tuple[RateChange, ...]]:
    """How many rates both measured, and those whose ranges do not overlap, the largest change first."""
    base = earlier_rates(pair.old, pair.new)
    if base is None:
        return 0, ()
    changes = rates_compared(pair.new, base).changes
    clear = sorted((one for one in changes if one.clear), key=lambda one: -abs(one.percent))
    numbers = {gpu.key: at for at, gpu in enumerate(known(pair.new.gpus) or ())}
    return len(changes), tuple(
        RateChange(
            gpu=one.was.gpu or one.key,
            number=numbers.get(one.key, -1),
            key=one.key,
            name=one.name,
            before=one.was.value,
            after=one.now.value,
            unit=one.was.unit,
            percent=round(one.percent, 1),
        )
        for one in clear
    )
