"""What a change does to the findings of a machine: gone, new, staying, or open until somebody looks again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..findings import Finding


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


def compared(
    changed: Sequence[str],
    before: Sequence[Finding],
    after: Sequence[Finding],
    undecided: frozenset[str],
    other_gpus: bool,
) -> Compared:
    """`undecided`: ids of the checks that a recheck keeps from judging; `other_gpus`: a subject may be another GPU."""

    def key(finding: Finding) -> tuple[str, str]:
        return finding.id, "" if other_gpus else finding.subject

    def named(findings: Sequence[Finding]) -> tuple[Named, ...]:
        return tuple(Named(f.id, f.status, f.title, f.subject, f.cause) for f in findings)

    was = [f for f in before if f.status in ("fail", "warn")]
    then = [f for f in after if f.status in ("fail", "warn")]
    had, has = {key(f) for f in was}, {key(f) for f in then}
    lost = [f for f in was if key(f) not in has]
    return Compared(
        changed=tuple(changed),
        gone=named([f for f in lost if f.id not in undecided]),
        new=named([f for f in then if key(f) not in had]),
        stays=named([f for f in then if key(f) in had]),
        open=named([f for f in lost if f.id in undecided]),
    )
