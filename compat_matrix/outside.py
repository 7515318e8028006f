"""A matrix from outside this package: a folder of its layout, or one file as `gpudoctor matrix export` writes it.

It is read only as data, and completely, so that errors in it are reported before it is used. Tables that it lacks come
from the built-in one. Schema rule: a new column has a default and a new table is optional (a minor), so that an older
program can read a newer minor and vice versa; anything else is a new schema_version (a major).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from .lint import lint
from .matrix import Matrix
from .rows_meta import Meta
from .store import SCHEMA_MINOR, SCHEMA_VERSION, readable
from .tables import DATA, KEYS, TABLES, MatrixError, decode

Read = Callable[[str], bytes]
"""Reads a file named by the user: bounded, with one-line errors."""
_TOLERATED = ("sources: ", "unknown field", "between lines of [ and ]", "lies after the matrix' own")
"""What `lint` says about a newer minor or a matrix with only some tables, and what no verdict depends on."""


class _Bundle(msgspec.Struct, frozen=True):
    meta: Meta
    sources: dict[str, str] = {}
    tables: dict[str, msgspec.Raw] = {}


class Outside(Matrix):
    """A matrix whose tables come from `files`, or from the built-in one if missing there."""

    __slots__ = ("_files",)

    def __init__(self, directory: str, meta: Meta, files: dict[str, bytes], sources: dict[str, str]) -> None:
        super().__init__(directory, meta)
        self._files = files
        self._memo["sources"] = sources

    def file(self, name: str, kind: Any) -> Any:
        """One table decoded as `kind`: its own, or the built-in one's. Raises MatrixError."""
        if name == "sources":
            return self._memo["sources"]
        if name not in self._files:
            return decode(DATA, name, kind)
        try:
            return msgspec.json.decode(self._files[name], type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MatrixError(f"table {name}: {error}") from None


def load_outside(path: str, read: Read) -> Outside:
    """The matrix in the folder or file `path`, with `differs` filled in.

    Raises MatrixError with one line: not readable, not a matrix, a newer schema, or rows that contradict each other.
    """
    location = Path(path)
    try:
        matrix = _of_folder(location, read) if location.is_dir() else _of_file(location, read)
        if not re.fullmatch(r"20\d\d\.(0[1-9]|1[0-2])\.(0[1-9]|[12]\d|3[01])", matrix.version):
            raise MatrixError(f"version {matrix.version[:40]!r} is not a date such as 2026.11.28")
        problems = [text for text in lint(matrix, laws=False) if not any(word in text for word in _TOLERATED)]
        if problems:
            more = (
                f" ({len(problems)} problems in total; gpudoctor matrix lint --matrix lists them)"
                if len(problems) > 1
                else ""
            )
            raise MatrixError(f"{problems[0]}{more}")
    except MatrixError as error:
        raise MatrixError(f"matrix {path}: {error}") from None
    matrix.differs = difference(matrix, Matrix.load(), location.name)
    return matrix


def open_outside(path: str, read: Read) -> Outside:
    """The same without checking its rows, for `matrix lint`. Raises MatrixError if it is not a matrix at all."""
    location = Path(path)
    try:
        return _of_folder(location, read) if location.is_dir() else _of_file(location, read)
    except MatrixError as error:
        raise MatrixError(f"matrix {path}: {error}") from None


def _of_folder(location: Path, read: Read) -> Outside:
    def of(name: str, kind: Any) -> Any:
        return _decoded(f"{name}.json", read(f"{location}/{name}.json"), kind)

    meta: Meta = readable(of("meta", Meta))
    there = {name for name in (*TABLES, "sources") if (location / f"{name}.json").exists()}
    files = {name: read(f"{location}/{name}.json") for name in TABLES if name in there}
    sources = of("sources", dict[str, str]) if "sources" in there else {}
    return Outside(str(location), meta, files, {**_built_in_sources(), **sources})


def _of_file(location: Path, read: Read) -> Outside:
    data = read(str(location))
    head: dict[str, Any] = _decoded(location.name, data, dict[str, msgspec.Raw])
    if "meta" not in head:
        raise MatrixError("not a matrix (no 'meta'; `gpudoctor matrix export` writes one)")
    try:
        readable(msgspec.json.decode(head["meta"], type=Meta))  # before the rest, which a newer schema may have changed
    except msgspec.DecodeError as error:
        raise MatrixError(f"meta: {error}") from None
    bundle: _Bundle = _decoded(location.name, data, _Bundle)
    files = {name: bytes(raw) for name, raw in bundle.tables.items() if name in TABLES}
    return Outside(str(location), bundle.meta, files, {**_built_in_sources(), **bundle.sources})


def _built_in_sources() -> dict[str, str]:
    texts: dict[str, str] = decode(DATA, "sources", dict[str, str])
    return texts


def _decoded(name: str, data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MatrixError(f"{name}: {error}") from None


def difference(matrix: Matrix, built_in: Matrix, name: str) -> str:
    """In one line, how `matrix` differs from the built-in one: rows that are new, gone or changed."""
    counts = {table: changed for table in TABLES if (changed := _changed(table, matrix, built_in))}
    named = [f"{table} {count}" for table, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    more = [f"{len(named) - 4} more tables"] if len(named) > 4 else []
    total = sum(counts.values())
    rows = f"{total} row{'s differ' if total != 1 else ' differs'}" if total else "no row differs"
    age = "older than" if matrix.version < built_in.version else "instead of"
    about = f" ({', '.join(named[:4] + more)})" if named else ""
    newer = "; columns unknown to this gpudoctor are ignored" if matrix.schema_minor > SCHEMA_MINOR else ""
    return (
        f"Judged with the matrix {name} from {matrix.version}, {age} the built-in {built_in.version}: "
        f"{rows}{about}{newer}"
    )


def _changed(table: str, one: Matrix, other: Matrix) -> int:
    """How many rows in a table are new, gone or changed."""

    def rows(matrix: Matrix) -> dict[tuple[str, ...], Counter[bytes]]:
        found: dict[tuple[str, ...], Counter[bytes]] = {}
        for row in matrix.rows(table):
            fields = {**msgspec.structs.asdict(row), "source": matrix.source(row.source)}
            data = msgspec.json.encode(fields, order="deterministic")
            key = tuple(str(fields[name]) for name in KEYS.get(table, ())) or (data.decode(),)
            found.setdefault(key, Counter())[data] += 1
        return found

    mine, theirs = rows(one), rows(other)
    return sum(mine.get(key) != theirs.get(key) for key in {**mine, **theirs})


def export(matrix: Matrix) -> bytes:
    """The whole matrix as one JSON file, one row per line, which `load_outside` reads."""
    encode = msgspec.json.encode
    parts = []
    for table in TABLES:
        lines = b",\n".join(encode(row) for row in matrix.file(table, list[dict[str, Any]]))
        parts.append(b"%s: [\n%s\n]" % (encode(table), lines))
    meta = {"schema_version": SCHEMA_VERSION, "schema_minor": SCHEMA_MINOR, "version": matrix.version}
    sources = matrix.file("sources", dict[str, str])
    head = b'{"meta": %s,\n"sources": %s,\n' % (encode(meta), msgspec.json.format(encode(sources), indent=0))
    return head + b'"tables": {\n' + b",\n".join(parts) + b"\n}}\n"
