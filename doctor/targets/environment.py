"""The environment of a child that runs in another folder than the user's: what was relative means the same."""

from __future__ import annotations

import os
from collections.abc import Mapping

EMPTY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "patient", "empty")  # noqa: PTH118, PTH120
"""The folder that children run in: nothing in it can be imported, and uv finds no project's settings from there."""
_LISTS = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHOME")


def absolute(env: Mapping[str, str], folder: str) -> dict[str, str]:
    """The variables with relative entries made absolute against `folder`, without those that name it itself.

    An empty entry and `.` stand for the current folder: nothing in it is executed for gpudoctor's sake, so they go.
    A name without a slash in LD_PRELOAD is searched for, not relative.
    """
    changed = {**env, "PYTHONSAFEPATH": "1"}  # Python 3.11 and newer: what -P says, which older ones refuse
    for name in _LISTS:
        value = env.get(name)
        if not value or (name == "LD_PRELOAD" and "/" not in value):
            continue
        separator = ":" if name != "LD_PRELOAD" or " " not in value else " "
        entries = value.replace(";", ":").split(separator) if name == "LD_LIBRARY_PATH" else value.split(separator)
        if all(entry.startswith("/") for entry in entries):
            continue
        kept = [_entry(entry, folder, name == "LD_PRELOAD") for entry in entries]
        changed[name] = separator.join(entry for entry in kept if entry)
        if not changed[name]:
            del changed[name]
    return changed


def _entry(entry: str, folder: str, searched: bool) -> str:
    if entry.startswith(("/", "~")) or (searched and "/" not in entry):
        return entry
    if os.path.normpath(entry or ".") == ".":
        return ""
    return os.path.normpath(os.path.join(folder, entry)) if folder.startswith("/") else ""  # noqa: PTH118


def current_folder() -> str:
    """The working directory, empty if it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 (pathlib is not worth its start-up time here)
    except OSError:
        return ""
