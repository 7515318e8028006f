"""Commands at a shell prompt and their one-word answers: `$ prime-select query` with `intel` below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..formats.lazy import lazy
from . import meanings
from .statement import Line, Statement


class _Asked(NamedTuple):
    """A command, what its answer looks like, and the kind of `meanings` that the answer has (none: for messages)."""

    command: str
    answer: str
    kind: str = ""


_VERSION = r"\d{3}\.\d{2,3}(?:\.\d{2,3})?"
_ASKED = (
    _Asked(r"prime-select query", r"intel|nvidia|on-demand|amd"),
    _Asked(r"supergfxctl (?:-g|--get)", r"[A-Z]\w{2,16}"),
    _Asked(r"envycontrol (?:-q|--query)", r"integrated|hybrid|nvidia"),
    _Asked(r"system76-power graphics", r"integrated|hybrid|nvidia|compute"),
    _Asked(r"optimus-manager --print-mode", r"(?:Current GPU mode : )?(?:integrated|hybrid|nvidia|intel)"),
    _Asked(r"systemctl is-active nvidia-fabricmanager(?:\.service)?", r"active|inactive|failed|unknown"),
    _Asked(r"cat /sys/module/nvidia/version", _VERSION, "module_version"),
    _Asked(r"ulimit -l", r"\d{1,12}|unlimited", "memlock"),
)
MARKS = ("/sys/module/nvidia/version", "ulimit")
"""Of `read_answers`; `joined` looks for them itself."""
_COMMAND = lazy(
    r"(?:.{0,80}?[$#%>❯➜~] {0,2}|\s{0,8})(?:sudo )?(?:"
    + "|".join(f"(?P<c{index}>{asked.command})" for index, asked in enumerate(_ASKED))
    + r")\s{0,4}:?$"
)
_HEADS = ("prime-select", "supergfxctl", "envycontrol", "system76-power", "optimus-manager", "systemctl is-active",
          "/sys/module/nvidia/version", "ulimit -l")  # fmt: skip
_PROMPT = lazy(r"(?:[\w.-]{1,40}@[\w.-]{1,60}[:\s][^$#]{0,80}|\[[\w.-]{1,40}@[^\]]{1,80}\])?[$#❯➜] (?=\S)")
_LSPCI = lazy(  # lspci writes NVIDIA: a grep for nvidia finds it with -i alone
    r"lspci(?: -\w{1,4}){0,3} ?\| ?(?:e?grep|rg)(?:(?: -\w{1,3}){0,2} [\"']?NVIDIA"
    r"|(?=[^|]{0,12} -\w{0,2}i)(?: -\w{1,3}){1,2} [\"']?[Nn]vidia)[\"']?\s{0,4}$"
)
_NO_OUTPUT = lazy(
    r"\s{0,8}[(<\[]?(?:no output|nothing|empty|empty output|no result|no results|blank)[)>\]]?\.?\s{0,4}$", re.I
)
_MOST_LINES = 4000
_NEAR = 3
"""Lines of the input between a command and its answer: blanks and the fences of Markdown."""


def read_answers(lines: list[Line]) -> Iterator[Statement]:
    """Statements of answers that are facts."""
    for asked, line, answer in _answered(lines):
        if asked.kind:
            yield from meanings.statements(asked.kind, answer, line)


def joined(lines: list[Line]) -> Iterator[Line]:
    """Each command and its answer as one line, `COMMAND: ANSWER`, as the messages of the catalogue are looked for."""
    for asked, line, answer in _answered(lines):
        if not asked.kind:
            yield Line(line.number, f"{line.text.strip()}: {answer}")
    yield from _empty(lines)
    yield from _service(lines)


def _answered(lines: list[Line]) -> Iterator[tuple[_Asked, Line, str]]:
    if len(lines) > _MOST_LINES:
        return
    text = "\n".join([line.text for line in lines])
    heads = [head for head in _HEADS if head in text]
    for line, answer in pairwise(lines) if heads else ():
        if not any(head in line.text for head in heads) or not 0 < answer.number - line.number <= _NEAR:
            continue
        if found := _COMMAND.match(line.text):
            asked = _ASKED[int((found.lastgroup or "c0")[1:])]
            word = answer.text.strip()
            if re.fullmatch(asked.answer, word):
                yield asked, line, word


def _empty(lines: list[Line]) -> Iterator[Line]:
    """`lspci | grep -i nvidia` that printed nothing: the text says so, or the next line is the next prompt.

    A list of commands that a page asks for has prompts too: only where the commands below it have answers, too.
    """
    if len(lines) > _MOST_LINES or not any("lspci" in line.text for line in lines):
        return
    for at, line in enumerate(lines[:-1]):
        if "lspci" not in line.text or not _LSPCI.search(line.text):
            continue
        below = lines[at + 1]
        silent = _NO_OUTPUT.match(below.text) or (_PROMPT.match(line.text) and _goes_on(lines[at + 1 : at + 7]))
        if silent and 0 < below.number - line.number <= _NEAR:
            yield Line(line.number, f"{line.text.strip()}: (no output)")


def _goes_on(lines: list[Line]) -> bool:
    """Whether these are prompts of commands that may print nothing, up to one that has an answer."""
    for line, after in pairwise(lines):
        if not _PROMPT.match(line.text):
            return False
        if not _PROMPT.match(after.text):
            return after.number > line.number
        if not re.search(r"\| ?e?grep |modprobe|rmmod|echo ", line.text):
            return False
    return False


def _service(lines: list[Line]) -> Iterator[Line]:
    """`systemctl status` of the fabric manager: its name, and some lines below its state."""
    if len(lines) > _MOST_LINES:
        return
    named: Line | None = None
    for line in lines:
        if ".service" in line.text:
            named = line if re.search(r"\bnvidia-fabricmanager\.service\b", line.text) else None
        elif named and (state := re.match(r"\s{0,16}Active: (active|inactive|failed)\b", line.text)):
            yield Line(line.number, f"nvidia-fabricmanager.service: {state[1]}")
            named = None
