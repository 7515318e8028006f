"""Judge what was examined: a machine by its facts, a pasted text by its words as well."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..guard import Refusal
from ..judge import Registered, Report, check_ids, judge, load, load_all

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings import Layer, Policy
    from ..snapshot import Snapshot


def matrix_of(flags: dict[str, Any]) -> Matrix:
    """The matrix to judge by: the built-in one, or the one from --matrix or the configuration.

    Raises Refusal with one line if it cannot be used.
    """
    from compat_matrix import Matrix, MatrixError

    try:
        return _outside(flags["matrix"]) if flags.get("matrix") else Matrix.load()
    except MatrixError as error:
        raise Refusal(str(error)) from None


@lru_cache(maxsize=1)
def _outside(path: str) -> Matrix:
    from compat_matrix.outside import load_outside

    from .read import read_matrix

    return load_outside(path, read_matrix)


def assess(snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Report:
    """The report for a Snapshot, wherever it came from. Raises Refusal if the expected GPU model does not exist."""
    if policy.expect.model or any(line.key == "gpu" for line in policy.spec):
        from .expected import refuse_misspelt

        refuse_misspelt(policy, snapshot, matrix)
    if snapshot.is_text:
        from ..text.diagnose import diagnose

        return diagnose(snapshot, matrix, policy)
    return judge(snapshot, matrix, policy)


def known_ids() -> list[str]:
    """Ids of all checks, and of the causes that only a text can show."""
    from ..text.cause_pages import cause_ids

    return sorted([*check_ids(), *cause_ids()])


def load_known(name: str) -> Registered:
    """A check or a cause by its id; KeyError if there is none."""
    from ..text.cause_pages import cause_ids, load_causes

    if name in cause_ids():
        return next(cause for cause in load_causes() if cause.id == name)
    return load(name)


def about(report: Report) -> tuple[dict[str, Layer], dict[str, str]]:
    """Check id to layer, and to title, of all checks that a report is about."""
    found = {check.id: check.about for check in catalogue_of(report)}
    return {name: one.layer for name, one in found.items()}, {name: one.title for name, one in found.items()}


def catalogue_of(report: Report) -> list[Registered]:
    """The checks that a report is about; of a text the causes that only it can show too."""
    if report.text is None:
        return load_all()
    from ..text.cause_pages import load_causes

    return [*load_all(), *load_causes()]
