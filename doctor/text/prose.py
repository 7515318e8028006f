"""Sentences: `RTX 5080, driver 576.40, torch 2.5.1+cu121 on WSL`. Only words that leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from . import meanings
from .grammar.pairs import pairs, split
from .grammar.words import key_of_here, kind_of, not_here
from .names import GPU, typed
from .statement import Line, Statement, say

_DRIVER = lazy(
    r"\bdrivers?(?: version| branch)?[ :=]{1,3}v?(\d{3}\.\d{2,3}(?:\.\d{2,3})?|[3-6]\d{2})\b(?![.\-]?[\w])", re.I
)
_TORCH = lazy(
    r"\b(?:py)?torch(?:[ :=]{1,3}v?| version )"
    r"(\d\.\d{1,2}(?:\.\d{1,2}(?:a0(?=\+))?)?(?:\+[A-Za-z0-9.]{1,20})?)(?![\w.]*\d)"
    r"(?:[ ,]{0,2}[(\[]?(?:(cu(?:9[0-2]|1[0-3]\d))\b|(cpu)(?: (?:build|wheel|version|only)|-only|\)))"
    r"|[ ,]{0,2}\(?(?:for |built for |with )?cuda[ =-]?(\d{1,2}\.\d)\))?",
    re.I,
)
_MOST_WORDS = 3
"""Of what stands before a colon, if it is a key: longer ones begin a sentence."""
_HEADING = r"\s{0,8}(?:my |our |the )?(?:GPUs?|Setup|System|Env\w*|Hardware|Specs?|Machine)\s?:"
_ASKED = not_here("asked", "bound", then=r"[^.;]{0,24}$")
"""Before a version: what is asked for, or spoken of, not what is there."""
_OPEN = lazy(
    r"\s?(?:\+(?!\w)|,\s?[<>=!~]|\.[x*]|(?:or|and) (?:newer|later|above|higher|up|greater|older|lower|below)"
    r"|\s?(?:to|->|→)\s?v?\d|.{0,24}\(you have )",
    re.I,
)
"""After a version: a bound, or what is there in its place."""
_FOR_CUDA = lazy(r"\bcuda ?(\d{1,2}\.\d) (?:build of )?(?:py)?torch\b", re.I)
_CONDA_CUDA = lazy(r"\bcuda-?toolkit(?:[ =:]{1,2}| version )v?(\d{1,2}\.\d)\b(?!\.\d{2})", re.I)
_TO_BUY = lazy(
    r"\b(?:plan\w{0,5} to|want\w{0,3} to|like to|going to|thinking (?:of|about)|before|should i|shall i|considering)"
    r" (?:i )?(?:buy|purchas)\w{0,5}\b[^.;]{0,60}$",
    re.I,
)
"""Before a board: it is not here yet."""
_UNAVAILABLE = lazy(
    r"\b(?:cuda (?:is |was )?(?:still )?(?:not |un)available|cuda (?:is )?not (?:detected|found|recogni[sz]ed)"
    r"|is[ _]available(?:\(\))?(?: is| returns?| gives| says?|=|:|:? ->)? false)\b",
    re.I,
)
_SUPPOSED = lazy(
    r"\b(?:if|elif|while|assert|when|whether|unless|should|must|until|because|before|else|return|expect\w{0,3}|not)\b"
    r"|[=(]\s?$",
    re.I,
)
"""Before that: a condition, a wish or code."""
_JETSON = lazy(
    r"\b(?:jetson[ -](?:agx[ -])?(?:orin|xavier|thor|nano|tx[12])|agx[ -](?:orin|xavier|thor)"
    r"|orin(?= ?(?:nano|nx|agx)\b)|xavier(?= ?nx\b))(?:[ -]?(?:nano|nx|agx)\b)?(?![\w-])",
    re.I,
)
"""A module of NVIDIA's Jetson line, with `Jetson` before it or by a name that no other board has."""
_WHEEL = lazy(r"(?<![\w-])(nvidia-[a-z-]{3,30}-cu1[1-3]) (\d{1,3}(?:\.\d{1,5}){2,3})(?![\w.]*\d)")
_PYTHON = lazy(r"\bpython ?(3\.\d{1,2}(?:\.\d{1,2})?)\b", re.I)


def read_prose(lines: list[Line]) -> Iterator[Statement]:
    """Statements of lines that read as sentences; for short texts only, logs say such words of other things."""
    for line in sentences(lines):
        text = line.text
        if (found := _DRIVER.search(text)) and _told(text, found):
            yield from (s._replace(weak=True) for s in meanings.statements("driver", found[1], line))
        if (found := _TORCH.search(text)) and _told(text, found):
            local = (found[2] or found[3] or (found[4] and f"cu{found[4].replace('.', '')}") or "").lower()
            version = f"{found[1]}+{local}" if local and "+" not in found[1] else found[1]
            yield from (s._replace(weak=True) for s in meanings.statements("torch", version, line))
        if (cuda := _FOR_CUDA.search(text)) and _told(text, cuda):
            yield from (s._replace(weak=True) for s in meanings.statements("torch_cuda", cuda[1], line))
        if "torch" in text.lower() and (cuda := _CONDA_CUDA.search(text)) and _told(text, cuda):
            yield from (s._replace(weak=True) for s in meanings.statements("torch_cuda", cuda[1], line))
        if "torch" in text.lower() and (no := _UNAVAILABLE.search(text)) and not _SUPPOSED.search(text[: no.start()]):
            yield say("torch_run.cuda_available", False, line, weak=True)
        for wheel in _WHEEL.finditer(text) if "nvidia-" in text else ():
            if _told(text, wheel):
                yield say("package", (wheel[1], wheel[2]), line, weak=True)
        if found := _PYTHON.search(text):
            yield say("python.patient.version", found[1], line, weak=True)
        for module in _JETSON.finditer(text[:300]):
            yield from _jetson(module[0], line)
        for gpu in GPU.finditer(text[:300]):
            if "jetson" in gpu["name"].lower() or _TO_BUY.search(text[: gpu.start()]):
                continue
            count, name = int(gpu["count"] or 1), typed(gpu["name"]).name
            yield say("gpu.prose", {"index": None, "name": name, "count": min(count, 4096), "vendor": "nvidia"}, line)


def _jetson(name: str, line: Line) -> Iterator[Statement]:
    """A Jetson with its compute capability: the name says it."""
    from .gpus import gpu_statements

    words = " ".join(name.replace("-", " ").split())
    words = words if words.lower().startswith("jetson") else f"Jetson {words}"
    yield from (said._replace(path="gpu.prose") for said in gpu_statements(words, line))


def sentences(lines: list[Line]) -> Iterator[Line]:
    """Lines that may be people's words: no path, no error's head, no key that another reader knows."""
    for line in lines:
        text = line.text
        if len(text) > 600 or " .." in text or "Traceback" in text or re.match(r"\s*(File |/|\[|\w{1,40}Error)", text):
            continue
        if (key := split(text)) and not re.match(_HEADING, text, re.I) and _of_its_own(*key):
            continue
        yield line


def is_told(text: str, start: int, end: int) -> bool:
    """Whether what stands there is said to be here, and is not a requirement."""
    return not _ASKED.search(text[:start]) and not _OPEN.match(text[end:])


def _of_its_own(key: str, value: str) -> bool:
    """Whether another reader reads this line, or its key speaks of something else than this machine."""
    return len(key.split()) <= _MOST_WORDS and bool(kind_of(key) or not key_of_here(key) or pairs(value))


def _told(text: str, found: re.Match[str]) -> bool:
    return is_told(text, found.start(), found.end())
