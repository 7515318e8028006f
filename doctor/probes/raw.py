"""Raw lines of the file gatherer, indexed for the parsers. They may be a stranger's recording: none is trusted."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, cast

from ..snapshot import NOT_ASKED, Missing, Reason

_REASONS = ("absent", "denied", "timeout", "error", "not-asked")


class Raw:
    """What was gathered, by path. A path that was not examined is not-asked, or timeout if the pass did not end."""

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        self._texts: dict[str, str] = {}
        self._missing: dict[str, Missing] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._totals: dict[str, int] = {}
        self._links: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._matches: dict[str, str] = {}
        self._data: dict[str, bytes] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self.complete = False
        for line in lines:
            self._take(line)
        self.unasked = NOT_ASKED
        if not self.complete:
            self.unasked = Missing("timeout", "the files were not read in time")
            for row in self._rows.get("failed", [])[:1]:
                self.unasked = Missing("error", f"reading the files failed: {string(row.get('detail'))}")

    def _take(self, line: dict[str, Any]) -> None:
        at, path = line.get("at"), line.get("path")
        if at == "end":
            self.complete = True
        if not isinstance(at, str):
            return
        if isinstance(path, str):
            if at == "file" and isinstance(line.get("text"), str):
                self._texts[path] = line["text"]
            elif at == "missing":
                reason = line.get("reason")
                known = cast(Reason, reason if reason in _REASONS else "error")
                self._missing[path] = Missing(known, str(line.get("detail") or ""))
            elif at == "dir":
                self._names[path] = strings(line.get("names"))
                self._totals[path] = number(line.get("total")) or 0
            elif at == "link" and isinstance(line.get("real"), str):
                self._links[path] = line["real"]
            elif at == "exists":
                self._kinds[path] = str(line.get("kind"))
            elif at == "match" and isinstance(line.get("line"), str):
                self._matches[path] = line["line"]
            elif at == "data" and isinstance(line.get("base64"), str):
                try:
                    self._data[path] = base64.b64decode(line["base64"], validate=True)
                except ValueError:
                    self._missing[path] = Missing("error", "not base64")
        self._rows.setdefault(at, []).append(line)

    def text(self, path: str) -> str | Missing:
        """Text of a file."""
        return self._texts[path] if path in self._texts else self.gap(path)

    def data(self, path: str) -> bytes | Missing:
        """Bytes of a binary file."""
        return self._data[path] if path in self._data else self.gap(path)

    def names(self, path: str) -> tuple[str, ...] | Missing:
        """Gathered names of a folder, sorted."""
        return self._names[path] if path in self._names else self.gap(path)

    def total(self, path: str) -> int | Missing:
        """Number of all names in a folder."""
        return self._totals[path] if path in self._totals else self.gap(path)

    def exists(self, path: str) -> bool | Missing:
        """True, False (looked, not there) or Missing."""
        if path in self._kinds:
            return True
        gap = self.gap(path)
        return False if gap.reason == "absent" else gap

    def real(self, path: str) -> str:
        """The path with links resolved, as far as that was gathered."""
        return self._links.get(path, path)

    def match(self, path: str) -> str | Missing:
        """The gathered line of a long file."""
        return self._matches[path] if path in self._matches else self.gap(path)

    def gap(self, path: str) -> Missing:
        """Why there is nothing for this path."""
        return self._missing.get(path, self.unasked)

    def rows(self, at: str) -> list[dict[str, Any]]:
        """All lines of a kind, in order."""
        return self._rows.get(at, [])

    def row(self, at: str) -> dict[str, Any] | Missing:
        """The first line of a kind."""
        rows = self._rows.get(at)
        return rows[0] if rows else self.unasked

    def env(self) -> dict[str, str] | Missing:
        """The gathered variables."""
        row = self.row("env")
        if isinstance(row, Missing):
            return row
        values = row.get("values")
        if not isinstance(values, dict):
            return Missing("error", "the environment variables are not a table of names and values")
        return {str(name): value for name, value in values.items() if isinstance(value, str)}


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list; anything else is omitted."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def number(value: object) -> int | None:
    """A number that is not a bool, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def string(value: object) -> str:
    """The text, else an empty one."""
    return value if isinstance(value, str) else ""
