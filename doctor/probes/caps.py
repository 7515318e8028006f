"""Where the gatherers stopped counting, from their lines: a truncated list is reported as such."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..snapshot import Cap
from ..snapshot.cap import WORDS
from .agent_lines import AgentResult, Line, is_whole

MAX_GPUS = 256
MAX_GPUS_FOR_PAIRS = 16
MAX_MIG_DEVICES = 16
MAX_CAPS = 64
"""Caps that are kept: a recording by a stranger may name any number of them."""


def caps(
    files: Iterable[Line], agents: Mapping[str, AgentResult], proof: Mapping[str, Iterable[AgentResult]]
) -> tuple[Cap, ...]:
    """Each cap once, those that an agent stated by its numbers first; `files`: what the files' reader said of caps."""
    found: dict[tuple[str, str], Cap] = {}
    runs = [*agents.values(), *(run for several in proof.values() for run in several)]
    cap_lines = [line for run in runs for line in run.lines if "cap" in line]
    if "nvml" in agents:
        _keep(found, _of_nvml(agents["nvml"].lines))
    if "cuda_driver" in agents:
        _keep(found, _more("cuda-devices", _value(agents["cuda_driver"].lines, "count"), MAX_GPUS))
    _keep(found, (cap for line in (*cap_lines, *files) for cap in _stated(line)))
    return tuple(found.values())[:MAX_CAPS]


def _keep(found: dict[tuple[str, str], Cap], several: Iterable[Cap]) -> None:
    for cap in several:
        found.setdefault((cap.what, cap.place), cap)


def _stated(line: Line) -> Iterator[Cap]:
    """The cap that a line states: {"at": "cap", "what": ...} of the files' reader, {"cap": ...} of an agent."""
    what = line.get("what") if line.get("at") == "cap" else line.get("cap")
    looked, listed = _count(line.get("looked")), _count(line.get("listed"))
    if not isinstance(what, str) or what not in WORDS or looked is None:
        return
    path, gpu = line.get("path"), line.get("gpu")
    place = path if isinstance(path, str) else f"GPU {gpu}" if is_whole(gpu) else ""
    yield Cap(what=what, looked=looked, listed=listed, place=place[:4096])


def _of_nvml(lines: list[dict[str, Any]]) -> Iterator[Cap]:
    count = _value(lines, "count")
    yield from _more("gpus", count, MAX_GPUS)
    yield from _more("gpu-pairs", count, MAX_GPUS_FOR_PAIRS)
    for line in lines:
        if line.get("field") == "mig_count":
            yield from _more("mig-instances", line.get("value"), MAX_MIG_DEVICES, f"GPU {line.get('gpu')}")


def _more(what: Any, listed: Any, most: int, place: str = "") -> Iterator[Cap]:
    count = _count(listed)
    if count is not None and count > most:
        yield Cap(what=what, looked=most, listed=count, place=place)


def _count(value: Any) -> int | None:
    return value if is_whole(value) and not isinstance(value, bool) and value >= 0 else None


def _value(lines: list[dict[str, Any]], field: str) -> Any:
    return next((line.get("value") for line in lines if line.get("field") == field), None)
