"""What a change does to the findings of a machine: gone, new, staying, or open until somebody looks again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..findings import Finding
from ..findings.spec import not_known, unmet


class Named(Struct, frozen=True):
    """A finding in short. subject: the GPU, package or path that it is about; cause: id of its root cause, or empty."""

    id: str
    status: str
    title: str
    subject: str = ""
    cause: str = ""


class Compared(Struct, frozen=True):
    """The findings before and after, each in one list. open: of before, which only a new look can tell of."""

    changed: tuple[str, ...]
    gone: tuple[Named, ...]
    new: tuple[Named, ...]
    stays: tuple[Named, ...]
    open: tuple[Named, ...]


def apart(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, that of a spec as one for each of its lines: each deviation comes and goes by itself."""
    return [part for finding in findings for part in (_lines(finding) if finding.id == _SPEC else (finding,))]


_SPEC = "spec-not-met"


def _lines(finding: Finding) -> list[Finding]:
    """The subject of each names its line as the spec has it: `driver >=570`."""
    lines = []
    for kind in ("deviations", "unknown"):
        for row in finding.facts.get(kind, ()):
            is_off = kind == "deviations"
            title = unmet(row["name"], row["found"], row["allowed"]) if is_off else not_known(row["name"])
            status, subject = finding.status if is_off else "unknown", f"{row['name']} {row['allowed']}"
            lines.append(replace(finding, status=status, title=title, subject=subject, facts={kind: [row]}))
    return lines


def compared(
    changed: Sequence[str],
    before: Sequence[Finding],
    after: Sequence[Finding],
    undecided: frozenset[str],
    other_gpus: bool,
) -> Compared:
    """`undecided`: ids of the checks that a recheck keeps from judging; `other_gpus`: a subject may be another GPU."""

    def key(finding: Finding) -> tuple[str, str]:
        return finding.id, "" if other_gpus and finding.id != _SPEC else finding.subject

    def named(findings: Sequence[Finding]) -> tuple[Named, ...]:
        return tuple(Named(f.id, f.status, f.title, f.subject, f.cause) for f in findings)

    def is_open(finding: Finding) -> bool:
        return key(finding) in unknown if finding.id in by_line else finding.id in undecided

    was = [f for f in apart(before) if f.status in ("fail", "warn")]
    every = apart(after)
    then = [f for f in every if f.status in ("fail", "warn")]
    had, has = {key(f) for f in was}, {key(f) for f in then}
    unknown = {key(f) for f in every if f.status == "unknown"}
    by_line = {f.id for f in every if f.id == _SPEC}
    lost = [f for f in was if key(f) not in has]
    return Compared(
        changed=tuple(changed),
        gone=named([f for f in lost if not is_open(f)]),
        new=named([f for f in then if key(f) not in had]),
        stays=named([f for f in then if key(f) in had]),
        open=named([f for f in lost if is_open(f)]),
    )
