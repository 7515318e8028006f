"""`gpudoctor matrix sources` and `export`: where the facts come from, and all of them in one file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from compat_matrix import Matrix
from compat_matrix.tables import TABLES

from .matrix_show import emit, filled, load, plain, rows_of


def _texts(m: Matrix) -> dict[str, str]:
    texts: dict[str, str] = m.file("sources", dict[str, str])
    return texts


def show_sources(flags: dict[str, Any], path: str | None) -> int:
    """Every source with the number of rows based on it, by table. Returns 0."""
    m = load(path)
    used: dict[str, Counter[str]] = {}
    for table in TABLES:
        for row in rows_of(m, table):
            used.setdefault(row.source, Counter())[table] += 1
    about = [
        {"key": key, "text": text, "rows": dict(used[key])} for key, text in sorted(_texts(m).items()) if key in used
    ]
    lines = []
    for entry in about:
        tables = ", ".join(f"{table} {count}" for table, count in used[str(entry["key"])].items())
        lines.append(f"{entry['key']}: {entry['text']} ({tables})")
    return emit(flags, about, lines)


def show_source(key: str, flags: dict[str, Any], path: str | None) -> int:
    """The rows based on one source. Returns 0; raises ClickException if no source has that key or text."""
    m = load(path)
    texts = _texts(m)
    keys = [key] if key in texts else [k for k, text in texts.items() if key.casefold() in text.casefold()]
    if not keys:
        from .suggest import did_you_mean

        raise click.ClickException(f"no source {key!r}{did_you_mean(key, list(texts))}")
    found: list[dict[str, Any]] = []
    for table in TABLES:
        rows = [row for row in rows_of(m, table) if row.source in keys]
        found += [{"table": table, "source": m.source(row.source), **_fields(row)} for row in rows]
    lines = [f"{name}: {texts[name]}" for name in keys]
    for entry in found:
        shown = "  ".join(f"{n}={plain(v)}" for n, v in entry.items() if n not in ("table", "source"))
        lines.append(f"  {entry['table']}: {shown}")
    return emit(flags, found, lines)


def _fields(row: Any) -> dict[str, Any]:
    return {name: value for name, value in filled(row) if name != "source"}


def write_export(file: str, path: str | None) -> int:
    """Write the matrix to one file. Returns 0; Refusal with one line if it cannot be written."""
    from compat_matrix.outside import export

    from .write import write

    write(export(load(path)), file)
    return 0
