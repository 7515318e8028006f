"""Layouts that put a key and its value apart, or many of them on one line: written out as one `key: value` a line.

What is written out is added to the lines of the text, never put in their place, and keeps the number of its line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...formats.lazy import lazy
from ..statement import Line
from ..values import is_bound
from ..variables import NOT_SET
from .nested import flat_lines, json_lines, yaml_lines
from .pairs import pairs
from .sentences import clauses
from .words import canonical, exact_kind, in_words, key_of_here, kind_of, package_name, variable

_MOST_ADDED = 5000
_MOST_FIRST, _MOST_LAST = 400, 200
"""Lines at the begin and at the end of a text that are looked at one by one."""
_MOST_SENTENCES = 120
"""Lines of a text that somebody wrote."""
_HYPHEN = lazy(r"(\w-) (?=\w)")
_HEADING = lazy(
    r"\s{0,3}(?:#{1,6}\s{1,4}|\*{2,3}|__|[-*+] {1,3}\*\*)?([A-Za-z][\w .()/?-]{1,50}?)"
    r"(?:\*{2,3}|__)?\s?:?\s?(?:\*\*|__)?$"
)
_FENCE = lazy(r"\s{0,8}(?:```|~~~)")
_KEY = lazy(
    r"\s{0,12}([A-Za-z/][\w ./()\[\]?+-]{0,60}?)\s{0,40}"
    r"(?::\s|=(?!=)\s?|\s?->\s|\s?=>\s|\s-\s|\t\s{0,8}|\s{3,40})\s{0,40}(\S.{0,1000})"
)
_PART = lazy(r"(?:[,;|]|\s[/·•]|\.)\s+")
_INNER = lazy(r"([A-Za-z][\w .()/-]{0,40}?)\s?(?:=|:\s)\s?(\S.{0,300})")
_MEMBER = lazy(r"[A-Za-z][\w.+-]{0,60}=(?!=)\S")
_CELL = lazy(r"\s{0,3}\|")
_RULE = lazy(r"\s{0,3}\|(?:\s?:?-{2,60}:?\s?\|){1,40}\s{0,3}$")
_BULLET = lazy(r"^\s{0,12}(?:(?:[-*+•]|\d{1,2}[.)])\s{1,3})?(?:\*\*)?")
_CELLS = lazy(r"\s{0,4}\|([^|]{1,80})\|([^|]{1,600})\|\s{0,4}")
_LSPCI = lazy(r"\s{1,8}Kernel (?:modules|driver in use):")
_WORD = lazy(r"[A-Za-z]\w.{0,80}?(?:[:=>|\t]|\s-\s|\s[\w.]|\s\()")
_VERSION = lazy(r"v?\d[\w.+~-]{0,60}(?: \([^)]{1,60}\))?")
_SHORT = lazy(r"(?:True|False|true|false|yes|no|none|None|null|unset|enabled|disabled|N/A|CUDA \d[\d.]{1,5})")
_THING = lazy(r"[A-Z0-9][^.;:]{1,60}|\d[\w.+ ()-]{1,60}")


def unfold(lines: list[Line], rows: list[str]) -> list[Line]:
    """The lines to be added. `lines`: as they came but for quotes and tags; `rows`: the input itself."""
    found: list[Line] = []
    for line in _all(lines, rows):
        found.append(line)
        if len(found) >= _MOST_ADDED:
            break
    return found


def _all(lines: list[Line], rows: list[str]) -> Iterator[Line]:
    for source in (json_lines(rows), yaml_lines(lines), _under_headings(lines), _wide_tables(lines)):
        for line in source:
            yield line
            yield from _of_line(line)
    for told in _clauses(lines) if len(lines) <= _MOST_SENTENCES else ():
        yield told
        yield from _of_line(told)
    for line in (*lines[:_MOST_FIRST], *lines[_MOST_FIRST:][-_MOST_LAST:]):
        yield from _of_line(line)


def _clauses(lines: list[Line]) -> Iterator[Line]:
    """Facts that sentences tell; a sentence may go on over the lines of a paragraph."""
    paragraph: list[Line] = []
    for line in [*lines, Line(0, "")]:
        if paragraph and (line.number - paragraph[-1].number != 1 or not 40 < len(paragraph[-1].text) <= 120):
            joined = " ".join(row.text.strip() for row in paragraph)
            yield from clauses(Line(paragraph[0].number, _HYPHEN.sub(r"\1", joined)))
            paragraph = []
        paragraph.append(line)


def _of_line(line: Line) -> Iterator[Line]:
    """The pairs of one line, and a pair of a key that other words are usual for, in those words."""
    text = line.text
    if not 3 < len(text) < 1500 or text.lstrip()[:1] in "[{<" or not _WORD.search(text) or _LSPCI.match(text):
        return
    if cells := _CELLS.fullmatch(text):
        yield from _usual(cells[1].strip(" *`_"), cells[2].strip(" *`"), line.number)
        return
    text = _BULLET.sub("", text, count=1).replace("**", "").replace("`", "")
    pair = _KEY.match(text)
    if pair and not key_of_here(pair[1]) and not _exactly(pair[1].strip()):
        return
    if pair and (inner := _inner_pairs(pair[2].strip())):
        for _, told in flat_lines((pair[1].strip(),), inner):
            yield Line(line.number, told)
            if again := _KEY.match(told):
                yield from _usual(again[1], again[2], line.number, ": ")
    elif len(parts := _parts(text)) > 1:
        for name, told in parts:
            yield from _usual(name, told, line.number)
    elif pair:
        key, sign = pair[1].strip(), text[pair.end(1) : pair.start(2)]
        if sign.strip() in (":", "=") or _exactly(key):
            yield from _usual(key, pair[2], line.number, sign)
    elif pair_of_words := _spoken(text):
        yield from _usual(*pair_of_words, line.number)


def _usual(key: str, value: str, number: int, sign: str = "") -> Iterator[Line]:
    """`key: value` in the words that other readers and the catalogue know."""
    value = value.strip().strip("'\"").strip()
    word = value.lower().rstrip(".")
    if name := variable(key):
        if word in NOT_SET:
            yield Line(number, f"{name} is unset")
        else:
            yield Line(number, f"{name}={value}")
    elif package := package_name(key):
        if _VERSION.fullmatch(value) or word.startswith(("built for", "compiled for")):
            yield Line(number, f"{package}=={value}")
        elif word in ("not installed", "none", "null", "absent", "missing"):
            yield Line(number, f"{package} (not installed)")
    elif (usual := canonical(key)) and (usual != "torch" or is_bound(value)):
        told = {"yes": "True", "true": "True", "no": "False", "false": "False"}.get(word, value)
        if usual != key or sign != ": " or told != value:
            yield Line(number, f"{usual}: {told}")
        if kind_of(key) and sign not in (": ", "=", " = "):
            yield Line(number, f"{key}: {value}")
    elif sign != ": " and (kind_of(key) or sign.strip() == ":"):
        yield Line(number, f"{key}: {value}")
    elif not kind_of(key) and ("-" in key or (key[:1].islower() and key != key.lower())):
        yield Line(number, f"{in_words(key)}: {value}")


def _known(key: str) -> bool:
    return bool(kind_of(key) or canonical(key) or package_name(key) or variable(key))


def _exactly(key: str) -> bool:
    return bool(exact_kind(key) or canonical(key) or package_name(key) or variable(key))


def _parts(text: str, led: bool = False) -> list[tuple[str, str]]:
    """`GPU: RTX 4090, driver: 550.54, torch 2.4` as pairs; a part without a key goes on with the last one."""
    pieces = _PART.split(text)
    if len(pieces) < 2 or len(pieces) > 60:
        return []
    found: list[tuple[str, str]] = []
    for piece in pieces:
        pair = _INNER.fullmatch(piece.strip())
        told = (pair[1].strip(), pair[2].strip()) if pair and _known(pair[1].strip()) else _spoken(piece)
        if told:
            found.append(told)
        elif not found and led:
            continue
        elif not found:
            lead, sign, rest = text.partition(": ")
            return _parts(rest, led=True) if sign and len(lead) < 40 and key_of_here(lead) else []
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}, {piece.strip()}")
    names = [name for name, _ in {*found} if exact_kind(name) not in _NAMED]
    return [one for one in found if names.count(one[0]) < 2]  # two versions of one thing: neither is told


def _inner_pairs(value: str) -> dict[str, object] | list[dict[str, object]] | None:
    """`name=RTX 4090, count=2` as a dict; a key that comes again begins the next of a list."""
    found: list[dict[str, object]] = [{}]
    for name, inner in pairs(value) if _MEMBER.match(value) else ():
        if name in found[-1]:
            found.append({})
        found[-1][name] = None if inner == "none" else inner
    return found if len(found) > 1 else found[0] or None


def _spoken(text: str) -> tuple[str, str] | None:
    """`driver 550.54.14`, `CUDA_VISIBLE_DEVICES 7`: a known key, a blank, and a value that nothing follows."""
    words = text.strip().rstrip(".").split()
    if not 2 <= len(words) <= 9:
        return None
    for count in range(min(5, len(words) - 1), 0, -1):
        key, value = " ".join(words[:count]), " ".join(words[count:])
        if " is" in key or not _exactly(key) or (exact_kind(key) == "nvcc" and "nvcc" not in key.lower()):
            continue
        if exact_kind(key) in _NAMED:
            return (key, value) if _THING.fullmatch(value) and words[count].lower() not in _VERBS else None
        if _VERSION.fullmatch(value) or _SHORT.fullmatch(value):
            return key, value
        said = len(words) - count < 4 and words[count].lower() not in _VERBS
        return (key, value) if (variable(key) or "_" in key) and said else None
    return None


_NAMED = ("gpu_name", "gpus_line", "os", "image", "container_runtime", "scheduler")
_VERBS = frozenset(("is", "was", "has", "not", "does", "in", "on", "for", "with", "memory", "driver"))


def _under_headings(lines: list[Line]) -> Iterator[Line]:
    """`### GPU model` and its answer below."""
    for index, line in enumerate(lines[:-1]):
        found = _HEADING.match(line.text)
        if not found or not _known(found[1]) or not (_marked(line.text)):
            continue
        below = next((row for row in lines[index + 1 : index + 3] if not _FENCE.match(row.text)), None)
        if below and below.number - line.number <= 4 and not _marked(below.text) and len(below.text) < 200:
            value = below.text.strip().lstrip("-*+ ").strip("`")
            if not ((pair := _KEY.match(value)) and _known(pair[1])):
                yield Line(below.number, f"{found[1]}: {value}")


def _marked(text: str) -> bool:
    """Whether the line looks like a heading."""
    return text.lstrip()[:1] == "#" or text.rstrip().endswith((":", "**", "__", "?"))


def _wide_tables(lines: list[Line]) -> Iterator[Line]:
    """A Markdown table with its keys in the head: each cell of the first row under it."""
    for head, rule, row in zip(lines, lines[1:], lines[2:], strict=False):
        if _CELL.match(head.text) and _RULE.match(rule.text) and _CELL.match(row.text):
            keys, cells = (
                [cell.strip().strip("*`") for cell in part.text.strip().strip("|").split("|")] for part in (head, row)
            )
            if len(keys) == len(cells) and sum(map(_known, keys)) > 1:
                for key, cell in zip(keys, cells, strict=True):
                    if _known(key):
                        yield Line(row.number, f"{key}: {cell}")
