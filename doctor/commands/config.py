"""A project's standing settings: the keys of `gpudoctor.toml`, or of `[tool.gpudoctor]` in pyproject.toml.

A file that was only found (see `config_files`) may add and tighten. It can silence notes and warnings, but never a
failure or a required unknown; and it cannot choose a matrix, because the addresses of package indexes come from there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from ..findings import Expect, FoundConfig, Policy
from ..findings.spec import MOST_LINES, SpecLine
from ..guard import Refusal, say
from . import config_files
from .options import make_policy
from .spec_file import SPEC_KEYS, refuse_contradiction, spec_of
from .suggest import did_you_mean

Power: TypeAlias = Literal["silences", "tightens", "chooses"]
POWERS: dict[str, Power] = {
    "skip": "silences", "only": "silences", "thresholds": "silences", "expect": "tightens", "require": "tightens",
    "fail-on": "tightens", "building": "tightens", "matrix": "chooses", **dict.fromkeys(SPEC_KEYS, "tightens"),
}  # fmt: skip
"""Key to what it can do. In a found file, keys that choose a program, host, index or table are ignored, and keys that
silence apply only to notes and warnings."""
KEYS = tuple(POWERS)
_STRICT = ("fail", "unknown", "warn")
"""Values of fail-on, the strictest last."""


def base_policy(flags: dict[str, Any], saved: Policy | None = None) -> Policy | None:
    """The policy that flags override (see `_of_files`); a different matrix is tried here, before any gathering."""
    policy = _of_files(flags, saved)
    if flags.get("matrix"):
        from .assess import matrix_of

        matrix_of(flags)
    return policy


def with_spec(policy: Policy, paths: Sequence[str]) -> Policy:
    """The policy with the specs of each `--spec FILE` in the place of a saved report's or a configuration's: every line
    of every file counts, and no other key. Without one, the lines of all of those count together.

    Raises Refusal with one line if a file cannot be read, is wrong, or states no versions, and if no machine can meet
    the lines that count.
    """
    spec: list[SpecLine] = []
    for path in dict.fromkeys(paths):
        if not path.strip():
            raise Refusal("--spec is empty: name a file, such as --spec team.toml")
        own = policy_of(path, config_files.table_of(path, config_files.read(path), must=True) or {}).spec
        if not own:
            raise Refusal(f"{path} states no versions: none of {', '.join(SPEC_KEYS)}")
        spec += own
        _refuse_more(path, len(spec))
    refuse_contradiction(spec or policy.spec)
    if not spec:
        return policy
    found = policy.found and replace(policy.found, spec=False)  # none of its lines is left
    return replace(policy, spec=tuple(spec), found=found)


def _refuse_more(path: str, lines: int) -> None:
    """Files with more lines together than a report may have."""
    if lines > MOST_LINES:
        raise Refusal(f"{path}: together, the spec files have more than {MOST_LINES} lines")


def warn_of_config(notes: Sequence[str]) -> None:
    """Print the configuration that was used on stderr, for outputs that have no place for it."""
    for note in notes:
        say(note, 0)


def _of_files(flags: dict[str, Any], saved: Policy | None) -> Policy | None:
    """The policy that flags override: the files' policy, on top of the one in a saved report.

    No file is searched for if there is a saved report, which has its own policy, or with `--config`. A file's `matrix`,
    which is not part of the policy, is put into `flags` unless a flag gave one. Raises Refusal with one line.
    """
    if flags.get("no_config"):
        if flags.get("config"):
            raise Refusal("--config cannot be used with --no-config")
        return saved
    if flags.get("config"):
        path = str(flags["config"])
        return _in_full(path, config_files.table_of(path, config_files.read(path), must=True) or {}, flags, saved)
    if saved is not None:
        return saved
    policy: Policy | None = None
    for path in config_files.users_own():
        policy = _in_full(path, config_files.table_of(path, config_files.read(path)) or {}, flags, policy)
    found = config_files.found()
    if found is None or (policy and os.path.realpath(found[0]) == os.path.realpath(policy.config)):
        return policy
    path, data, table = found
    from .trusted import is_trusted

    if is_trusted(path, data):
        return _in_full(path, table, flags, policy)
    return found_policy(path, table, policy)


def _in_full(path: str, table: dict[str, Any], flags: dict[str, Any], saved: Policy | None) -> Policy:
    policy = replace(policy_of(path, table, saved), config=path)
    if table.get("matrix") and not flags.get("matrix"):
        flags["matrix"] = os.path.join(os.path.dirname(path), table["matrix"])  # noqa: PTH118, PTH120
    return policy


def found_policy(path: str, table: dict[str, Any], saved: Policy | None) -> Policy:
    """The policy from a file that is not trusted, on top of the user's own. Raises Refusal with one line."""
    base = saved or Policy()
    policy = policy_of(path, table, saved)
    ignored = [key for key in table if POWERS[key] == "chooses"]
    changes: dict[str, Any] = {}
    own_expectation = base.expect != Expect()
    # none and any turn a failure into a pass; and of two expectations, neither need include the other.
    if policy.expect != base.expect and (own_expectation or policy.expect.kind in ("none", "any")):
        ignored.append(f'expect = "{policy.expect}"')
        changes["expect"] = base.expect
    if _STRICT.index(policy.fail_on) < _STRICT.index(base.fail_on):
        ignored.append(f'fail-on = "{policy.fail_on}"')
        changes["fail_on"] = base.fail_on
    if base.building and not policy.building:
        changes["building"] = True
    changes["require"] = tuple(dict.fromkeys((*base.require, *policy.require)))
    shown = os.path.relpath(path)
    spec = {_stated(line): replace(line, file=shown) if line.file == path else line for line in policy.spec}
    changes["spec"] = tuple({**spec, **{_stated(line): line for line in base.spec}}.values())  # whose own it is, stays
    changes["found"] = FoundConfig(
        path=shown,
        spec=any(key in table for key in SPEC_KEYS),
        ignored=tuple(ignored),
        require=tuple(name for name in policy.require if name not in base.require),
        skip=base.skip,
        only=base.only,
        thresholds=base.thresholds,
    )
    return replace(policy, **changes)


def policy_of(path: str, table: dict[str, Any], saved: Policy | None = None) -> Policy:
    """The policy that these keys set. Raises Refusal with one line that names the file and the key."""
    for key in table:
        if key not in KEYS:
            raise Refusal(f"{path}: unknown key {key!r}{did_you_mean(key, KEYS)} (known: {', '.join(KEYS)})")
    values: dict[str, Any] = {}
    for key in ("skip", "only", "require"):
        if key in table:
            value = table[key]
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise Refusal(f"{path}: {key} must be a list of strings")
            values[key] = value
    if "expect" in table:
        expect = table["expect"]
        if isinstance(expect, bool) or not isinstance(expect, (str, int)):
            raise Refusal(f"{path}: expect must be a string or a number")
        values["expect"] = str(expect)
    if "fail-on" in table:
        if table["fail-on"] not in ("fail", "unknown", "warn"):
            raise Refusal(f"{path}: fail-on must be fail, unknown or warn")
        values["fail_on"] = table["fail-on"]
    if "building" in table:
        if not isinstance(table["building"], bool):
            raise Refusal(f"{path}: building must be true or false")
        values["building"] = table["building"]
    if not isinstance(table.get("matrix", ""), str):
        raise Refusal(f"{path}: matrix must be the path of a file or folder")
    try:
        policy = make_policy(saved=saved, **values)
    except Refusal as refusal:
        raise Refusal(f"{path}: {str(refusal).removeprefix('--')}") from None
    if spec := spec_of(path, table):
        every = {_stated(line): line for line in (*policy.spec, *spec)}
        _refuse_more(path, len(every))
        policy = replace(policy, spec=tuple(every.values()))  # a saved report may have been judged by this very file
    if "thresholds" in table:
        policy = replace(policy, thresholds={**policy.thresholds, **_thresholds(path, table["thresholds"])})
    return policy


def _stated(line: SpecLine) -> tuple[str, str, str]:
    """What a line states, wherever it stands."""
    return line.key, line.package, line.allowed


def _thresholds(path: str, table: Any) -> dict[str, float]:
    from ..findings.thresholds import THRESHOLDS

    if not isinstance(table, dict):
        raise Refusal(f"{path}: thresholds must be a table of name = number")
    for name, value in table.items():
        if name not in THRESHOLDS:
            raise Refusal(f"{path}: thresholds: no such threshold {name!r}{did_you_mean(name, tuple(THRESHOLDS))}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
            raise Refusal(f"{path}: thresholds: {name} must be a number >= 0")
    return {name: float(value) for name, value in table.items()}
