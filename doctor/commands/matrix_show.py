"""`gpudoctor matrix show` and `lint`: tables and rows as text or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from compat_matrix import Matrix, MatrixError
from compat_matrix.tables import TABLES, row_type

from .write import answer as print_answer
from .write import echo


def load(path: str | None = None) -> Matrix:
    """The matrix of this installation, or the one at `path`. Raises ClickException with one line."""
    try:
        if path:
            from compat_matrix.outside import load_outside

            from .read import read_matrix

            return load_outside(path, read_matrix)
        return Matrix.load()
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def emit(flags: dict[str, Any], data: Any, lines: Iterable[str]) -> int:
    """Print an answer as JSON (structs, lists and plain values) or as its lines; returns 0."""
    if flags["format_"] == "json":
        text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    else:
        text = "\n".join(lines)
    print_answer(f"{text}\n" if text else "", flags)
    return 0


def rows_of(m: Matrix, table: str) -> tuple[Any, ...]:
    """The rows of a table. Raises ClickException for an unknown table or a broken file."""
    if table not in TABLES:
        from .suggest import did_you_mean

        raise click.ClickException(f"no such table {table!r}{did_you_mean(table, list(TABLES))}")
    try:
        return m.rows(table)
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def show_tables(flags: dict[str, Any], path: str | None = None) -> int:
    """Every table with its number of rows and what a row is."""
    m = load(path)
    about = [
        {"table": table, "rows": len(rows_of(m, table)), "what": (row_type(table).__doc__ or "").split("\n")[0]}
        for table in TABLES
    ]
    lines = [f"matrix {m.version}, schema {m.schema_version}", *filter(None, [m.differs])]
    lines += [f"{entry['table']:<22}{entry['rows']:>5}  {entry['what']}" for entry in about]
    return emit(flags, {"version": m.version, "schema_version": m.schema_version, "tables": about}, lines)


def show_table(table: str, where: tuple[str, ...], flags: dict[str, Any], path: str | None = None) -> int:
    """The rows of one table that match every FIELD=VALUE."""
    m = load(path)
    rows = [row for row in rows_of(m, table) if all(_matches(row, table, text) for text in where)]
    if not rows:
        echo(f"gpudoctor: no row in {table} has {' and '.join(where)}", err=True)
    lines = ("  ".join(f"{name}={plain(value)}" for name, value in filled(row)) for row in rows)
    return emit(flags, [_full(m, row) for row in rows], lines)


def _matches(row: Any, table: str, condition: str) -> bool:
    field, found, wanted = condition.partition("=")
    names = {item.name for item in msgspec.structs.fields(type(row))}
    if not found or field not in names:
        raise click.ClickException(
            f"--where {condition!r}: give FIELD=VALUE, where FIELD is one of {', '.join(sorted(names))}"
        )
    value = getattr(row, field)
    if isinstance(value, (tuple, dict)):
        return wanted == plain(value) or wanted in map(str, value)
    if isinstance(value, bool):
        return wanted.casefold() == str(value).casefold()
    if isinstance(value, (int, float)):
        try:
            return float(wanted) == value
        except ValueError:
            return False
    return str(value) == wanted


def filled(row: Any) -> list[tuple[str, Any]]:
    """Fields and values that are filled in, the row's own fields before those that every row has."""
    common = ("note", "confidence", "source")
    items = {field.name: getattr(row, field.name) for field in msgspec.structs.fields(type(row))}
    names = [name for name in items if name not in common] + list(common)
    return [(name, items[name]) for name in names if items[name] not in (None, "", (), {}, False)]


def _full(m: Matrix, row: Any) -> dict[str, Any]:
    return {**dict(filled(row)), "source": m.source(row.source)}


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}:{plain(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ",".join(plain(item) for item in value)
    text = str(value)
    return f'"{text}"' if " " in text else text


def _unjudged(path: str) -> Matrix:
    """The matrix at `path`, without checking its rows. Raises ClickException with one line."""
    from compat_matrix.outside import open_outside

    try:
        from .read import read_matrix

        return open_outside(path, read_matrix)
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def print_lint(flags: dict[str, Any], path: str | None = None) -> int:
    """Print problems in the data files; returns 1 if there are any."""
    m = _unjudged(path) if path else load()
    problems = m.lint()
    if not problems:  # the checks below need valid tables
        from compat_matrix.lint_reach import dominated, questions

        problems = dominated(m, questions(m))
    last = f"matrix {m.version}: {len(problems)} problems" if problems else f"matrix {m.version}: no problems"
    emit(flags, {"version": m.version, "problems": problems}, [*problems, last])
    return 1 if problems else 0
