"""A config's build history: the command that made each layer, with its build arguments filled in.

Sources: moby, builder/dockerfile (`/bin/sh -c #(nop) `, `|2 A=1 B=2 /bin/sh -c ...`); BuildKit (`RUN ... # buildkit`).
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_MAX_ENTRIES, _MAX_LINE = 2000, 1 << 16
MOST_EXPANDED_BYTES, MOST_NODES = 4 << 20, 500_000
_ARGUMENTS = re.compile(r"\|(\d{1,3}) ")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,80})(?::?[-+]([^${}]{0,200})|#{1,2}\.)?\}|([A-Za-z_]\w{0,80}))")
_CASE = re.compile(r"\bcase\s+[\"']?(linux/\w+|\w+)[\"']?\s+in\b")


class Made(NamedTuple):
    """One entry: the instruction (RUN, ENV, ARG ...) and the rest of it, variables filled in."""

    instruction: str
    text: str


def made_by(config: Mapping[str, Any]) -> Iterator[Made]:
    """Every entry of the history, first to last; invalid ones are left out. Raises Expanded."""
    room = Room()
    history = config.get("history")
    variables: dict[str, str] = {"TARGETPLATFORM": _platform(config), "TARGETARCH": str(config.get("architecture", ""))}
    for entry in (history if isinstance(history, list) else [])[:_MAX_ENTRIES]:
        line = entry.get("created_by") if isinstance(entry, dict) else None
        if not isinstance(line, str):
            continue
        instruction, text, given = _read(line[:_MAX_LINE])
        if instruction in ("ENV", "ARG"):
            variables.update(_pairs(room.filled(text, variables)))
        room.take(len(given))
        yield Made(instruction, _taken(room.filled(text, ChainMap(given, variables))))


class Expanded(Exception):
    """A file's variables expand to more than any image needs: one line."""


class Room:
    """How far one file may still expand: bytes of variable values, and entries of environments."""

    def __init__(self) -> None:
        self._bytes, self._nodes = MOST_EXPANDED_BYTES, MOST_NODES

    def take(self, nodes: int) -> None:
        """Raises Expanded."""
        self._nodes -= nodes
        if self._nodes < 0:
            raise Expanded(f"its stages and variables produce over {MOST_NODES} entries")

    def filled(self, text: str, variables: Mapping[str, str]) -> str:
        """With `$NAME`, `${NAME}` and `${NAME:-default}` replaced if the name is known; the rest stays.

        Raises Expanded before a longer text is built.
        """

        def value(found: re.Match[str]) -> str:
            name = found[1] or found[3]
            given = variables.get(name) or (found[2] if found[2] is not None else found[0])
            self._bytes -= len(given)
            if self._bytes < 0:
                raise Expanded(f"its variables expand to over {MOST_EXPANDED_BYTES >> 20} MiB")
            return given

        return _VARIABLE.sub(value, text)


def _read(line: str) -> tuple[str, str, dict[str, str]]:
    line = line.strip().removesuffix("# buildkit").strip()
    instruction, _, rest = line.partition(" ")
    if not re.fullmatch(r"[A-Z]{2,12}", instruction):
        instruction, rest = "RUN", line
    rest = rest.strip()
    given: dict[str, str] = {}
    if found := _ARGUMENTS.match(rest):
        words = rest[found.end() :].partition(" /bin/")
        given = _pairs(words[0])
        rest = f"/bin/{words[2]}" if words[1] else rest
    rest = re.sub(r"^(?:/bin/(?:ba)?sh|/bin/bash|SHELL \[.*?\]) (?:-\w+ )*(?:pipefail )?-\w*c ", "", rest)
    if rest.startswith("#(nop)"):
        instruction, _, rest = rest.removeprefix("#(nop)").strip().partition(" ")
    return instruction, rest.strip(), given


def _pairs(text: str) -> dict[str, str]:
    """`A=1 B=two words C=3` as in the history: without quotes, so a value ends where the next name begins."""
    found = list(re.finditer(r"(?:^|\s)([A-Za-z_]\w{0,80})=", text))
    if not found:
        return {}
    ends = [*(one.start() for one in found[1:]), len(text)]
    return {one[1]: text[one.end() : end].strip().strip("\"'") for one, end in zip(found, ends, strict=True)}


def _platform(config: Mapping[str, Any]) -> str:
    return f"{config.get('os', 'linux')}/{config.get('architecture', '')}"


def _taken(text: str) -> str:
    """The branch of `case linux/amd64 in ... esac` that was taken."""
    parts = []
    while found := _CASE.search(text):
        end = text.find("esac", found.end())
        if end < 0:
            break
        parts += [text[: found.start()], _branch(found[1], text[found.end() : end])]
        text = text[end + len("esac") :]
    return "".join([*parts, text])


def _branch(value: str, body: str) -> str:
    for one in body.split(";;"):
        pattern, _, commands = one.partition(")")
        words = [word.strip(" \t\n\"'(\\") for word in pattern.split("|")]
        if value in words or "*" in words:
            return commands
    return ""
