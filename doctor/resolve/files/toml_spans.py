"""The position of each key and value in a TOML file, so that an edit leaves every other byte unchanged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .lines import At, Entry, Span
from .reading import line_ends, number_at

Path = tuple[str | int, ...]
"""Names of tables and keys, and numbers of elements: ('tool', 'poetry', 'source', 0, 'url')."""

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([\w-]+))[ \t]*")
_STRING = re.compile(
    r"\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|\"(?:[^\"\\]|\\.)*\"|'[^']*'",
    re.S,
)
_BARE = re.compile(r"[^,\]}#\r\n]+")


class Spans:
    """`values`: the offsets of each value by its path; `keys`: of the key before it; `headers`: of `[table]` and
    `[[element]]`. The text must be valid: a real parser has already read it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[Path, At] = {}
        self.keys: dict[Path, int] = {}
        self.headers: dict[Path, At] = {}
        self._names: dict[Path, list[str]] = {}
        self._elements: dict[Path, int] = {}
        self._ends = line_ends(text)
        self._i = 0
        self._document()

    def value(self, path: Sequence[str | int]) -> Span:
        """A value without its key."""
        return self._span(self.values.get(tuple(path)))

    def pair(self, path: Sequence[str | int]) -> Span:
        """`key = value`; the value alone in an array."""
        return self._span(self._pair(tuple(path)))

    def entry(self, path: Sequence[str | int]) -> tuple[Span, Entry | None]:
        """`torch = "^2.1"`, `torch = { version = "^2.1" }`, an element of a list of such tables, or the first key of
        `[tool.poetry.dependencies.torch]`, which has its own rows."""
        path = tuple(path)
        keys = tuple((name, self.pair((*path, name)).text) for name in self._names.get(path, ()))
        at = self._pair(path)
        if at:
            left = self.text[self.keys[path] : self.values[path][0]] if path in self.keys else ""
            return self._span(at), Entry(left=left, keys=keys)
        first = next((name for name in ("version", "url", *(key for key, _ in keys)) if (*path, name) in self.keys), "")
        span = self.pair((*path, first))
        prefix = re.match(r"(?:.*\.\s*)?(?=[\"'\w-]+\s*=)", span.text) if first else None
        return span, Entry(left=prefix[0] if prefix else "", keys=keys, rows=True) if first else None

    def _pair(self, path: Path) -> At | None:
        value = self.values.get(path)
        return (self.keys.get(path, value[0]), value[1]) if value else None

    def _span(self, at: At | None) -> Span:
        return Span(number=number_at(self._ends, at[0]), text=self._words(at), at=at) if at else Span()

    def _words(self, at: At) -> str:
        return " ".join(self.text[slice(*at)].split())

    def _document(self) -> None:
        table: Path = ()
        while True:
            self._blank()
            if self._i >= len(self.text):
                return
            if self.text[self._i] == "[":
                table = self._header()
            else:
                self._assign(table)

    def _header(self) -> Path:
        start = self._i
        double = self.text.startswith("[[", start)
        self._i += 2 if double else 1
        path: Path = ()
        for name in self._dotted():
            path = (*path, self._elements[path]) if path in self._elements else path
            path = (*path, name)
        self._i += 2 if double else 1
        if double:
            self._elements[path] = self._elements.get(path, -1) + 1
            path = (*path, self._elements[path])
        self.headers[path] = (start, self._i)
        return path

    def _assign(self, table: Path) -> None:
        start = self._i
        path = (*table, *self._dotted())
        self._i += 1  # the sign '='
        self.keys[path] = start
        self._names.setdefault(path[:-1], []).append(str(path[-1]))
        self._value(path)

    def _dotted(self) -> list[str]:
        names: list[str] = []
        while True:
            found = _KEY.match(self.text, self._i)
            if found is None:
                return names
            self._i = found.end()
            names.append(next(one for one in found.groups() if one is not None))
            if not self.text.startswith(".", self._i):
                return names
            self._i += 1

    def _value(self, path: Path) -> None:
        self._blank()
        start = self._i
        opened = self.text[start : start + 1]
        if opened in ("[", "{"):
            self._i += 1
            self._several(path, "]" if opened == "[" else "}")
        else:
            found = _STRING.match(self.text, start) or _BARE.match(self.text, start)
            self._i = start + len(found[0].rstrip()) if found else len(self.text)
        self.values[path] = (start, self._i)

    def _several(self, path: Path, close: str) -> None:
        count = 0
        while True:
            self._blank()
            if self._i >= len(self.text):
                return
            if self.text[self._i] == close:
                self._i += 1
                return
            if self.text[self._i] == ",":
                self._i += 1
            elif close == "]":
                self._value((*path, count))
                count += 1
            else:
                self._assign(path)

    def _blank(self) -> None:
        found = _BLANK.match(self.text, self._i)
        self._i = found.end() if found else self._i
