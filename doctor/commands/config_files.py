"""Where configuration files are searched for, how they are read, and whose they are.

A file that somebody else may have put into a folder (a cloned repository) is *found*: the working directory and the
folders above it are searched, up to the repository's root (with `.git`) or the home folder; the first one is used. Only
the working directory itself may be world-writable. Files in $XDG_CONFIG_HOME/gpudoctor and /etc/gpudoctor that only the
user or root can write, and files trusted with `gpudoctor trust`, are the user's own.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from ..guard import Refusal
from .read import read_bounded

OWN, SHARED = "gpudoctor.toml", "pyproject.toml"
SYSTEM = "/etc/gpudoctor/gpudoctor.toml"
_MAX_BYTES = 1 << 20
_HEADER = rb"(?m)^\s*\[\s*tool\s*\.\s*[\"']?gpudoctor[\"']?\s*[.\]]"
_OTHER_WAYS = rb"(?m)tool\s*\.\s*[\"']?gpudoctor|^\s*\[\s*tool\s*\]|^\s*tool\s*="
"""Our table can also be written as a dotted key or inside `tool`. Parsing TOML takes ten times as long."""


def users_own() -> list[str]:
    """The system's file and the user's, in this order, if they exist and only the user or root can write them."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.environ.get("HOME") or "/", ".config")  # noqa: PTH118
    paths = (SYSTEM, os.path.join(home, "gpudoctor", OWN))  # noqa: PTH118
    return [path for path in paths if os.path.isfile(path) and only_ours(path)]  # noqa: PTH113


def only_ours(path: str) -> bool:
    """Whether only this user and root can write the file and its folder."""
    for name in (path, os.path.dirname(path)):  # noqa: PTH120
        try:
            about = os.stat(name)  # noqa: PTH116
        except OSError:
            return False
        if os.name != "nt" and (about.st_uid not in (0, os.geteuid()) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return False
    return True


def found() -> tuple[str, bytes, dict[str, Any]] | None:
    """The first file with our keys, here or above: its path, bytes and keys. Raises Refusal if it is broken."""
    for path in _candidates():
        if os.path.basename(path) == OWN:  # noqa: PTH119
            data = read(path)
            return path, data, table_of(path, data) or {}
        try:
            data = read(path)
        except Refusal:
            continue
        if b"gpudoctor" in data and (re.search(_HEADER, data) or re.search(_OTHER_WAYS, data)):
            table = table_of(path, data)
            if table is not None:
                return path, data, table
    return None


def _candidates() -> list[str]:
    """The files that exist, in order of precedence. A few system calls per folder."""
    try:
        folder = os.getcwd()  # noqa: PTH109 (pathlib is not worth its start-up time here)
    except OSError:
        return []
    home = os.environ.get("HOME", "").rstrip("/")
    paths, first = [], True
    while True:
        try:
            mode = os.stat(folder).st_mode  # noqa: PTH116
        except OSError:
            break
        if first or os.name == "nt" or not mode & stat.S_IWOTH:
            candidates = (os.path.join(folder, name) for name in (OWN, SHARED))  # noqa: PTH118
            paths += [path for path in candidates if os.path.isfile(path)]  # noqa: PTH113
        parent = os.path.dirname(folder)  # noqa: PTH120
        if folder in (home, parent) or os.path.exists(os.path.join(folder, ".git")):  # noqa: PTH110, PTH118
            break
        folder, first = parent, False
    return paths


def read(path: str) -> bytes:
    return read_bounded(path, _MAX_BYTES, "is over 1 MiB: too large for a gpudoctor config file")


def table_of(path: str, data: bytes, must: bool = False) -> dict[str, Any] | None:
    """The keys of a gpudoctor.toml, or of our table in a pyproject.toml; None if it has no such table."""
    shared = os.path.basename(path) == SHARED  # noqa: PTH119
    from .toml import loads

    try:
        content = loads(data.decode("utf-8-sig"))
    except ValueError as error:  # not TOML, not UTF-8
        if shared and not must and not re.search(_HEADER, data):
            return None  # somebody else's broken file
        if isinstance(error, UnicodeDecodeError):
            raise Refusal(f"{path} is not UTF-8 text") from None
        raise Refusal(f"{path} is not valid TOML: {' '.join(str(error).split())[:200]}") from None
    if not shared:
        return content
    tool = content.get("tool")
    table = tool.get("gpudoctor") if isinstance(tool, dict) else None
    if table is None and not must:
        return None
    if not isinstance(table, dict):
        raise Refusal(f"{path} has no [tool.gpudoctor] table")
    return table
