"""GPUs that the driver holds and NVML does not list: which to ask the kernel about, and what it said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..formats.lazy import lazy
from ..snapshot import Missing, UnlistedGpu
from .agent_lines import AgentResult, Line, fault_missing, is_whole
from .caps import MAX_GPUS
from .nvml_links import pci_address

HELD = "/proc/driver/nvidia/gpus"
_LOST = 15
_ADDRESS = lazy(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


def to_ask(lines: Iterable[Line], nvml: AgentResult | None) -> list[str]:
    """PCI addresses that the driver holds and of which NVML said nothing; none if NVML did not get to the end."""
    if nvml is None or nvml.fault is not None:
        return []
    inits = [line for line in nvml.lines if line.get("field") == "init"]
    if not inits or (inits[0].get("value") != 0 and inits[0].get("error") != _LOST):
        return []
    count = next((line.get("value") for line in nvml.lines if line.get("field") == "count"), 0)
    if is_whole(count) and count > MAX_GPUS:
        return []  # it lists more than were asked: one that was not asked is not one that it does not list
    held = next((line.get("names") for line in lines if line.get("at") == "dir" and line.get("path") == HELD), None)
    answers = [line.get("value") for line in nvml.lines if line.get("field") == "pci"]
    listed = {pci_address(str(value.get("bus_id"))) for value in answers if isinstance(value, dict)}
    names = [name for name in held if isinstance(name, str)] if isinstance(held, list) else []
    return [name.lower() for name in names if _ADDRESS.fullmatch(name.lower()) and name.lower() not in listed]


def parse_unlisted(result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(changes for Snapshot.replace, witnesses)."""
    by_address: dict[str, dict[str, Line]] = {}
    for line in result.lines:
        gpu, name = line.get("gpu"), line.get("field") or "begun"
        if isinstance(gpu, str) and isinstance(name, str):
            by_address.setdefault(gpu, {})[name] = line
    gap = fault_missing(result)
    found = tuple(_gpu(address, answers, gap) for address, answers in by_address.items())
    return {"driver.unlisted_gpus": found or gap}, {"driver.unlisted_gpus": ("open /dev/nvidiaN, /dev/kmsg",)}


def _gpu(address: str, answers: Mapping[str, Line], gap: Missing) -> UnlistedGpu:
    information, opened, log = (answers.get(name, {}) for name in ("information", "open", "log"))
    minor, excluded, fell = information.get("minor"), information.get("excluded"), log.get("value")
    node: str | Missing = f"/dev/nvidia{minor}" if is_whole(minor) else _missing(information, gap)
    answer = opened.get("value")
    opening: str | Missing = gap
    if isinstance(answer, str):
        opening = Missing("absent", "no such node") if answer == "ENOENT" else answer
    elif isinstance(node, Missing):
        opening = node
    return UnlistedGpu(
        pci_address=address,
        node=node,
        opening=opening,
        excluded=excluded if isinstance(excluded, bool) else _missing(information, gap),
        fell_off_in_log=fell if isinstance(fell, bool) else _missing(log, gap),
    )


def _missing(line: Line, gap: Missing) -> Missing:
    error = line.get("error")
    if not isinstance(error, str):
        return Missing("absent", "not reported") if line else gap
    if error in ("EPERM", "EACCES"):
        return Missing("denied", error)
    return Missing("absent" if error == "ENOENT" else "error", error)
