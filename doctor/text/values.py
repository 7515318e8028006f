"""Values as people and tools print them. What cannot be read is None, never a guess."""

from __future__ import annotations

import re
from typing import Any

from ..formats.lazy import lazy
from ..snapshot import Missing

GONE = Missing("absent", "the text says so")
"""The value of a fact that the text says is not there."""

_DRIVER = lazy(
    r"(?<![\w.])(\d{3}\.\d{2,3}(?:\.\d{2,3})?)(?![\w.]*\d|\s{0,2}(?:%|°|(?:m?W|C|[KMG]i?B|MHz|watts?|ms|s)\b))"
)
_BRANCH = lazy(r"\d{3}")
_CUDA = lazy(r"(?<![\w.])v?(\d{1,2}\.\d{1,2})(?:\.\d{1,3}){0,2}(?![\d.])")
_TORCH = lazy(
    r"(?<![\w.<>=])v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc|\.dev|\.post)\d{1,9})?(?:\+[A-Za-z0-9](?:[\w.]{0,39}\w)?)?)"
    r"(?![\w.+]*\d)"
)
_PYTHON = lazy(r"(?<![\w.])([23]\.\d{1,2}(?:\.\d{1,2})?)(?:t)?(?![\w.]*\d)")
_ARCH = lazy(r"\b(sm|compute)_(\d{2,3}[af]?)\b")
_BOUND = lazy(
    r"[<>~!^≤≥]|.{0,40}?(?:,\s?[<>=!~]|[\d.]\*|[\d.]x\b|\d\+(?:$|[\s)])|\b(?:at least|at most|minimum|maximum)\b"
    r"|\b(?:or|and) (?:newer|later|above|higher|up|greater|older|lower|below|earlier)\b)",
    re.I,
)
YES = ("true", "yes", "y", "1", "on", "enabled", "available")
NO = ("false", "no", "n", "0", "off", "disabled", "none", "not available")
NOTHING = ("", "none", "n/a", "could not collect", "no cuda", "null", "unknown", "-", "unset")


def yes_no(text: str) -> bool | None:
    """True, False, or None where it says neither."""
    word = text.strip().lower().rstrip(".!")
    return True if word in YES else False if word in NO else None


def is_bound(text: str) -> bool:
    """Whether this is a requirement (`<2.1`, `>=2.0,<2.2`, `2.0+`, `535.54 or newer`), which is no version."""
    return bool(_BOUND.match(text.strip()))


def driver(text: str) -> str | None:
    """`570.86.10` out of `driver 570.86.10 (open)`; a bare branch (`535`, `580`) stays a branch."""
    plain = text.strip()
    if is_bound(plain):
        return None
    found = _DRIVER.search(plain)
    if found:
        return found[1]
    return plain if _BRANCH.fullmatch(plain) and int(plain) >= 300 else None


def driver_of_ints(text: str) -> str | None:
    """`470.57.02` out of `470.57.2`, and `550.120` out of `550.120.0`: as TensorFlow prints three numbers."""
    parts = text.strip().split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        return None
    first, second, third = parts
    plain = f"{first}.{second:0>2}" if third == "0" else f"{first}.{second:0>2}.{third:0>2}"
    return driver(plain)


def cuda(text: str) -> str | None:
    """`12.8` out of `12.8`, `v12.8.93`, `release 12.8, V12.8.93`."""
    if text.strip()[:1] in "<>~^":
        return None
    found = _CUDA.search(text)
    return found[1] if found and 5 <= int(found[1].split(".")[0]) <= 30 else None


def torch(text: str) -> str | None:
    """A torch version with its local tag; bounds (`<2.1`) and words are none."""
    plain = text.strip()
    if "," in plain or is_bound(plain):
        return None
    found = _TORCH.match(plain)
    return found[1] if found and found[1].split(".")[0] in ("0", "1", "2", "3") else None


def python(text: str) -> str | None:
    """`3.11.9` out of a version line of any Python."""
    if text.strip()[:1] in "<>~!^":
        return None
    found = _PYTHON.search(text)
    return found[1] if found else None


def archs(text: str) -> tuple[str, ...]:
    """(`sm_80`, `compute_90`), in the order of the text, each once."""
    return tuple(dict.fromkeys(f"{kind}_{number}" for kind, number in _ARCH.findall(text)))


def capability(text: str) -> str | None:
    """`8.6` out of `8.6`, `sm_86`, `sm 8.6`, `86`."""
    plain = text.strip().lower().removeprefix("sm").strip(" _")
    found = re.fullmatch(r"(\d{1,2})\.(\d)[af]?", plain)
    if found:
        return f"{found[1]}.{found[2]}"
    found = re.fullmatch(r"(\d{1,2})(\d)[af]?", plain)
    return f"{found[1]}.{found[2]}" if found else None


def number(text: Any) -> int | None:
    """The whole number that a text begins with."""
    found = re.match(r"\s{0,8}(-?\d{1,12})", str(text))
    return int(found[1]) if found else None


def items(value: str) -> list[str]:
    """The members of a list: `RTX 3090, RTX 4090`, `K80 + 2x K40c`, `torch 2.1 | torchvision 0.16`."""
    parts = re.split(r"\s{0,4}(?:[,;|]|\s[+&/]\s|\sand\s)\s{0,4}", value[:400])
    return [part.strip() for part in parts[:40] if part.strip()]
