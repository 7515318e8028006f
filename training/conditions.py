"""What each condition of the catalogue (`doctor/text/operators.py`) takes as its argument: for those who write rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from doctor.snapshot import Snapshot
from doctor.text.operators import OF_A_FACT, OPERATORS

Check = Callable[[Any], str]
"""What is wrong with an argument, '' where nothing is."""


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false is expected"


def _number(value: Any) -> str:
    return "" if type(value) is int else "a whole number is expected"


def _version(value: Any) -> str:
    good = isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)*", value)
    return "" if good else "a version is expected: '12.4'"


def _word(value: Any) -> str:
    return "" if isinstance(value, str) and value else "a word is expected"


def _list(value: Any) -> str:
    return "" if isinstance(value, list) and value else "a list is expected"


def _words(value: Any) -> str:
    return _list(value) or ("" if all(isinstance(word, str) for word in value) else "a list of words is expected")


def _age(value: Any) -> str:
    return "" if value in ("older", "newer") else "one of older, newer is expected"


def path(value: Any) -> str:
    """'' where the Snapshot has a fact of this name."""
    try:
        Snapshot().fact(value)
    except (KeyError, AttributeError):
        return f"the Snapshot has no fact {value!r}"
    return ""


def _two_paths(value: Any) -> str:
    if not isinstance(value, list) or len(value) != 2:
        return "two facts are expected"
    return path(value[0]) or path(value[1])


_TAKES: dict[Check, tuple[str, ...]] = {
    _words: ("all", "any", "none", "names", "names-none", "packages", "any-package", "packages-not"),
    _version: ("gpu-below", "gpu-above", "group-at-most"),
    _number: ("gpus-at-least",),
    _two_paths: ("versions-differ",),
    _word: ("two-kinds", "two-sources", "set"),
    _age: ("nvjitlink-wheel", "code"),
    path: ("group-above", "group-not-start-of"),
}
"""Every other operator takes true or false."""
_TAKES_OF_A_FACT: dict[str, Check] = {"not-now": _list, "lacks": _word, ">=": _version, "<": _version,
                                      "known": _flag, "conflict": _flag}  # fmt: skip


def fault(key: str, value: Any, names: Collection[str]) -> str:
    """What is wrong with a condition, '' where nothing is. `names`: all messages and topics that there are."""
    if key in OPERATORS:
        takes = next((check for check, keys in _TAKES.items() if key in keys), _flag)
        wrong = takes(value)
        if not wrong and key in ("all", "any", "none"):
            wrong = "".join(f"nothing is called {name!r}" for name in value if name not in names)
        return f"{key}: {wrong}" if wrong else ""
    fact, _, how = key.partition(" ")
    if how not in OF_A_FACT:
        return f"{key}: there is no operator {how!r}"
    if "." not in fact and fact != "gpus":
        return f"{key}: there is no such operator"
    wrong = path(fact) or (_TAKES_OF_A_FACT[how](value) if how in _TAKES_OF_A_FACT else "")
    return f"{key}: {wrong}" if wrong else ""
