"""A token of each format of `token_formats.json`, made from its pattern: none is committed, scanners would report them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

_FILLS = ("Az1", "1aA", "a1", "1", "a", "A", "A1", "aAAAA1", "/", "z9A_")
"""How classes of characters are filled: these in turn, as far as a class has them, then its last one of them again."""
_MOST = 4000


def tokens(pattern: str) -> Iterator[str]:
    """Texts that a pattern matches as a whole, made so that they do not look like chance: runs of one character."""
    from re import _parser  # type: ignore[attr-defined]

    expression = re.compile(pattern)
    tree = _parser.parse(pattern)
    for fill in _FILLS:
        for text in islice(_texts(tree, fill), _MOST):
            if expression.search(f"https://hooks.slack.com/{text}") or expression.fullmatch(text):
                yield text


def _texts(tree: Any, fill: str) -> Iterator[str]:
    parts = [list(islice(_part(op, value, fill), 40)) for op, value in tree]
    for chosen in product(*parts):
        yield "".join(chosen)


def _part(op: Any, value: Any, fill: str) -> Iterator[str]:
    kind = str(op)
    if kind == "LITERAL":
        yield chr(value)
    elif kind in ("IN", "ANY", "NOT_LITERAL"):
        yield _class(value if kind == "IN" else None, 1, fill)
    elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = value
        count = max(least, 1) if most else 0
        if len(inner) == 1 and str(inner[0][0]) in ("IN", "ANY"):
            yield _class(inner[0][1] if str(inner[0][0]) == "IN" else None, count, fill)
        else:
            yield from (text * count for text in _texts(inner, fill))
        if not least:
            yield ""
    elif kind == "SUBPATTERN":
        yield from _texts(value[3], fill)
    elif kind == "BRANCH":
        for branch in value[1]:
            yield from islice(_texts(branch, fill), 10)
    elif kind == "ASSERT" and value[0] < 0:
        yield from _texts(value[1], fill)  # what stands before a token
    else:
        yield ""  # a place, or a look ahead: the whole is matched in the end


def _class(members: Any, count: int, fill: str) -> str:
    one = re.compile(r"[\w.-]") if members is None else None
    allowed = [c for c in fill if (one.fullmatch(c) if one else _has(members, c))] or [_any(members)]
    return "".join(allowed[min(at, len(allowed) - 1)] for at in range(count))


def _has(members: Any, character: str) -> bool:
    code, found, negated = ord(character), False, False
    for op, value in members:
        kind = str(op)
        negated |= kind == "NEGATE"
        found |= kind == "LITERAL" and value == code
        found |= kind == "RANGE" and value[0] <= code <= value[1]
        found |= kind == "CATEGORY" and _in_category(str(value), character)
    return found != negated


def _in_category(name: str, character: str) -> bool:
    ours = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}[name.rpartition("_")[2]]
    return bool(re.fullmatch(ours, character)) != ("_NOT_" in name)


def _any(members: Any) -> str:
    return next(chr(code) for code in range(32, 127) if members is None or _has(members, chr(code)))
