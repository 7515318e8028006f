"""Variables of pip and uv that replace an option of the command: set before it, exported, or with ENV.

Sources: uv's reference of environment variables; pip's documentation (PIP_ and the option's name).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_OPTIONS = {
    "uv": {
        "UV_INDEX_STRATEGY": "--index-strategy", "UV_TORCH_BACKEND": "--torch-backend", "UV_INDEX": "--index",
        "UV_EXTRA_INDEX_URL": "--extra-index-url", "UV_DEFAULT_INDEX": "--default-index",
        "UV_INDEX_URL": "--default-index", "UV_FIND_LINKS": "--find-links",
    },
    "pip": {
        "PIP_INDEX_URL": "--index-url", "PIP_EXTRA_INDEX_URL": "--extra-index-url", "PIP_FIND_LINKS": "--find-links",
    },
}  # fmt: skip
_SAME = {"--index-url": "--default-index", "-i": "--default-index", "-f": "--find-links"}
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)


def assigned(words: Sequence[str]) -> dict[str, str]:
    """What a command sets: before its program, or with export."""
    found: dict[str, str] = {}
    for word in words[1:] if words[:1] == ["export"] else words:
        one = _ASSIGNED.fullmatch(word)
        if one is None and word not in ("sudo", "exec", "time", "env", "-E"):
            break
        found.update({one[1]: one[2]} if one else {})
    return found


def options(installer: str, words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The options that variables replace. The command's own options take precedence."""
    given = {_SAME.get(name, name) for word in words for name in [word.partition("=")[0]]}
    found = []
    for name, option in _OPTIONS.get(installer, {}).items():
        value = variables.get(name, "")
        if not value or _SAME.get(option, option) in given or "$" in value:
            continue
        several = re.split(r"[\s,]+" if "FIND_LINKS" in name else r"\s+", value.strip())
        found += [f"{option}={one.partition('=')[2] if name == 'UV_INDEX' and '=' in one else one}" for one in several]
    return found
