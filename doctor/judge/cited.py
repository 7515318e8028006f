"""The matrix in a report: the rows that each answer is based on, that it is not the built-in one, and how old it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from ..findings import Matrix
from .report import MatrixRow

if TYPE_CHECKING:
    from compat_matrix.age import Age

_MOST = 12
"""Rows named for a check: a question such as 'which builds are there' looks at hundreds."""
OLD_DAYS = 90
JUDGED_BY = ("drivers", "toolkits", "torch_releases", "companions", "cudnn", "nccl")
"""Tables by which checks judge what is installed, and that have a publisher with a usual interval."""
_MOST_TABLES = 4
"""Tables that a note names."""


class CitingMatrix:
    """Passes every question on to `matrix`, and keeps the rows of its answers."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._rows: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._matrix, name)
        if not callable(found) or name in ("memo", "rows", "file", "source"):
            return found
        return self._kept(found)

    def _kept(self, question: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*words: Any, **options: Any) -> Any:
            answer = question(*words, **options)
            self._keep(answer)
            return answer

        return ask

    def _keep(self, answer: Any) -> None:
        """A row; the rows of a graded answer, or the one row of a lookup; each of several answers."""
        if hasattr(answer, "confidence") and hasattr(answer, "source"):
            if len(self._rows) < _MOST:
                self._rows.setdefault(id(answer), answer)
        elif isinstance(answer, tuple) and not hasattr(answer, "rows"):
            for one in answer:
                self._keep(one)
        else:
            builds = getattr(answer, "builds", ())
            for row in (*getattr(answer, "rows", ()), *(row for build in builds[:1] for row in build.rows)):
                self._keep(row)
            for name in ("row", "release"):
                if (row := getattr(answer, name, None)) is not None:
                    self._keep(row)

    def cited(self) -> tuple[MatrixRow, ...]:
        """The rows that were asked for, in the order of the questions."""
        from compat_matrix.tables import row_name

        source = self._matrix.source
        return tuple(MatrixRow(*row_name(row), source(row.source), row.confidence) for row in self._rows.values())


class MatrixNotes(NamedTuple):
    """A line each. `overdue`: only for who asks for more, as the verdict does not rest on it."""

    notes: tuple[str, ...]
    overdue: str = ""


def matrix_notes(matrix: Matrix, judged_on: str, used: Iterable[MatrixRow]) -> MatrixNotes:
    """The notes on the day of the judgement. `used`: the rows that its findings stand on."""
    notes = (matrix.differs,) if matrix.differs else ()
    try:
        day = date.fromisoformat(judged_on)
    except ValueError:  # judged on no day
        return MatrixNotes(notes)
    from compat_matrix.age import ages

    old = [one for one in ages(matrix, day) if one.is_old]
    days = (day - date.fromisoformat(matrix.version.replace(".", "-"))).days
    if days > OLD_DAYS:
        names = ", ".join(one.name for one in old if one.row.table in JUDGED_BY)
        about = " Tables that are due for an update (gpudoctor matrix age)"
        tables = f"{about}: {names}." if names else ""
        what = (
            f"newer GPUs, drivers and torch releases are not in it.{tables} Update gpudoctor, or pass a newer "
            f"matrix with --matrix"
        )
        return MatrixNotes((*notes, f"The matrix is {days} days old: {what}"))
    rests_on = [one for one in old if any(_is_of(row, one) for row in used)]
    if rests_on:
        text = f"This verdict used tables that are due for an update (gpudoctor matrix age): {_named(rests_on)}"
        return MatrixNotes((*notes, text))
    overdue = f"Matrix tables that are due for an update (gpudoctor matrix age): {_named(old)}"
    return MatrixNotes(notes, overdue if old else "")


def _is_of(row: MatrixRow, age: Age) -> bool:
    return row.table == age.row.table and (not age.row.package or age.row.package in row.row.split())


def _named(old: list[Age]) -> str:
    more = [f"{len(old) - _MOST_TABLES} more"] if len(old) > _MOST_TABLES else []
    return ", ".join(
        [
            *(
                f"{one.name} ({one.days} days old; usual interval {one.row.every_days} days)"
                for one in old[:_MOST_TABLES]
            ),
            *more,
        ]
    )
