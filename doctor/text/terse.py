"""Notes: `rented a 4090, flash-attn 2.5.8, Windows 11, nvcc 11.5`: short fragments, each a fact of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from . import meanings
from .grammar.words import not_here, package_named
from .names import typed
from .packages import package_statements
from .prose import is_told, sentences
from .statement import Line, Statement, say

_BETWEEN = lazy(
    r"\s{0,3}(?:[,;|()]|:(?=\s)|\.(?=\s|$)|\s(?:[-–—+]{1,2}|and|with|using|inside|on|in|under|running|plus|but|gives?|gave|shows?"
    r"|says?|fails?|reports?|gets?|throws?|crashes|hangs?|runs?|has|is|does|cannot|can.t)(?=\s))\s{0,3}",
    re.I,
)
_LEAD = lazy(
    r"(?:(?:i|we|i'm|have|has|got|rent(?:ed|ing)|own|use|using|running|run|my|our|the|is|it|its|currently|installed"
    r"|fresh|new|on|in|with|using|inside|under|and|plus|but|a|an)\s){1,4}",
    re.I,
)
_OS = lazy(
    r"(?:(?:native )?Windows(?: (?:10|11|Server \d{4}|native))?(?: (?:Pro|Home))?"
    r"|(?:Ubuntu|Debian|Fedora|CentOS|RHEL|Rocky(?: Linux)?|AlmaLinux|openSUSE|Linux Mint|Pop!?_OS)"
    r"(?: Server)? ?\d{1,2}(?:\.\d{1,2})?(?: LTS)?|Arch Linux|Manjaro|NixOS)",
    re.I,
)
_PLACE = lazy(r"(?:a )?(docker|podman|apptainer|singularity)(?: (?:container|image))?", re.I)
_NVCC = lazy(r"nvcc(?: version)?(?: is)? v?(\d{1,2}\.\d)(?:\.\d{1,3})?", re.I)
_PACKAGE = lazy(r"([A-Za-z][\w-]{1,40}?)(?:==|[ =]v?| version )(\d{1,4}\.\d[\w.+]{0,40}?)(?: (?:pip|conda|wheel)| |$)")
_BOARD = lazy(
    r"(?:(?:\d{1,2} ?[x×] ?|(?:an?|one|single|dual|two|three|four|eight|\d) )(?:nvidia |geforce )*)?(?:laptop )?"
    r"(?:10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[5-9]0|50[5-9]0)(?: ?ti)?(?: ?s(?:uper)?)?(?: (?:laptop|mobile|d))?s?"
    r"(?: ?\(?\d{1,2} ?gb\)?)?(?: (?:gpus?|cards?|egpu|rig|pod|instance|machine|box))?",
    re.I,
)
"""A GeForce by its number alone."""
_DATACENTER = lazy(
    r"(?:\d{1,2} ?[x×] ?|(?:an?|one|single|dual|two|four|eight|\d) )?(?:nvidia |tesla )*"
    r"(?:[abh]100|h200|h800|a800|b[23]00|gh200|gb200|a10g?|a16|a30|a40|l4|l40s?|t4|v100s?|p100|p40|k80|m60|[at][1-6]000)"
    r"(?:[ -](?:sxm\d?|pcie|nvl|hgx|hbm3e?|\d{2,3} ?gb?))*(?: ada)?s?(?: ?(?:[x×] ?\d{1,2}|\(?[x×]\d{1,2}\)?))?",
    re.I,
)
_OTHER_MAKER = lazy(r"(?:amd |radeon )*(?:rx ?\d{4} ?(?:xtx?|gre|m)?|mi\d{2,3}x?)|intel arc [ab]\d{3}", re.I)
_NOT_HERE = not_here("earlier", "elsewhere", "wanted", "tried", "compared", "denied", then=r"[^,;]{0,40}$")
"""Before a fragment: it speaks of what was, of what is wanted, or of another machine."""
_MOST = 40
"""Fragments of one line."""
_ABOUT = lazy(r"torch|cuda|driver|nvidia|gpu|wsl|ubuntu|windows|linux|docker|tensorflow|jax|train|vram|pcie|nccl", re.I)


def read_terse(lines: list[Line]) -> Iterator[Statement]:
    """Weak statements of fragments that say one thing only; every other fragment is left out."""
    for line in sentences(lines):
        at = 0
        text = line.text[:600]
        if not _ABOUT.search(text):
            continue
        for between in [*_BETWEEN.finditer(text)][:_MOST]:
            yield from _fragment(text, at, between.start(), line)
            at = between.end()
        yield from _fragment(text, at, len(text), line)


def _fragment(text: str, start: int, end: int, line: Line) -> Iterator[Statement]:
    if lead := _LEAD.match(text, start, end):
        start = lead.end()
    said = text[start:end].strip(" \t.!?`'\"*")
    if not 3 < len(said) < 60 or _NOT_HERE.search(text[:start]) or not is_told(text, start, end):
        return
    if _OS.fullmatch(said):
        if not re.search(r"wsl|docker|container|podman", text, re.I):
            yield from (s._replace(weak=True) for s in meanings.statements("os", said, line))
    elif (place := _PLACE.fullmatch(said)) and not text[:start].rstrip().endswith(":"):
        yield from (s._replace(weak=True) for s in meanings.statements("container", place[1].lower(), line))
    elif nvcc := _NVCC.fullmatch(said):
        yield from (s._replace(weak=True) for s in meanings.statements("nvcc", nvcc[1], line))
    elif _DATACENTER.fullmatch(said):
        board = typed(said.upper())
        fields = {"index": None, "name": board.name, "count": min(board.boards, 64), "vendor": "nvidia"}
        yield say("gpu.prose", fields, line)
    elif _OTHER_MAKER.fullmatch(said):
        yield say("gpu", {"index": None, "name": said, "count": 1, "vendor": "other"}, line)
    elif _BOARD.fullmatch(said):
        board = typed(re.sub(r"(?: (?:gpus?|cards?|egpu|rig|pod|instance|machine|box))$", "", said, flags=re.I))
        if board.name[:3] in ("RTX", "GTX"):
            fields = {"index": None, "name": board.name, "count": min(board.boards, 64), "vendor": "nvidia"}
            yield say("gpu.prose", fields, line)
    else:
        yield from _packages(said, line)


def _packages(said: str, line: Line) -> Iterator[Statement]:
    """`torch 2.4.0 torchvision 0.18.0`: packages and nothing else."""
    found = [*_PACKAGE.finditer(said)]
    if found and "".join(one[0] for one in found) == said:
        for one in found:
            if name := package_named(one[1]):
                yield from (s._replace(weak=True) for s in package_statements(name, one[2], "", line))
