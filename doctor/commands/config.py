"""`gpudoctor.toml`, or `[tool.gpudoctor]` in pyproject.toml: what a project always expects.

The working directory and the folders above it are searched, up to the repository's (with `.git`) or the home folder;
the first that is found wins. Only the working directory itself may be one that everybody may write to.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from typing import Any

from msgspec.structs import replace

from ..findings import Policy
from ..guard import Refusal
from .options import make_policy
from .read import read_bounded
from .suggest import did_you_mean

OWN, SHARED = "gpudoctor.toml", "pyproject.toml"
KEYS = ("skip", "only", "expect", "require", "fail-on", "building", "thresholds", "matrix")
_MAX_BYTES = 1 << 20
_HEADER = rb"(?m)^\s*\[\s*tool\s*\.\s*[\"']?gpudoctor[\"']?\s*[.\]]"
_OTHER_WAYS = rb"(?m)tool\s*\.\s*[\"']?gpudoctor|^\s*\[\s*tool\s*\]|^\s*tool\s*="
"""Our table can also be written as a dotted key or inside `tool`. Reading TOML costs ten times this search."""


def base_policy(flags: dict[str, Any], saved: Policy | None = None) -> Policy | None:
    """What flags are laid over (see `_of_file`); another matrix is tried here, before anything is looked at."""
    policy = _of_file(flags, saved)
    if flags.get("matrix"):
        from .assess import matrix_of

        matrix_of(flags)
    return policy


def _of_file(flags: dict[str, Any], saved: Policy | None) -> Policy | None:
    """What flags are laid over: the file's policy, over that of a saved report.

    No file is searched for a saved report, which brings its own. The file's `matrix`, no matter of policy, is put into
    `flags` unless a flag gave one. Raises Refusal with one line.
    """
    if flags.get("no_config"):
        if flags.get("config"):
            raise Refusal("--config and --no-config exclude each other")
        return saved
    if flags.get("config"):
        path = str(flags["config"])
        return _policy(path, _table(path, _read(path), must=True) or {}, flags, saved)
    if saved is not None:
        return saved
    for path in _candidates():
        if os.path.basename(path) == OWN:  # noqa: PTH119
            return _policy(path, _table(path, _read(path)) or {}, flags, saved)
        try:
            data = _read(path)
        except Refusal:
            continue
        if b"gpudoctor" in data and (re.search(_HEADER, data) or re.search(_OTHER_WAYS, data)):
            table = _table(path, data)
            if table is not None:
                return _policy(path, table, flags, saved)
    return saved


def _policy(path: str, table: dict[str, Any], flags: dict[str, Any], saved: Policy | None) -> Policy:
    policy = policy_of(path, table, saved)
    if table.get("matrix") and not flags.get("matrix"):
        flags["matrix"] = os.path.join(os.path.dirname(path), table["matrix"])  # noqa: PTH118, PTH120
    return policy


def _candidates() -> list[str]:
    """Files that are there, in the order in which they count. A few system calls for each folder."""
    try:
        folder = os.getcwd()  # noqa: PTH109 (pathlib is not worth its start-up time here)
    except OSError:
        return []
    home = os.environ.get("HOME", "").rstrip("/")
    found, first = [], True
    while True:
        try:
            mode = os.stat(folder).st_mode  # noqa: PTH116
        except OSError:
            break
        if first or os.name == "nt" or not mode & stat.S_IWOTH:
            candidates = (os.path.join(folder, name) for name in (OWN, SHARED))  # noqa: PTH118
            found += [path for path in candidates if os.path.isfile(path)]  # noqa: PTH113
        parent = os.path.dirname(folder)  # noqa: PTH120
        if folder in (home, parent) or os.path.exists(os.path.join(folder, ".git")):  # noqa: PTH110, PTH118
            break
        folder, first = parent, False
    return found


def _read(path: str) -> bytes:
    return read_bounded(path, _MAX_BYTES, "is over 1 MiB: not a configuration of gpudoctor")


def _table(path: str, data: bytes, must: bool = False) -> dict[str, Any] | None:
    """The keys of a file of ours, or of our table in a pyproject.toml; None where that has none."""
    shared = os.path.basename(path) == SHARED  # noqa: PTH119
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content: dict[str, Any] = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8
        if shared and not must and not re.search(_HEADER, data):
            return None  # somebody else's broken file
        reason = " ".join(str(error).split())[:200] or "nested too deeply"
        raise Refusal(f"{path} is not valid TOML: {reason}") from None
    if not shared:
        return content
    tool = content.get("tool")
    table = tool.get("gpudoctor") if isinstance(tool, dict) else None
    if table is None and not must:
        return None
    if not isinstance(table, dict):
        raise Refusal(f"{path} has no table [tool.gpudoctor]")
    return table


def policy_of(path: str, table: dict[str, Any], saved: Policy | None = None) -> Policy:
    """The policy that these keys say. Raises Refusal with one line that names the file and the key."""
    for key in table:
        if key not in KEYS:
            raise Refusal(f"{path}: unknown key {key!r}{did_you_mean(key, KEYS)} (known: {', '.join(KEYS)})")
    values: dict[str, Any] = {}
    for key in ("skip", "only", "require"):
        if key in table:
            value = table[key]
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise Refusal(f"{path}: {key} is not a list of texts")
            values[key] = value
    if "expect" in table:
        expect = table["expect"]
        if isinstance(expect, bool) or not isinstance(expect, (str, int)):
            raise Refusal(f"{path}: expect is neither a text nor a number")
        values["expect"] = str(expect)
    if "fail-on" in table:
        if table["fail-on"] not in ("fail", "unknown", "warn"):
            raise Refusal(f"{path}: fail-on is none of fail, unknown, warn")
        values["fail_on"] = table["fail-on"]
    if "building" in table:
        if not isinstance(table["building"], bool):
            raise Refusal(f"{path}: building is neither true nor false")
        values["building"] = table["building"]
    if not isinstance(table.get("matrix", ""), str):
        raise Refusal(f"{path}: matrix is not the path of a file or folder")
    try:
        policy = make_policy(saved=saved, **values)
    except Refusal as refusal:
        raise Refusal(f"{path}: {str(refusal).removeprefix('--')}") from None
    if "thresholds" in table:
        policy = replace(policy, thresholds={**policy.thresholds, **_thresholds(path, table["thresholds"])})
    return policy


def _thresholds(path: str, table: Any) -> dict[str, float]:
    from ..findings.thresholds import THRESHOLDS

    if not isinstance(table, dict):
        raise Refusal(f"{path}: thresholds is not a table of name = number")
    for name, value in table.items():
        if name not in THRESHOLDS:
            raise Refusal(f"{path}: thresholds: no such threshold {name!r}{did_you_mean(name, tuple(THRESHOLDS))}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
            raise Refusal(f"{path}: thresholds: {name} is no number from 0 on")
    return {name: float(value) for name, value in table.items()}
