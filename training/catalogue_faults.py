"""What is wrong with a row of the catalogue: its keys, pattern and places, and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.text.compare import COMPARE, DIFFER
from doctor.text.messages import CONVERT
from training.conditions import fault, path

if TYPE_CHECKING:
    from training.catalogue import Row

PLACES = ("host", "shell", "environment", "container-start", "dockerfile", "code", "windows", "provider", "cluster")
LISTS, WORDS = ("find", "suggests"), ("pattern", "means", "fix", "source")
FLAGS = ("words", "people", "mention", "happened", "exact", "warns")
BODY = ("proves", "decides", "hints", "suggests", "command", "where", *FLAGS[1:])
"""What the second line of a row holds, in this order."""
KEYS = {*LISTS, *WORDS, *FLAGS, *BODY, "compare", "says", "not"}
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
"""An escaped character, or a set of characters."""


def shape(row: Row) -> Iterator[str]:
    """Faults that the row shows by itself."""
    for key in row.fields.keys() - KEYS:
        yield f"there is no key {key!r}"
    for key in ("find", "means", "source", "says"):
        if not row.fields.get(key):
            yield f"{key} is missing"
    for key, kind in (*((k, list) for k in LISTS), *((k, str) for k in WORDS), *((k, bool) for k in FLAGS)):
        if not isinstance(row.fields.get(key, kind()), kind):
            yield f"{key}: a {kind.__name__} is expected"
    for text in row.fields.get("find", []):
        if text != text.lower() or len(text) < 2:
            yield f"find: {text!r} is not in lower case, or too short"
    if row.fields.get("where", "host") not in PLACES:
        yield f"where: {row.fields['where']!r} is no place"
    if row.fields.get("decides") and not row.fields.get("fix"):
        yield "decides: what decides says what to do (fix)"
    for key in ("happened", "exact", "warns"):
        if row.fields.get(key) and not row.fields.get("decides"):
            yield f"{key}: the row decides nothing"
    if row.fields.get("words") and "_" in _CLASS.sub("", row.expression):
        yield "pattern: an underscore cannot be there, people's words are read with blanks in their place"
    try:
        groups = re.compile(row.expression, re.I).groups
    except re.error as error:
        yield f"pattern: {error}"
        return
    compare = row.fields.get("compare", "")
    if compare and compare != DIFFER and compare not in COMPARE:
        yield f"compare: there is no operator {compare!r}"
    elif compare and groups < (2 if compare == DIFFER else COMPARE[compare].groups):
        yield f"compare: {compare} needs more groups than the pattern's {groups}"
    for fact, value in row.fields.get("proves", {}).items():
        if isinstance(value, str) and value.startswith("$"):
            number, _, kind = value[1:].partition(":")
            if not number.isdecimal() or not 0 < int(number) <= groups or kind not in CONVERT:
                yield f"proves: {fact}: {value!r} is no group of the pattern with a known kind"


def references(row: Row, names: set[str], checks: set[str]) -> Iterator[str]:
    """Checks, messages and facts that it names and that there are none of."""
    for check in row.fields.get("suggests", []):
        if check not in checks:
            yield f"suggests: there is no check {check!r}"
    for key in ("decides", "hints"):
        for check, when in row.checks(key):
            if check not in checks:
                yield f"{key}: there is no check {check!r}"
            for condition, value in when.items():
                if wrong := fault(condition, value, names):
                    yield f"{key}: {wrong}"
    for fact in row.fields.get("proves", {}):
        if not fact.startswith("gpu.") and (wrong := path(fact)):
            yield f"proves: {wrong}"
