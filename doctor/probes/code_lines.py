"""The counts of a `code` line as the fat binary reader made them, from a line that may be a stranger's."""

from __future__ import annotations

from typing import Any

from ..formats.fatbin import Target
from ..formats.fatbin_summary import FatbinSummary, Pattern, SectionSummary, TargetCount
from .raw import number, string, strings


def summary_of(line: dict[str, Any]) -> FatbinSummary:
    """The counts of a `code` line again; rows that are not understood are omitted."""
    sections = []
    for row in line["sections"] if isinstance(line.get("sections"), list) else []:
        if not isinstance(row, dict):
            continue
        targets = _targets(row.get("targets"))
        patterns = []
        for pattern in row["patterns"] if isinstance(row.get("patterns"), list) else []:
            if isinstance(pattern, list) and len(pattern) == 2 and isinstance(pattern[0], list):
                picked = [targets[n].target for n in pattern[0] if isinstance(n, int) and 0 <= n < len(targets)]
                patterns.append(Pattern(frozenset(picked), number(pattern[1]) or 0))
        other = row.get("other")
        problem = string(row.get("problem"))
        sections.append(
            SectionSummary(
                string(row.get("name")),
                number(row.get("size")) or 0,
                number(row.get("containers")) or 0,
                number(row.get("kernel_containers")) or 0,
                number(row.get("entries")) or 0,
                tuple(targets),
                tuple(patterns),
                dict(other) if isinstance(other, dict) else {},
                bool(problem),
                problem,
            )
        )
    return FatbinSummary(tuple(sections))


def _targets(value: object) -> list[TargetCount]:
    found = []
    for row in value if isinstance(value, list) else []:
        if isinstance(row, list) and len(row) == 5:
            kind, arch, variant = strings(row[:3]) if len(strings(row[:3])) == 3 else ("", "0.0", "")
            known = all(part.isascii() and part.isdecimal() and len(part) < 9 for part in arch.split("."))
            target = Target(kind, arch if known else "0.0", variant)
            found.append(TargetCount(target, number(row[3]) or 0, number(row[4]) or 0))
    return found
