"""The two sides of `compare`: a saved report, a recording, a node of a fleet's database, a target, or this machine."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..findings import Policy
from ..guard import Refusal
from ..snapshot import Snapshot

_SQLITE = b"SQLite format 3\0"
_FAR = ("docker:", "podman:", "ssh:", "kubectl:")


class Looked(NamedTuple):
    """One side as it was read."""

    name: str
    """What was given; `this machine`."""
    snapshot: Snapshot
    policy: Policy | None = None
    """Of a saved report."""
    redacted: bool = False
    recorded: bool = False
    """A recording, which is judged as of its day."""


def both(flags: dict[str, Any]) -> tuple[Looked, Looked]:
    """OLD and NEW, in that order. Raises Refusal with one line."""
    old, new, targets = flags["old"], flags["new"], flags["targets"]
    if old == "" or new == "":
        raise Refusal(f"{'OLD' if old == '' else 'NEW'} is empty: give a report, a recording or a node (now.db:NODE)")
    if not old and len(targets) != 2:
        raise Refusal("give OLD: a report, a recording or a node (now.db:NODE), or --target twice")
    if len(targets) > 2 or (old and len(targets) > 1) or (new and targets):
        raise Refusal("compare takes two sides: OLD and NEW, OLD and one --target, or two --target")
    if old == new == "-":
        raise Refusal("only one of OLD and NEW can be standard input")
    if flags["python_"] and (new or targets):
        raise Refusal(f"--python cannot be used with {'--target' if targets else 'NEW'}: it is for this machine")
    if len(targets) == 2:
        return _examined(flags, targets[0]), _examined(flags, targets[1])
    before = _read(old)
    return before, _read(new) if new else _examined(flags, targets[0] if targets else None)


def _read(text: str) -> Looked:
    """What was saved under this name."""
    from .saved import read_report

    if text != "-" and os.path.isdir(text):  # noqa: PTH112 (a name that is too long is none)
        from .sources import replay

        return Looked(text, replay(text), recorded=True)
    if text != "-" and not os.path.exists(text):  # noqa: PTH110
        if text.startswith(_FAR):
            raise Refusal(f"{text}: no such file; for a container or another machine: --target {text}")
        path, _, node = text.rpartition(":")
        if path and _is_database(path):
            return _node(path, node)
    elif text != "-" and _is_database(text):
        raise Refusal(f"{text} is a database: name one of its nodes, {text}:NODE")
    saved = read_report(text)
    name = "standard input" if text == "-" else text
    return Looked(name, saved.snapshot, saved.policy, saved.redacted)


def _is_database(path: str) -> bool:
    """Whether it is a regular file that begins as SQLite's do."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            return False
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False


def _node(path: str, node: str) -> Looked:
    from .fleet_report import worst_of

    saved = worst_of(path, node)
    return Looked(f"{path}:{node}", saved.snapshot, saved.policy, saved.redacted)


def _examined(flags: dict[str, Any], target: str | None) -> Looked:
    """This machine, or a target."""
    from ..report.progress import Progress
    from .flags import CHECK, read_flags
    from .sources import gather

    own = {name: flags[name] for name in ("python_", "timeout", "no_import", "require")}
    with Progress() as progress:
        snapshot = gather({**(read_flags(CHECK, []) or {}), **own, "target": target}, progress)
    return Looked(target or "this machine", snapshot)
