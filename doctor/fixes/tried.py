"""Whether a fix was tried already: its command was run, or its variable is set, and the fault is still there."""

from __future__ import annotations

import re

from ..findings import Fix
from ..findings.patterns import lazy
from ..snapshot import Snapshot, known

NOTE = "The text shows that this was tried: check that every step succeeded before you repeat it."
_NOISE = lazy(
    r"(?i)^(?:sudo(?: -\w+)?|env)\s+|^(?:python3?(?:\.\d+)?|%) -m (?=pip)|\s-{1,2}(?:y|yes|q|quiet)\b"
    r"|\s--(?:extra-)?index-url\s\S+|[\"'`]"
)
_TRIVIAL = lazy(r"(?i)^(?:cd|set|#|echo|cat|curl|wget|apt(?:-get)? update|dnf check|uname|ls|true|systemctl stop)\b|^$")
_ONE_WORD = ("reboot",)
_BAD_INTERFACE = lazy(r"^(?:docker|lo\b|virbr|br-|veth|127\.)")
_BETWEEN = r"(?:\s+\S+){0,4}?\s+"
"""Other options between the words of a command."""


def plain(command: str) -> str:
    """A command without sudo, quotes, the options that change nothing, and double blanks; in lower case."""
    return " ".join(_NOISE.sub(" ", " ".join(command.split())).lower().split())


def is_tried(fix: Fix, s: Snapshot) -> bool:
    """Whether the facts show that a step of it was done."""
    return any(_is_done(step.command, s) for step in fix.steps if step.command)


def _is_done(command: str, s: Snapshot) -> bool:
    """By the first part of a command that changes something."""
    for part in re.split(r"&&|\|\||[;\n|]", command):
        if variable := re.match(r"\s*export (\w+)=(\S+)", part):
            return _is_set(variable[1], variable[2].strip("\"'"), s)
        words = plain(part).removesuffix(" ...").split()
        if _TRIVIAL.match(" ".join(words)):
            continue
        if len(words) == 1 and words[0] not in _ONE_WORD:
            return False
        pattern = re.compile(rf"(?<![\w-]){_BETWEEN.join(map(re.escape, words))}(?![\w-])")
        return any(pattern.search(one) for one in s.tried)
    return False


def _is_set(name: str, value: str, s: Snapshot) -> bool:
    """A text tells that a variable is set; a machine's own variables were not set to repair this."""
    have = known(s.host.env(name)) if s.is_text else None
    if not have:
        return False
    return not _BAD_INTERFACE.match(have) if name.endswith("_SOCKET_IFNAME") else have == value
