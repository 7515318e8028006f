"""Faults of Dockerfiles and manifests as lines: file and line first, as compilers print them, then the fix."""

from __future__ import annotations

from collections.abc import Sequence

from .amounts import several
from .lines import BLANK, Line, Span, line, wrap
from .outcome import Outcome

_MARKS = {
    "fail": Span("✗ ", "fail"),
    "warn": Span("▲ ", "warn"),
    "info": Span("i ", "dim"),
    "unknown": Span("? ", "unknown"),
}


def recipe_lines(found: Sequence[Outcome], names: Sequence[str], width: int, quiet: bool = False) -> list[Line]:
    """All outcomes of all files (quiet: the first of the worst), at most `width` columns, and how many failed."""
    rows: list[Line] = []
    for one in sorted(found, key=lambda one: list(_MARKS).index(one.level))[:1] if quiet else found:
        where = f"{one.file}:{one.line}" if one.line else one.file
        rows += wrap(f"{where}  {one.title} [{one.rule}]", width, first=_MARKS.get(one.level, Span("")), style="title")
        if one.detail:
            rows += wrap(one.detail, width, "    ")
        if one.fix:
            rows += wrap(one.fix, width, "    ", first="Fix: ")
        rows.append(BLANK)
    failed, warned = (sum(one.level == level for one in found) for level in ("fail", "warn"))
    files = names[0] if len(names) == 1 else several(len(names), "file")
    if not names:
        return [line("no Dockerfile, compose file or manifest among the files")]
    if not found:
        return [line(Span("✓ ", "pass"), f"{files}: nothing found")]
    words = ", ".join(f"{count} {what}" for count, what in ((failed, "failed"), (warned, "warned")) if count)
    return [*rows, line(f"{files}: {words or 'nothing failed'}")]
