"""Sentences that state a fact: `The installed driver is 535.54`.

The forms are rows of the table; what is asked for, supposed, or of another time or machine is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...formats.lazy import lazy
from .. import meanings
from ..names import GPU, typed
from ..statement import Line, Statement, say
from .pairs import pairs, split
from .words import canonical, exact_kind, key_of_here, kind_of, not_here, package_name, table, variable

_END = lazy(r"(?:(?<=[^\s.][^\s.])\.|[;!?])\s+|\s+(?:and|but|while|whereas)\s+(?=(?:the|my|our|it|I|we|nvidia-smi)\b)")
_VERB = lazy(
    r"\s(?:(?:is|are|=) (?:set to |at |on |currently |now |version )?|(?:shows?|says?|reports?|returns?|gives?|prints?"
    r"|reads?|tells?|displays?|detects?|sees?|has|runs?|uses?) (?:me |that |it is )?(?:version )?)",
    re.I,
)
_BEFORE_KEY = lazy(r"^(?:(?:the|my|our|its|a|an|this|that|in|on|here|installed|current|and|so|also|but) ){1,4}", re.I)
_ARTICLE = lazy(r"^(?:an?|the) ", re.I)
_STOP = lazy(r",\s|\s(?:and|but|on|under|in|with|which|that|while|from|for|because|when|after|so|inside)\s|\s?\(")
_NUMBER = lazy(r"(?:v(?:ersion )?)?(\d[\w.+~-]{0,60}?)[.,]?")
_ANSWER = lazy(r"(?:True|False|None|yes|no|enabled|disabled|unset|not set|on|off)\.?", re.I)
_NAMED = ("gpu_name", "gpus_line", "os", "image", "kernel", "container_runtime")
_SPOKEN_OF = not_here("supposed", "earlier", "asked", "wanted", "tried")
"""A sentence that speaks of something else than what is there."""
_AT = r"\b(?:on|in|at) (?:the|my|our|an?) "
_MACHINES = "(?:laptop|desktop|workstation|pc|home|cluster|server|pod|node|cloud|host|container)"
_ANOTHER = lazy(
    rf"{_AT}(?:other|second|old|friend's|colleague's|\w{{1,20}} other)\b|\b(?:on|in|at) another\b"
    rf"|{_AT}({_MACHINES})\b.{{1,200}}{_AT}(?!\1\b){_MACHINES}\b",
    re.I,
)
"""A sentence of another machine, or of two."""
_ASKED = not_here("asked", "bound", then=r"[^.;]{0,24}$")
"""Before a version: what is asked for, or spoken of, not what is there."""
_OPEN = lazy(
    r"\s?(?:\+(?!\w)|,\s?[<>=!~]|\.[x*]|(?:or|and) (?:newer|later|above|higher|up|greater|older|lower|below)"
    r"|\s?(?:to|->|→)\s?v?\d|.{0,24}\(you have )",
    re.I,
)
"""After a version: a bound, or what is there in its place."""
_SUPPOSED = lazy(
    r"\b(?:if|elif|while|assert|when|whether|unless|should|must|until|because|before|else|return|expect\w{0,3}|not)\b"
    r"|[=(]\s?$",
    re.I,
)
"""Before an answer: a condition, a wish or code."""
_TO_BUY = lazy(
    r"\b(?:plan\w{0,5} to|want\w{0,3} to|like to|going to|thinking (?:of|about)|before|should i|shall i|considering)"
    r" (?:i )?(?:buy|purchas)\w{0,5}\b[^.;]{0,60}$",
    re.I,
)
"""Before a board: it is not here yet."""
_SOME = lazy(r"\b(?:with|have|has|got|using|on|of|are|and) ([2-9]|1[0-6]) $", re.I)
"""Before a board: how many of it."""
_HEADING = lazy(r"\s{0,8}(?:my |our |the )?(?:GPUs?|Setup|System|Env\w*|Hardware|Specs?|Machine)\s?:", re.I)
OF_ERROR = lazy(r"\s*\w{1,40}Error: ")
_SELF = lazy(r"\b(?:(?-i:I|I'm)|my|we|our)\b", re.I)
"""Behind an error a sentence of people; the error's own words speak of what is wanted, too."""
_NO_WORDS = lazy(r"\s*(File |/|\[|\w{1,40}Error)")
_JETSON = lazy(
    r"\b(?:jetson[ -](?:agx[ -])?(?:orin|xavier|thor|nano|tx[12])|agx[ -](?:orin|xavier|thor)"
    r"|orin(?= ?(?:nano|nx|agx)\b)|xavier(?= ?nx\b))(?:[ -]?(?:nano|nx|agx)\b)?(?![\w-])",
    re.I,
)
"""A module of NVIDIA's Jetson line, with `Jetson` before it or by a name that no other board has."""
_WHEEL = lazy(r"(?<![\w-])(nvidia-[a-z-]{3,30}-cu1[1-3]) (\d{1,3}(?:\.\d{1,5}){2,3})(?![\w.]*\d)")
_LONGEST, _MOST_WORDS = 800, 3
"""Characters of a line; words before a colon, if it is a key: longer ones begin a sentence."""


class Form(NamedTuple):
    """A row of the table: `value` and `means` are templates of the pattern's groups ($1 ...)."""

    pattern: re.Pattern[str]
    kind: str
    value: str
    means: str
    instead: dict[str, str]
    find: str
    guard: str

    def written(self, found: re.Match[str], template: str) -> str:
        return re.sub(r"\$(\d)", lambda number: found[int(number[1])] or "", template)


@lru_cache(maxsize=3)
def forms(where: str) -> tuple[Form, ...]:
    """The rows of the table for this place: `line`, `sentence` or `fragment`."""
    rows = [row for row in table()["sentence"] if row["in"] == where]
    names = {"kind": "", "value": "$1", "means": "", "instead": {}, "find": "", "guard": ""}
    return tuple(
        Form(lazy(row["pattern"], re.I), *(row.get(name, usual) for name, usual in names.items())) for row in rows
    )


def clauses(line: Line) -> Iterator[Line]:
    """The facts of a line's sentences, as `key: value`."""
    text = line.text.replace("`", "")
    if not 8 < len(text) < _LONGEST or text.count(" ") < 2:
        return
    sentences = [sentence for sentence in _END.split(text) if not _SPOKEN_OF.search(sentence)]
    if OF_ERROR.match(text):
        sentences = [sentence for sentence in sentences if _SELF.search(sentence)]
    for form in forms("line"):
        for part in sentences if form.guard else [text]:
            for found in form.pattern.finditer(part):
                pair = form.written(found, form.means)
                yield Line(line.number, form.instead.get(pair.lower(), pair))
    for sentence in sentences:
        if _ANOTHER.search(sentence):
            continue
        yield from _told(sentence.strip(), line.number)


def _told(sentence: str, number: int) -> Iterator[Line]:
    for verb in _VERB.finditer(sentence):
        words = _BEFORE_KEY.sub("", sentence[: verb.start()].strip()).split()
        after = _ARTICLE.sub("", sentence[verb.end() :].strip())
        keys = [(" ".join(words[-count:]), after) for count in range(min(6, len(words)), 0, -1)]
        if words and (two := re.match(r"([A-Za-z]{2,12}) (?:version )?(\d\S{0,40})", after)):
            keys += [(f"{' '.join(words[-2:])} {two[1]}", two[2]), (two[1], two[2])]
        for key, value in keys:
            if key[:1].isalpha() and "(" not in key and (line := _pair(key, value)):
                yield Line(number, line)
                return


def _pair(key: str, after: str) -> str:
    """`key: value` where the words that follow are a value of this key; ''."""
    kind, package = exact_kind(key), package_name(key)
    if not kind and not package and not variable(key) and not canonical(key):
        return ""
    value = _STOP.split(after, maxsplit=1)[0].strip().rstrip(".")
    if kind in _NAMED:
        value = after.rstrip(".") if kind != "os" and len(after) < 80 else value
        return f"{key}: {value}" if value[:1].isupper() or value[:1].isdecimal() else ""
    if number := _NUMBER.fullmatch(value):
        return f"{package}=={number[1]}" if package else f"{key}: {number[1]}"
    if kind == "arch_list":
        return f"{key}: {after}" if "sm_" in after else ""
    one_word = bool(kind or canonical(key)) and len(value.split()) == 1
    return f"{key}: {value}" if one_word or _ANSWER.fullmatch(value) else ""


def read_prose(lines: list[Line]) -> Iterator[Statement]:
    """Statements of lines that read as sentences; for short texts only, logs say such words of other things."""
    for line in of_people(lines):
        text, told = line.text, set()
        for form in forms("sentence"):
            if form.kind in told or form.find not in text.lower() or not (found := form.pattern.search(text)):
                continue
            told.add(form.kind)
            supposed = form.guard == "supposed" and _SUPPOSED.search(text[: found.start()])
            if not supposed and (form.guard != "told" or is_here(text, found.start(), found.end())):
                yield from weak(form.kind, form.written(found, form.value), line)
        for wheel in _WHEEL.finditer(text) if "nvidia-" in text else ():
            if is_here(text, wheel.start(), wheel.end()):
                yield say("package", (wheel[1], wheel[2]), line, weak=True)
        for module in _JETSON.finditer(text[:300]):
            yield from _jetson(module[0], line)
        for gpu in GPU.finditer(text[:300]):
            if "jetson" not in gpu["name"].lower() and not _TO_BUY.search(text[: gpu.start()]):
                before = None if gpu["count"] else _SOME.search(text[: gpu.start()])
                count = int(gpu["count"] or (before[1] if before else 1))
                yield boards(typed(gpu["name"]).name, min(count, 4096), line)


def weak(kind: str, value: str, line: Line) -> Iterator[Statement]:
    """Statements that a stronger one of the same fact tops."""
    return (found._replace(weak=True) for found in meanings.statements(kind, value, line))


def boards(name: str, count: int, line: Line) -> Statement:
    """So many GPUs of this name, in people's words."""
    return say("gpu.prose", {"index": None, "name": name, "count": count, "vendor": "nvidia"}, line)


def _jetson(name: str, line: Line) -> Iterator[Statement]:
    """A Jetson with its compute capability: the name says it."""
    from ..gpus import gpu_statements

    words = " ".join(name.replace("-", " ").split())
    words = words if words.lower().startswith("jetson") else f"Jetson {words}"
    yield from (found._replace(path="gpu.prose") for found in gpu_statements(words, line))


def of_people(lines: list[Line]) -> Iterator[Line]:
    """Lines that may be people's words: no path, no error's head, no key that another reader knows."""
    for line in lines:
        text = line.text
        if len(text) > 600 or " .." in text or "Traceback" in text or _NO_WORDS.match(text):
            continue
        if (parts := split(text)) and not _HEADING.match(text) and len(parts[0].split()) <= _MOST_WORDS:
            key, value = parts
            if kind_of(key) or not key_of_here(key) or pairs(value):
                continue
        yield line


def is_here(text: str, start: int, end: int) -> bool:
    """Whether what stands there is said to be here, and is not a requirement."""
    return not _ASKED.search(text[:start]) and not _OPEN.match(text[end:])
