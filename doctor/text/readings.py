"""Measured numbers that people type: power, clocks, link and load of a GPU, compared with what it could have.

What is yielded are conditions of the catalogue's messages (`raised.*`), no facts: whose GPU it is stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .grammar.pairs import pairs, split
from .statement import Line, Statement, say

_NUMBER = lazy(r"\D{0,6}(\d{1,5}(?:\.\d{1,3})?)\s{0,2}(?:W\b|MHz|%|x\b|C\b|$|[,;)/]| )", re.I)
_MOST = {"max", "maximum", "default", "rated", "possible", "capable", "supported"}
_LOAD = {"util", "utilization", "utilisation", "usage", "load"}
_BUSY, _WORKS = 90, 50
"""Percent."""
_IDLE_MHZ, _IDLE_STATE = 350, 8
"""What a GPU without work has, and no GPU that computes."""
_MANY_THREADS = 4
"""For one core."""
_DRIVER = lazy(r"[3-9]\d{2}\.\d{2,3}(?:\.\d{2})?(?![\w.])")


def read_readings(lines: list[Line]) -> Iterator[Statement]:
    """What the numbers of a text say together, at the line of the last of them that counts."""
    found: dict[str, tuple[float, Line]] = {}
    for line in lines:
        if (parts := split(line.text)) is None:
            continue
        key, value = parts
        for name, content in pairs(value) or [("", value)]:
            if (reading := _reading(f"{key} {name}", content)) and reading[0] not in found:
                found[reading[0]] = (reading[1], line)
    yield from _power(found)
    yield from _link(found)
    yield from _threads(found)
    yield from _image_driver(lines)


def _reading(key: str, value: str) -> tuple[str, float] | None:
    """The name of a reading and its number."""
    words = set(re.split(r"[\s_.()/-]+", key.lower()))
    lower = value.lower()
    if "cap" in words | set(re.split(r"[\s_]+", lower)) and ("power" in words or "power" in lower):
        active = re.search(r"\bactive\b", lower) and "not active" not in lower
        listed = re.search(r"sw[_ ]power[_ ]cap", lower) and not re.search(r"not active|inactive|false|\bno\b", lower)
        return ("cap", 1.0) if active or listed else None
    if "pstate" in words or words >= {"performance", "state"}:
        state = re.match(r"p(\d{1,2})\b", lower)
        return ("pstate", float(state[1])) if state else None
    if "running" in words and words & {"job", "program", "training", "workload"}:
        return ("running", 1.0) if re.match(r"(?:true|yes)\b", lower) else None
    if not (number := _NUMBER.match(value)):
        return None
    most = "_max" if words & _MOST else ""
    name = ""
    if words & {"power", "tgp", "tdp"}:
        name = "limit" if words & {"limit", "tgp", "tdp"} or most else "draw"
        most = "_max" if most or words & {"tgp", "tdp"} else ""
    elif words & {"clock", "clocks"} and not words & {"memory", "mem"}:
        name = "clock"
    elif words & _LOAD and "gpu" in words and not words & {"memory", "mem"}:
        name = "load"
    elif words & {"pcie", "pci", "link", "lnksta"} and words & {"width", "lanes"}:
        name = "width"
    elif words & {"pcie", "pci", "link"} and words & {"gen", "generation"}:
        name = "gen"
    elif "threads" in words and words & {"worker", "process", "rank"}:
        name = "threads"
    elif "workers" in words and not words & _MOST:
        name = "workers"
    elif "cores" in words and not words & {"gpu", "cuda", "tensor", "busy", "sm"}:
        name = "cores"
    return (name + most, float(number[1])) if name else None


def _power(found: dict[str, tuple[float, Line]]) -> Iterator[Statement]:
    limit, most, draw = _of(found, "limit"), _of(found, "limit_max"), _of(found, "draw")
    clock, clock_max, load = _of(found, "clock"), _of(found, "clock_max"), _of(found, "load")
    capped = "cap" in found
    below = capped and bool((limit and draw and draw < 0.8 * limit) or (most and limit and limit < 0.9 * most))
    at_limit = bool(limit) and draw >= 0.8 * limit  # as a busy GPU is
    slow = load >= _BUSY and bool(clock and clock_max) and clock < 0.7 * clock_max and not at_limit
    slow = slow or (load >= _BUSY and 0 < clock <= _IDLE_MHZ)
    busy = load >= _BUSY or (not load and "running" in found)
    state = busy and _of(found, "pstate") >= (3 if load else _IDLE_STATE)
    for held, name in ((below, "cap"), (slow, "clock"), (state, "pstate")):
        if held:
            yield say("raised.power-held", True, found[name][1])
            return


def _link(found: dict[str, tuple[float, Line]]) -> Iterator[Statement]:
    for name, counts in (("width", True), ("gen", _of(found, "load") >= _WORKS)):
        now, most = _of(found, name), _of(found, f"{name}_max")
        if counts and now and now < most:
            yield say("raised.link-below", True, found[name][1])
            return


def _threads(found: dict[str, tuple[float, Line]]) -> Iterator[Statement]:
    cores = _of(found, "cores")
    if cores and _of(found, "workers") * _of(found, "threads") > _MANY_THREADS * cores:
        yield say("raised.threads-beyond-cores", True, found["threads"][1])


def _image_driver(lines: list[Line]) -> Iterator[Statement]:
    """Libraries in the container newer than the host's driver; older ones may be those of its start."""
    host: tuple[int, ...] = ()
    inside: tuple[tuple[int, ...], Line] | None = None
    for line in lines:
        if (parts := split(line.text)) is None or not (version := _DRIVER.match(parts[1])):
            continue
        words = set(re.split(r"[\s_.()/-]+", parts[0].lower()))
        number = tuple(map(int, version[0].split(".")))
        of_image = words & {"container", "image"} and "compat" not in words
        if of_image and words & {"driver", "libs", "libraries", "nvidia"}:
            inside = inside or (number, line)
        elif words >= {"host", "driver"}:
            host = host or number
    if host and inside and inside[0] > host:
        yield say("raised.image-driver-newer", True, inside[1])


def _of(found: dict[str, tuple[float, Line]], name: str) -> float:
    return found[name][0] if name in found else 0.0
