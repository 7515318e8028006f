"""`gpudoctor matrix age`: which tables are older than their publisher's usual interval."""

from __future__ import annotations

from datetime import date

from compat_matrix.age import Age, ages

from .matrix_show import emit_json, load
from .write import echo


def show_ages(on: date | None, format_: str, path: str | None) -> int:
    """Print every table that has a publisher. on: None for today. Returns 0."""
    day = on or date.today()
    m = load(path)
    found = ages(m, day)
    if format_ == "json":
        rows = [
            {"table": one.row.table, "package": one.row.package, "publisher": one.row.publisher,
             "read_date": one.row.read_date, "days": one.days, "every_days": one.row.every_days, "old": one.is_old}
            for one in found
        ]  # fmt: skip
        emit_json({"version": m.version, "on": day.isoformat(), "tables": rows})
        return 0
    echo(f"matrix {m.version}, on {day.isoformat()}")
    if m.differs:
        echo(m.differs)
    old = [one for one in found if one.is_old]
    _section("Older than their publisher's usual interval: newer releases may be missing", old)
    _section("Compared within that interval", [one for one in found if not one.is_old])
    if old:
        echo("\nA newer gpudoctor brings a newer matrix; --matrix takes one from elsewhere.")
    return 0


def _section(heading: str, found: list[Age]) -> None:
    if found:
        echo(f"\n{heading}")
        echo(f"  {'table':<30}{'compared':<12}{'days':>5}{'usual':>7}  publisher")
    for one in found:
        echo(f"  {one.name:<30}{one.row.read_date:<12}{one.days:>5}{one.row.every_days:>7}  {one.row.publisher}")
