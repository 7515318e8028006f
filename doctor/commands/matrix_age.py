"""`gpudoctor matrix age`: which tables are older than their publisher's usual interval."""

from __future__ import annotations

from datetime import date
from typing import Any

from compat_matrix.age import Age, ages

from .matrix_show import emit, load


def show_ages(on: date | None, flags: dict[str, Any], path: str | None) -> int:
    """Print every table that has a publisher. on: None means today. Returns 0."""
    day = on or date.today()
    m = load(path)
    found = ages(m, day)
    rows = [
        {"table": one.row.table, "package": one.row.package, "publisher": one.row.publisher,
         "read_date": one.row.read_date, "days": one.days, "every_days": one.row.every_days, "old": one.is_old}
        for one in found
    ]  # fmt: skip
    old = [one for one in found if one.is_old]
    lines = [f"matrix {m.version}, on {day.isoformat()}", *filter(None, [m.differs])]
    lines += _section("Older than their publisher's usual interval: newer releases may be missing", old)
    lines += _section("Compared within that interval", [one for one in found if not one.is_old])
    if old:
        lines += ["", "A newer gpudoctor includes a newer matrix; --matrix reads one from a file or folder."]
    return emit(flags, {"version": m.version, "on": day.isoformat(), "tables": rows}, lines)


def _section(heading: str, found: list[Age]) -> list[str]:
    if not found:
        return []
    return [
        "",
        heading,
        f"  {'table':<30}{'compared':<12}{'days':>5}{'usual':>7}  publisher",
        *(
            f"  {one.name:<30}{one.row.read_date:<12}{one.days:>5}{one.row.every_days:>7}  {one.row.publisher}"
            for one in found
        ),
    ]
