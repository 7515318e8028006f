"""`gpudoctor matrix show` and `lint`: tables and rows as text or JSON."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from compat_matrix import Matrix, MatrixError
from compat_matrix.tables import TABLES, row_type

from .write import echo


def load(path: str | None = None) -> Matrix:
    """The matrix of this installation, or that at `path`. Raises ClickException with one line."""
    try:
        if path:
            from compat_matrix.outside import load_outside

            from .read import read_matrix

            return load_outside(path, read_matrix)
        return Matrix.load()
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def emit_json(value: Any) -> None:
    """Print anything made of structs, lists and plain values as JSON."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    echo(text.decode("utf-8"))


def rows_of(m: Matrix, table: str) -> tuple[Any, ...]:
    """The rows of a table. Raises ClickException for an unknown table or a broken file."""
    if table not in TABLES:
        from .suggest import did_you_mean

        raise click.ClickException(f"no such table {table!r}{did_you_mean(table, list(TABLES))}")
    try:
        return m.rows(table)
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def show_tables(format_: str, path: str | None = None) -> int:
    """Every table with its number of rows and what a row is."""
    m = load(path)
    about = [
        {"table": table, "rows": len(rows_of(m, table)), "what": (row_type(table).__doc__ or "").split("\n")[0]}
        for table in TABLES
    ]
    if format_ == "json":
        emit_json({"version": m.version, "schema_version": m.schema_version, "tables": about})
        return 0
    echo(f"matrix {m.version}, schema {m.schema_version}")
    if m.differs:
        echo(m.differs)
    for entry in about:
        echo(f"{entry['table']:<22}{entry['rows']:>5}  {entry['what']}")
    return 0


def show_table(table: str, where: tuple[str, ...], format_: str, path: str | None = None) -> int:
    """The rows of one table, those that match every FIELD=VALUE."""
    m = load(path)
    rows = [row for row in rows_of(m, table) if all(_matches(row, table, text) for text in where)]
    if format_ == "json":
        emit_json([_full(m, row) for row in rows])
        return 0
    for row in rows:
        echo("  ".join(f"{name}={plain(value)}" for name, value in filled(row)))
    return 0


def _matches(row: Any, table: str, condition: str) -> bool:
    field, found, wanted = condition.partition("=")
    names = {item.name for item in msgspec.structs.fields(type(row))}
    if not found or field not in names:
        raise click.ClickException(f"--where {condition!r}: give FIELD=VALUE, FIELD one of {', '.join(sorted(names))}")
    value = getattr(row, field)
    return wanted in map(str, value) if isinstance(value, (tuple, dict)) else str(value) == wanted


def filled(row: Any) -> list[tuple[str, Any]]:
    """Field and value of what is filled in, the row's own fields before those that every row has."""
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
    """The matrix at `path`, whatever its rows say. Raises ClickException with one line."""
    from compat_matrix.outside import open_outside

    try:
        from .read import read_matrix

        return open_outside(path, read_matrix)
    except MatrixError as error:
        raise click.ClickException(str(error)) from None


def print_lint(format_: str, path: str | None = None) -> int:
    """Problems of the data files; 1 when there are any."""
    m = _unjudged(path) if path else load()
    problems = m.lint()
    if not problems:  # what is asked below needs sound tables
        from compat_matrix.lint_reach import dominated, questions

        problems = dominated(m, questions(m))
    if format_ == "json":
        emit_json({"version": m.version, "problems": problems})
    else:
        for line in problems:
            echo(line)
        echo(f"matrix {m.version}: {len(problems)} problems" if problems else f"matrix {m.version}: no problems")
    return 1 if problems else 0
