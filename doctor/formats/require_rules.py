"""One condition of an NVIDIA_REQUIRE_* expression, by the rules of each of the two tools (see ``require``).

Facts are None where we do not know them; the answer is then None.
"""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple

from .lazy import lazy

_BUFFER = 128
_TOO_LARGE = (1 << 64) - 1
_NO_VERSION = lazy(r"[^0-9.]")
_OPERATOR_CHARACTERS = "<>=!"
_HOOK_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
_TOOLKIT_OPERATORS = ("!=", "<=", ">=", "=", "<", ">")
_TOOLKIT_PROPERTIES = ("cuda", "driver", "arch", "brand")
_SEMANTIC = lazy(
    r"v?(\d{1,18})(?:\.(\d{1,18}))?(?:\.(\d{1,18}))?(?:-([0-9A-Za-z.-]{1,64}))?(?:\+[0-9A-Za-z.-]{1,64})?", re.ASCII
)

Semantic = Tuple[int, int, int, Tuple[Tuple[int, int, str], ...]]


class RequireError(Exception):
    """The tool would refuse the expression; the message is one line."""


def hook_condition(
    condition: str, cuda: Optional[str], driver: Optional[str], no_gpu: bool, arch: Optional[str], brand: Optional[str]
) -> Optional[bool]:
    """libnvidia-container's answer. Raises RequireError."""
    name, rest = _split(condition)
    signs = rest[: len(rest) - len(rest.lstrip(_OPERATOR_CHARACTERS))]
    value = rest[len(signs) :]
    # The tool compares as many characters as it found, so a lone "!" is read as "!=".
    operator = next((known for known in _HOOK_OPERATORS if signs and known.startswith(signs)), "")
    name = name.lower()
    if not name or not operator or not value:
        raise RequireError("invalid expression: %s" % condition[:80])
    if name not in _TOOLKIT_PROPERTIES:
        raise RequireError("unknown property: %s" % name[:80])
    if name in ("arch", "brand") and no_gpu:
        return True
    if name == "brand":
        if operator not in ("=", "!="):
            raise RequireError("a brand can only be = or !=")
        if brand is None:
            return None
        return _reported((brand.lower() == value.lower()) == (operator == "="), name, operator, value)
    fact = {"cuda": cuda, "driver": driver, "arch": arch}[name]
    if fact is None:
        return None
    answer = _compare(_dotted_sign(fact, value), operator)
    return _reported(answer, condition[: len(condition) - len(rest)], operator, value)


def _reported(answer: bool, name: str, operator: str, value: str) -> bool:
    """The tool writes a condition that does not hold into 128 characters, and refuses one that is longer."""
    if not answer and len("%s %s %s" % (name, operator, value)) >= _BUFFER:
        raise RequireError("over %d characters: %s" % (_BUFFER - 1, name[:80]))
    return answer


def toolkit_error(expression: str) -> str:
    """What the container toolkit holds against the spelling of the whole expression, or ""."""
    for condition in expression.replace(",", " ").split(" "):
        if not condition.strip():
            continue
        name, rest = _split(condition)
        if not rest:
            return "invalid constraint: %s" % condition[:80]
        _, value = _toolkit_operator(rest)
        if name in ("cuda", "driver", "arch") and semantic(value) is None:
            return "invalid version: %s" % condition[:80]
    return ""


def toolkit_knows(condition: str) -> bool:
    """Whether the toolkit judges the condition at all; it skips others."""
    return _split(condition)[0] in _TOOLKIT_PROPERTIES


def toolkit_condition(condition: str, cuda: Optional[str], no_gpu: bool, arch: Optional[str]) -> Optional[bool]:
    """The container toolkit's answer for a condition whose spelling it accepts."""
    name, rest = _split(condition)
    operator, value = _toolkit_operator(rest)
    if name == "driver" or (name == "arch" and no_gpu):
        return False  # compared with an empty version, which is an error, which counts as not met
    if name == "brand":
        return operator != "" and _compare(_sign("", value), operator)
    fact = cuda if name == "cuda" else arch
    if fact is None:
        return None
    left, right = semantic(fact), semantic(value)
    return left is not None and right is not None and _compare(_sign(left, right), operator)


def semantic(text: str) -> Optional[Semantic]:
    """A version of one to three numbers with optional pre-release, as a key that sorts; None if it is none."""
    match = _SEMANTIC.fullmatch(text)
    if not match:
        return None
    major, minor, patch, pre = match.groups()
    if pre is None:
        order: Tuple[Tuple[int, int, str], ...] = ((2, 0, ""),)
    else:
        order = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in pre.split("."))
    return int(major), int(minor or 0), int(patch or 0), order


def _split(condition: str) -> Tuple[str, str]:
    at = next((i for i, character in enumerate(condition) if character in _OPERATOR_CHARACTERS), len(condition))
    return condition[:at], condition[at:]


def _toolkit_operator(rest: str) -> Tuple[str, str]:
    operator = next((known for known in _TOOLKIT_OPERATORS if rest.startswith(known)), "")
    return operator, rest[len(operator) :]


def _dotted_sign(left: str, right: str) -> int:
    """-1, 0 or 1 of two dotted numbers, field by field until they differ: what stands behind is not read."""
    for text in (left, right):
        if _NO_VERSION.search(text):
            raise RequireError("invalid version: %s" % text[:80])
    while left and right:
        pair = []
        for text in (left, right):
            digits = text[: len(text) - len(text.lstrip("0123456789"))]
            if not digits or int(digits.lstrip("0")[:40] or "0") >= _TOO_LARGE:
                raise RequireError("invalid version: %s" % text[:80])
            pair.append(int(digits.lstrip("0") or "0"))
        if pair[0] != pair[1]:
            return _sign(pair[0], pair[1])
        left, right = (text.lstrip("0123456789").lstrip(".") for text in (left, right))
    return int(left.strip(".0") != "") - int(right.strip(".0") != "")


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _compare(sign: int, operator: str) -> bool:
    return {"=": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[operator]
