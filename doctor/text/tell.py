"""Nested facts as the lines that a person would type: `GPU 0: ...`, `torch==2.1.0`, `NAME=value`, `a.b: value`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .keys import kind_of, plain, tables

_MOST = 2000
"""Lines of one object."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40}")
_NAMES = ("name", "model", "product_name", "productname", "product", "gpu_name", "gpu", "device_name", "device", "card",
          "model_name", "gpu_model")  # fmt: skip
_COUNTS = ("count", "quantity", "number", "num", "amount", "how_many", "gpu_count", "qty", "n")
_CAPABILITIES = ("sm", "compute_capability", "cc", "compute_cap", "capability", "arch", "architecture",
                 "cuda_capability")  # fmt: skip

Told = tuple[str, str]
"""The key as the input spells it (to find its line again), and the line."""


@lru_cache(maxsize=1)
def _under() -> tuple[frozenset[str], frozenset[str]]:
    """Keys of a list of packages, and of what a program printed."""
    names = tables()["under"]
    return frozenset(names["packages"]), frozenset(names["texts"])


def tell(path: tuple[str, ...], value: Any) -> Iterator[Told]:
    """The lines of a value that stands under these keys."""
    for count, told in enumerate(_tell(path, value, 0)):
        if count >= _MOST:
            return
        yield told


def _tell(path: tuple[str, ...], value: Any, level: int) -> Iterator[Told]:
    key = path[-1] if path else ""
    if level > 20:
        return
    if isinstance(value, dict):
        if _is_gpu(key, value):
            yield from _gpus(key, [value])
        elif plain(key) in _under()[0]:
            yield from _packages(value)
        else:
            for name, inner in value.items():
                yield from _tell((*path, str(name)), inner, level + 1)
            if key and 1 < len(value) < 9 and not any(isinstance(inner, (dict, list)) for inner in value.values()):
                yield key, f"{key}: {_flat(value)}"
    elif isinstance(value, list):
        yield from _list(path, key, value, level)
    elif isinstance(value, str) and ("\n" in value or plain(key) in _under()[1]):
        yield from ((key, row.rstrip()) for row in value.split("\n") if row.strip())
    elif _VARIABLE.fullmatch(key):
        yield key, f"{key} is unset" if value is None else f"{key}={_flat(value)}"
    elif key:
        yield key, f"{'.'.join(path)}: {_flat(value)}"


def _list(path: tuple[str, ...], key: str, value: list[Any], level: int) -> Iterator[Told]:
    if value and all(isinstance(item, dict) and _is_gpu(key, item) for item in value):
        yield from _gpus(key, value)
    elif any(isinstance(item, (dict, list)) for item in value):
        for item in value:
            yield from _tell(path, item, level + 1)
    elif plain(key) in _under()[1] or (value and all(isinstance(item, str) and len(item) > 60 for item in value)):
        for item in value:
            yield from ((str(item)[:40], row.rstrip()) for row in str(item).split("\n") if row.strip())
    elif plain(key) in _under()[0]:
        for item in value:
            name, _, version = re.sub(r"\s{1,4}(?=\d)", "==", str(item), count=1).partition("==")
            yield name, f"{name}=={version}" if version else str(item)
    elif key:
        yield key, f"{'.'.join(path)}: {', '.join(_flat(item) for item in value)}"


def _packages(value: dict[Any, Any]) -> Iterator[Told]:
    for name, version in value.items():
        gone = version is None or str(version).lower() in ("none", "not installed", "null", "absent", "missing")
        yield str(name), f"{name} (not installed)" if gone else f"{name}=={_flat(version)}"


def _is_gpu(key: str, value: dict[Any, Any]) -> bool:
    """Whether this describes boards: by the key it stands under, and by what it holds."""
    names = {str(name).lower() for name in value}
    return kind_of(key) in ("gpu_name", "gpus_line") and bool(names & {*_NAMES, *_COUNTS})


def _gpus(key: str, values: list[dict[Any, Any]]) -> Iterator[Told]:
    index = 0
    for value in values:
        fields = {str(name).lower().replace(" ", "_"): inner for name, inner in value.items()}
        name = next((fields.pop(word) for word in _NAMES if fields.get(word)), "unknown")
        count = next((fields.pop(word) for word in _COUNTS if word in fields), 1)
        cap = next((fields.pop(word) for word in _CAPABILITIES if fields.get(word)), "")
        number = re.sub(r"(?i)^(?:sm|compute)_?|\.", "", str(cap).strip())
        rest = f", sm sm_{number}" if re.fullmatch(r"\d{2,3}[af]?", number) else ""
        mark = str(value.get("name") or name)[:40] if isinstance(name, str) else key
        for _ in range(min(int(count) if str(count).isdecimal() else 1, 64) or 1):
            yield mark, f"GPU {index}: {_flat(name)}{rest}" + "".join(f", {k} {_flat(v)}" for k, v in fields.items())
            index += 1


def _flat(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(_flat(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_flat(inner)}" for key, inner in value.items())
    return str(value)[:1500]
