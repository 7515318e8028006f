"""Fixes used only for texts, whose wording and commands are in a table: tables/fixes.toml, built into
fixes.json."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any

import msgspec

from ...findings import Fix, Step
from ...fixes.container import start_with
from ...fixes.ending import with_condition
from ...fixes.install import Install, note, ways
from ...fixes.where import (
    RECHECK,
    cuda_changes,
    driver_changes,
    guest,
    host_sudo,
    library_changes,
    recheck_run,
    start_changes,
)
from ...snapshot import Snapshot

_ANEW = {"cuda": cuda_changes, "library": library_changes, "driver": driver_changes, "start": start_changes}


@lru_cache(maxsize=1)
def table() -> dict[str, dict[str, Any]]:
    """Name to row, with the words of paragraphs in one line."""
    found: dict[str, dict[str, Any]] = {}
    rows = json.loads(get_data(__package__.rpartition(".")[0], "fixes.json") or b"[]")
    for row in sorted(rows, key=lambda row: "like" in row):
        row |= {key: " ".join(row[key].split()) for key in ("text", "note") if key in row}
        like = {"id": row["like"], **found[row["like"]]} if "like" in row else {}
        found[row["name"]] = {**like, **row}
    return found


def written(
    s: Snapshot,
    name: str,
    request: Install | None = None,
    after: str = "",
    /,
    *,
    changes: dict[str, Any] | None = None,
    **words: str,
) -> Fix:
    """The fix of a row, for this place; `words` replace the names in braces.

    `request`: what it installs, with `after` behind the line; `changes`: facts that it sets. Raises KeyError where
    there is no such row.
    """
    row = table()[name]
    words["sudo"] = host_sudo(s)
    id, title, text, command = (_filled(row.get(key, ""), words) for key in ("id", "title", "text", "command"))
    id, command = id or name, command.strip("\n")
    if row.get("where") == "start":
        return start_with(s, id, title, text, command)
    where = row.get("where", "shell")
    more: dict[str, Any] = {"command": command}
    if "install" in row:
        request = msgspec.convert(row["install"], Install)
    if request is not None:
        more = ways(s, request, after=after)
    step = Step(
        text=with_condition(text, more["command"]),
        where=where,
        possible_here=where != "host" or not guest(s),
        needs_root=row.get("root", where == "host"),
        destructive=row.get("destructive", bool(row.get("ends"))),
        ends=row.get("ends", ""),
        changes={**_changes(s, row.get("changes", ())), **(changes or {})},
        **more,
    )
    note_text = note(s, request) if request is not None and "lasting" in row else row.get("note", "")
    return Fix(id=id, title=title, steps=(step,), note=note_text, source=row.get("source", ""))


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text


def _changes(s: Snapshot, names: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        found |= recheck_run(s) if name == "run" else _ANEW[name]() if name in _ANEW else {name: RECHECK}
    return found
