"""Notes whose fragments each state one fact: `rented a 4090, flash-attn 2.5.8, nvcc 11.5`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...formats.lazy import lazy
from ..names import GPU, typed
from ..packages import package_statements
from ..statement import Line, Statement, say
from .sentences import OF_ERROR, boards, forms, is_here, of_people, read_prose, weak
from .words import not_here, package_named

_ELSEWHERE = not_here("earlier", "elsewhere", "wanted", "tried", "compared", "denied", then=r"[^,;]{0,40}$")
"""Before a fragment: it speaks of what was, of what is wanted, or of another machine."""
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
_PACKAGE = lazy(r"([A-Za-z][\w-]{1,40}?)(?:==|[ =]v?| version )(\d{1,4}\.\d[\w.+]{0,40}?)(?: (?:pip|conda|wheel)| |$)")
_NOUN = lazy(r" (?:gpus?|cards?|egpu|rig|pod|instance|machine|box)$", re.I)
_ABOUT = lazy(r"torch|cuda|driver|nvidia|gpu|wsl|ubuntu|windows|linux|docker|tensorflow|jax|train|vram|pcie|nccl", re.I)
_OF_OTHERS = not_here("in an error")
"""In an error: its versions are of what is wanted, or of another build."""
_BARE = lazy(
    r"(?:\d{1,2} ?[x×] ?)?(?:[A-Za-z][\w.-]*[ =]{1,2}){0,3}v?[A-Za-z]?\d[\w.+-]*(?: (?:Ti|Super|\d{1,3} ?GB))?", re.I
)
"""A name and a number, as `torch 2.6.0+cu124`, `2x RTX 3090`, `H100`."""
_FEW = 2
"""Lines of a text that is asked rather than pasted."""
_MOST_FRAGMENTS = 40
"""Of one line."""


def read_terse(lines: list[Line]) -> Iterator[Statement]:
    """Weak statements of fragments that say one thing only; every other fragment is left out."""
    few = len({line.number for line in lines}) <= _FEW  # readers before this one add lines
    for line in lines:
        if few and OF_ERROR.match(line.text):
            yield from _behind_error(line)
    for line in of_people(lines):
        text = line.text[:600]
        if not _ABOUT.search(text):
            continue
        at = 0
        for between in [*_BETWEEN.finditer(text)][:_MOST_FRAGMENTS]:
            yield from _fragment(text, at, between.start(), line)
            at = between.end()
        yield from _fragment(text, at, len(text), line)


def _behind_error(line: Line) -> Iterator[Statement]:
    """Of `RuntimeError: no kernel image is available, RTX 5090, torch 2.6.0` the machine behind the error's own words.

    Names with a number at its very end; where the rest speaks of others' versions, or two of one package are told,
    nothing.
    """
    error, *parts = line.text[:600].rstrip(" .!?").split(", ")
    bare: list[str] = []
    while parts and _BARE.fullmatch(parts[-1]):
        bare.insert(0, parts.pop())
    names = [part.lower().partition(" ")[0] for part in bare if not GPU.search(part)]
    if bare and len({*names}) == len(names) and not _OF_OTHERS.search(", ".join((error, *parts))):
        told = [Line(line.number, part) for part in bare]
        yield from read_prose(told)
        for part in told:
            yield from _fragment(part.text, 0, len(part.text), part)


def _fragment(text: str, start: int, end: int, line: Line) -> Iterator[Statement]:
    if lead := _LEAD.match(text, start, end):
        start = lead.end()
    words = text[start:end].strip(" \t.!?`'\"*")
    if not 3 < len(words) < 60 or _ELSEWHERE.search(text[:start]) or not is_here(text, start, end):
        return
    form, found = next(((f, m) for f in forms("fragment") if (m := f.pattern.fullmatch(words))), (None, None))
    if not form or not found:
        packages = [*_PACKAGE.finditer(words)]  # packages and nothing else
        for one in packages if "".join(part[0] for part in packages) == words else ():
            if name := package_named(one[1]):
                yield from (s._replace(weak=True) for s in package_statements(name, one[2], "", line))
    elif form.kind == "other board":
        yield say("gpu", {"index": None, "name": words, "count": 1, "vendor": "other"}, line)
    elif form.kind in ("board", "geforce"):
        board = typed(words.upper() if form.kind == "board" else _NOUN.sub("", words))
        if form.kind == "board" or board.name[:3] in ("RTX", "GTX"):
            yield boards(board.name, min(board.boards, 64), line)
    elif form.kind == "os" and re.search(r"wsl|docker|container|podman", text, re.I):
        return
    elif form.kind != "container" or not text[:start].rstrip().endswith(":"):
        yield from weak(form.kind, form.written(found, form.value), line)
