"""The matrix as one check sees it: each row that an answer stands on is kept, to be named in the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..findings import Matrix
from .report import MatrixRow

_MOST = 12
"""Rows named for a check: a question such as 'which builds are there' looks at hundreds."""


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
