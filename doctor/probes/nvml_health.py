"""What NVML counts and flags of one GPU's health: SRAM, NVSwitch fabric, error counters of its links, read twice."""

from __future__ import annotations

from typing import Any

from ..snapshot import Missing, NvLinkErrors
from .agent_lines import Line, is_whole

UNREADABLE = Missing("error", "unreadable answer")
_NO_FIELD = Missing("absent", "this driver's NVML has no such field")
_NO_LINK = Missing("absent", "not supported")
_INVALID_ARGUMENT = 2
"""What NVML answers for the number of a field that its driver does not know yet."""
_COUNTERS = ("replay", "recovery", "crc", "failed")
_MAX_LINKS = 64


def field_missing(line: Line | None, otherwise: Missing) -> Missing:
    """Why a field value is not known: `otherwise`, save that the driver is older than the field."""
    return _NO_FIELD if line is not None and line.get("error") == _INVALID_ARGUMENT else otherwise


def health(fields: Any, gpu: int) -> dict[str, Any]:
    """Facts of `Gpu` by name."""
    replays, again = fields.whole("pcie_replays", gpu), fields.whole("pcie_replays_again", gpu)
    climbed = again if isinstance(replays, int) and replays else replays  # where it is 0 nobody looked again
    apart = fields.line("counters_ms", gpu)
    return {
        "sram_threshold_exceeded": _part(fields.value("sram", gpu), "exceeded", bool),
        "sram_uncorrected_aggregate": _part(fields.value("sram", gpu), "uncorrected", int),
        "memory_unrepairable": _flag(fields.value("unrepairable", gpu)),
        "fabric_health": _part(fields.value("fabric", gpu), "mask", int),
        "fabric_health_summary": _part(fields.value("fabric", gpu), "summary", int),
        "nvlink_errors": _link_errors(fields, gpu),
        "pcie_replays": replays,
        "pcie_replays_climbed": max(0, climbed - replays) if isinstance(climbed, int) else climbed,
        "counters_apart_ms": fields.whole("counters_ms", gpu) if apart else Missing("absent", "all counters are 0"),
    }


def _flag(value: Any) -> bool | Missing:
    return value if isinstance(value, (bool, Missing)) else UNREADABLE


def _part(value: Any, name: str, kind: type) -> Any:
    if isinstance(value, Missing):
        return value
    if not isinstance(value, dict):
        return UNREADABLE
    if name not in value:  # a recording that was taken before this was asked
        return Missing("not-asked")
    part = value[name]
    if part is None:
        return Missing("absent", "not reported by this driver")
    return part if isinstance(part, bool) is (kind is bool) and isinstance(part, kind) else UNREADABLE


def _link_errors(fields: Any, gpu: int) -> tuple[NvLinkErrors, ...] | Missing:
    line = fields.line("nvlink_errors", gpu)
    links = fields.value("nvlink", gpu)
    if line is None:
        no_link = links == [] or (isinstance(links, Missing) and links.reason == "absent")
        return _NO_LINK if no_link else fields.value("nvlink_errors", gpu)
    value = fields.value("nvlink_errors", gpu)
    if isinstance(value, Missing):
        return field_missing(line, value)
    first = last = _by_link(value)
    if first and any(any(counts.values()) for counts in first.values()):
        now = fields.value("nvlink_errors_again", gpu)
        if isinstance(now, Missing):  # whether they climb is then not known
            return now
        last = _by_link(now)
    if first is None or last is None:
        return UNREADABLE
    found = []
    for link, counts in sorted(first.items()):
        later = {name: max(count, last.get(link, counts).get(name, count)) for name, count in counts.items()}
        grown = {name: later[name] - count for name, count in counts.items()}
        if any(later.values()):
            climbed = sum(grown.get(name, 0) for name in ("replay", "recovery", "failed"))
            found.append(NvLinkErrors(link=link, climbed=climbed, crc_climbed=grown.get("crc", 0), **later))
    return tuple(found)


def _by_link(value: Any) -> dict[int, dict[str, int]] | None:
    """`{"crc": [0, 3]}` as `{0: {"crc": 0}, 1: {"crc": 3}}`, without what a link does not tell; None: no such shape."""
    links: dict[int, dict[str, int]] = {}
    if not isinstance(value, dict):
        return None
    for name in _COUNTERS:
        counts = value.get(name, [])
        if not isinstance(counts, list) or len(counts) > _MAX_LINKS:
            return None
        for link, count in enumerate(counts):
            if is_whole(count) and count >= 0:
                links.setdefault(link, {})[name] = count
            elif count is not None:
                return None
    return links
