"""What single checks say of a node, judged again: a database stores the root findings alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, TypeAlias

from ...judge import load
from ...judge.judge import Examined, examine_by
from ...judge.saved import Saved
from .judged import our_matrix
from .query import saved_of

Decision: TypeAlias = Literal["fail", "open", "sound"]
"""open: it could not be decided, or was not asked for."""


def decisions_of(path: str, name: str, checks: Collection[str]) -> dict[str, Decision]:
    """Check id to what it says of the node's report in the database at `path`; of several machines with its name, the
    worst. Raises Refusal if the report is damaged."""
    reports = saved_of(path, name)
    return {check: _worst(_decision(check, one) for one in reports) for check in checks}


def _decision(check: str, saved: Saved) -> Decision:
    try:
        registered = load(check)
    except (KeyError, ImportError):  # of another version
        return "open"
    one = examine_by(registered, saved.snapshot, our_matrix(), saved.policy)
    return "fail" if one.status == "fail" else "open" if _is_open(one) else "sound"


def _is_open(one: Examined) -> bool:
    """A check of GPUs that does not apply any more has not seen them sound."""
    skipped = one.status == "skipped" and (one.skip == "not-examined" or one.check.about.needs_gpu)
    return one.status == "unknown" or skipped


def _worst(several: Iterable[Decision]) -> Decision:
    found = set(several)
    return "fail" if "fail" in found else "open" if "open" in found else "sound"
