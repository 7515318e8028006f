"""Judging many reports: what a check says is kept by the content that it read, so that only what differs is judged
again. Findings and verdict are those of `judge`, on each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import NamedTuple

from ...findings import Finding, Matrix, Policy
from ...judge import CheckResult, Examined, Registered, conclude, examine_by, load_all, result_of, verdict_of
from ...snapshot import Snapshot, Target
from .section import HEAD, RATES, Kind
from .sections import Sections, real_snapshot
from .unread import (
    Differs,
    is_same,
    sections_read,
    start_reading,
    unread_rates,
    unread_target,
    watched,
    without_differences,
)

_MOST = 256
"""Answers of one check that are kept."""
_MOST_KINDS = 512
_MOST_POLICIES = 16
_IN_VAIN = 64
"""So many contents that were read once and not again: of this check nothing more is kept."""

_NEW = 4
"""So many reports in a row whose content is mostly new."""

Key = tuple[Hashable, ...]


class _Answers:
    """What one check said, by the sections that it read."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], dict[Key, Examined | None]] = {}
        self.vain = 0

    def find(self, keys: dict[str, Hashable]) -> tuple[bool, Examined | None]:
        """(whether this content was read before, what the check says of it; None if it reads what differs)."""
        for names, of_content in self._of.items():
            key = tuple([keys.get(name) for name in names])
            if key in of_content:
                self.vain = 0
                return True, of_content[key]
        return False, None

    def keep(self, names: tuple[str, ...], keys: dict[str, Hashable], answer: Examined | None) -> None:
        of_content = self._of.setdefault(names, {})
        if len(of_content) >= _MOST:
            of_content.clear()
        of_content[tuple([keys.get(name) for name in names])] = answer
        self.vain += 1


class _Shared(NamedTuple):
    """Of each check what it says of all reports of a kind; None if it depends on more."""

    examined: list[Examined | None]
    checks: list[CheckResult | None]


class Judging:
    """With one matrix. Reports of one policy and day share what is known."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._checks = load_all()
        self._answers: dict[tuple[Hashable, ...], list[_Answers]] = {}
        self._kinds: dict[tuple[Hashable, ...], _Shared] = {}
        self._seen: set[bytes] = set()
        self._new = 0

    def differ(self, sections: Sections) -> bool:
        """Whether this report and those before it have little in common: then nothing is gained by judging them here,
        one after the other."""
        digests = [one.digest for one in sections.kind.stored if one.name != HEAD]
        new = sum(digest not in self._seen for digest in digests)
        if len(self._seen) > 100 * _MOST:
            self._seen.clear()
        self._seen.update(digests)
        self._new = self._new + 1 if 2 * new > len(digests) else 0
        return self._new > _NEW

    def judge(self, sections: Sections, policy: Policy) -> tuple[tuple[Finding, ...], str]:
        """(findings, verdict) as `judge` has them. policy: with its day."""
        snapshot = real_snapshot(sections)
        examined, checks = list[Examined](), list[CheckResult]()
        for check, one, result in zip(self._checks, *self._shared(sections, snapshot, policy), strict=True):
            own = one or examine_by(check, snapshot, self._matrix, policy)
            examined.append(own)
            checks.append(result or result_of(own))
        findings, open_checks = conclude(snapshot, self._matrix, policy, examined, checks)
        return findings, verdict_of(findings, open_checks)

    def _shared(self, sections: Sections, snapshot: Snapshot, policy: Policy) -> _Shared:
        """What each check says of all reports of this kind."""
        kind, target = sections.kind, snapshot.target
        keys: dict[str, Hashable] = {one.name: one.digest for one in kind.stored}
        parts = _mig_instances(sections)
        about = (keys.pop(HEAD), policy.judged_on, parts)
        keys["target"], keys["measured"] = target.kind, (keys.get("measured"), keys.pop(RATES, None))
        key = (*about, *keys.items())
        if key not in self._kinds:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            if len(self._answers) >= _MOST_POLICIES:
                self._answers.clear()
            answers = self._answers.setdefault(about, [])
            answers += [] if answers else [_Answers() for _ in self._checks]
            alike = cache(partial(_alike, kind, target, parts))
            examined = [
                self._learned(check, known, keys, policy, alike)
                for check, known in zip(self._checks, answers, strict=True)
            ]
            self._kinds[key] = _Shared(examined, [one and result_of(one) for one in examined])
        return self._kinds[key]

    def _learned(
        self, check: Registered, known: _Answers, keys: dict[str, Hashable], policy: Policy,
        alike: Callable[[], Snapshot | None],
    ) -> Examined | None:  # fmt: skip
        """alike: makes the Snapshot for all of the kind, where there is one."""
        found, answer = known.find(keys)
        if found or known.vain >= _IN_VAIN:
            return answer
        snapshot = alike()
        if snapshot is None:
            return None
        start_reading()
        try:
            answer = examine_by(check, snapshot, self._matrix, policy)
            answer = answer if is_same(answer) else None
        except Differs:
            answer = None
        known.keep(sections_read(), keys, answer)
        return answer


def _mig_instances(sections: Sections) -> frozenset[int]:
    """Which of the report's UUIDs are of MIG instances."""
    uuids = sections.own.partition(b"\0")[0].split()
    return frozenset([number for number, uuid in enumerate(uuids) if uuid[:4] == b"MIG-"])


def _alike(kind: Kind, target: Target, parts: frozenset[int]) -> Snapshot | None:
    """The Snapshot for all reports of a kind; None if what differs is in the key of a dict. parts: which of their
    UUIDs are of MIG instances."""
    try:
        found = {one.name: without_differences(one, parts) for one in kind.stored if one.name not in (HEAD, RATES)}
    except Differs:
        return None
    found["target"] = unread_target(target)
    if kind.rates:
        found["measured"] = found["measured"].with_(rates=unread_rates(kind.rates))
    return watched(found)
