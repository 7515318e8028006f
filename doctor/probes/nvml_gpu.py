"""The fields of one GPU from the NVML agent's lines, each a value or Missing with its own reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..snapshot import Gpu, GpuProcess, MigInstance, Missing
from .agent_lines import Line, is_whole
from .nvml_health import UNREADABLE, field_missing, health
from .nvml_links import pci_address, to_switch

COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")

_WHOLE = {
    "brand": "brand_id",
    "architecture": "architecture_id",
    "ecc_uncorrected_volatile": "ecc_uncorrected_volatile",
    "ecc_corrected_volatile": "ecc_corrected_volatile",
    "ecc_uncorrected_aggregate": "ecc_uncorrected_aggregate",
    "recovery_action": "recovery_action",
    "temperature": "temperature_c",
    "temperature_slowdown": "temperature_slowdown_c",
    "temperature_shutdown": "temperature_shutdown_c",
    "temperature_margin": "temperature_margin_c",
    "clock_sm": "clock_sm_mhz",
    "clock_sm_max": "clock_sm_max_mhz",
    "clock_memory": "clock_memory_mhz",
    "clock_memory_max": "clock_memory_max_mhz",
    "clock_event_reasons": "clock_event_reasons",
    "pcie_gen": "pcie_gen",
    "pcie_gen_max": "pcie_gen_max",
    "pcie_gen_device_max": "pcie_gen_device_max",
    "pcie_width": "pcie_width",
    "pcie_width_max": "pcie_width_max",
    "fan": "fan_percent",
    "virtualization_mode": "virtualization_mode",
}
"""Raw field to fact, where both are one whole number."""

_VGPU_GUEST = 2
_TEXT = {"name": "name", "uuid": "uuid", "serial": "serial", "vbios": "vbios", "gsp_firmware": "gsp_firmware"}


def nvml_missing(line: Line) -> Missing:
    """Why NVML gave no value, from its code."""
    code, text = line.get("error"), str(line.get("text", ""))[:200]
    if code == 3:
        return Missing("absent", "not supported")
    if code == 6:
        return Missing("absent", "not found")
    if code in (13, 25):
        return Missing("absent", "this driver's NVML has no such call")
    if code == 4:
        return Missing("denied", text)
    if code == 10:
        return Missing("timeout", text)
    return Missing("error", f"NVML {code}: {text}" if isinstance(code, int) and code >= 0 else text)


class Fields:
    """Lines by field, GPU and MIG device. `gap` is the reason of whatever has no line."""

    def __init__(self, lines: list[dict[str, Any]], gap: Missing) -> None:
        self.gap = gap
        self.by_key: dict[tuple[Any, Any, str], Line] = {}
        self.pairs: dict[tuple[int, int], dict[str, Line]] = {}
        for line in lines:
            name, gpu, mig, other = line.get("field"), line.get("gpu"), line.get("mig"), line.get("other")
            if not isinstance(name, str) or any(not isinstance(number, (int, type(None))) for number in (gpu, mig)):
                continue
            if isinstance(other, int) and isinstance(gpu, int):
                self.pairs.setdefault((gpu, other), {})[name] = line
            else:
                self.by_key[gpu, mig, name] = line

    def line(self, name: str, gpu: int | None = None, mig: int | None = None) -> Line | None:
        """The line of a field."""
        return self.by_key.get((gpu, mig, name))

    def value(self, name: str, gpu: int | None = None, mig: int | None = None) -> Any:
        """The raw value, or Missing."""
        line = self.line(name, gpu, mig)
        if line is None:
            handle = None if gpu is None else self.line("handle", gpu)
            return self.gap if handle is None else nvml_missing(handle)
        return nvml_missing(line) if "error" in line else line.get("value")

    def whole(self, name: str, gpu: int | None = None, mig: int | None = None) -> int | Missing:
        """A whole number, or Missing."""
        value = self.value(name, gpu, mig)
        return value if isinstance(value, Missing) or is_whole(value) else UNREADABLE

    def text(self, name: str, gpu: int | None = None, mig: int | None = None) -> str | Missing:
        """A text, or Missing."""
        value = self.value(name, gpu, mig)
        return value if isinstance(value, (str, Missing)) else UNREADABLE

    def part(self, name: str, key: int | str, gpu: int, convert: Callable[[Any], Any], mig: int | None = None) -> Any:
        """One part of a raw list or object, converted; Missing where it is not there or not a whole number."""
        value = self.value(name, gpu, mig)
        if isinstance(value, Missing):
            return value
        try:
            item = value[key]
        except (KeyError, IndexError, TypeError):
            return UNREADABLE
        if item is None:
            return Missing("absent", "not reported by this driver")
        return convert(item) if is_whole(item) else UNREADABLE


def parse_gpu(fields: Fields, index: int) -> Gpu:
    """All that NVML said of one GPU."""
    facts: dict[str, Any] = {"index": index}
    facts.update({fact: fields.whole(raw, index) for raw, fact in _WHOLE.items()})
    facts.update({fact: fields.text(raw, index) for raw, fact in _TEXT.items()})
    facts.update(_identity(fields, index))
    facts.update(_state(fields, index))
    facts.update(health(fields, index))
    if isinstance(facts["recovery_action"], Missing):
        facts["recovery_action"] = field_missing(fields.line("recovery_action", index), facts["recovery_action"])
    if facts["virtualization_mode"] == _VGPU_GUEST:
        facts["vgpu_licensed"] = _licensed(fields.value("vgpu_license", index))
    uuid, address = facts["uuid"], facts["pci_address"]
    key = uuid if isinstance(uuid, str) and uuid else address if isinstance(address, str) else f"gpu-{index}"
    return Gpu(key=key, **facts)


def _licensed(value: Any) -> bool | Missing:
    if isinstance(value, Missing):
        return value
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, bool) for part in value):
        return UNREADABLE
    return value[1] if value[0] else Missing("absent", "not supported")


def _identity(fields: Fields, gpu: int) -> dict[str, Any]:
    pci, capability = fields.value("pci", gpu), fields.value("compute_capability", gpu)
    if not isinstance(capability, Missing):
        whole = isinstance(capability, list) and len(capability) == 2
        capability = f"{capability[0]}.{capability[1]}" if whole else UNREADABLE
    bus = pci.get("bus_id") if isinstance(pci, dict) else None
    return {
        "pci_address": pci if isinstance(pci, Missing) else pci_address(bus) if isinstance(bus, str) else UNREADABLE,
        "pci_device_id": fields.part("pci", "device_id", gpu, lambda n: f"{n >> 16:04x}"),
        "pci_subsystem_id": fields.part("pci", "subsystem_id", gpu, lambda n: f"{n:08x}"),
        "compute_capability": capability,
        "memory_total_mib": fields.part("memory", "total", gpu, _mib),
        "memory_used_mib": fields.part("memory", "used", gpu, _mib),
        "memory_reserved_mib": fields.part("memory", "reserved", gpu, _mib),
    }


def _state(fields: Fields, gpu: int) -> dict[str, Any]:
    links, mode = fields.value("nvlink", gpu), fields.whole("compute_mode", gpu)
    if isinstance(mode, int) and not 0 <= mode < len(COMPUTE_MODES):
        mode = Missing("error", f"compute mode {mode}")
    if not isinstance(links, (list, Missing)):
        links = UNREADABLE
    active = links if isinstance(links, Missing) else sum(link in (1, 2) for link in links)  # 2: asleep, to save power
    single, double = fields.whole("retired_pages_single", gpu), fields.whole("retired_pages_double", gpu)
    retired = single if isinstance(single, Missing) else double if isinstance(double, Missing) else single + double
    facts = {
        "compute_mode": mode if isinstance(mode, Missing) else COMPUTE_MODES[mode],
        "persistence_mode": _flag(fields.whole("persistence_mode", gpu)),
        "mig_enabled": fields.part("mig_mode", 0, gpu, bool),
        "mig_pending": fields.part("mig_mode", 1, gpu, bool),
        "mig_instances": _mig(fields, gpu),
        "ecc_enabled": fields.part("ecc_mode", 0, gpu, bool),
        "ecc_pending": fields.part("ecc_mode", 1, gpu, bool),
        "remapped_rows_correctable": fields.part("remapped_rows", 0, gpu, int),
        "remapped_rows_uncorrectable": fields.part("remapped_rows", 1, gpu, int),
        "row_remap_pending": fields.part("remapped_rows", 2, gpu, bool),
        "row_remap_failed": fields.part("remapped_rows", 3, gpu, bool),
        "retired_pages": retired,
        "retired_pages_pending": _flag(fields.whole("retired_pages_pending", gpu)),
        "power_min_w": fields.part("power_range", 0, gpu, _watt),
        "power_max_w": fields.part("power_range", 1, gpu, _watt),
        "utilization_percent": fields.part("utilization", 0, gpu, int),
        "memory_utilization_percent": fields.part("utilization", 1, gpu, int),
        "nvlink_active": active,
        "nvlink_inactive": active if isinstance(active, Missing) else len(links) - active,
        "nvlinks_to_switch": to_switch(fields.value("nvlink_ends", gpu)),
        "fabric_state": fields.part("fabric", "state", gpu, int),
        "fabric_status": fields.part("fabric", "status", gpu, int),
        "processes": _processes(fields, gpu),
    }
    for raw in ("power_draw", "power_limit", "power_default"):
        milliwatts = fields.whole(raw, gpu)
        facts[f"{raw}_w"] = milliwatts if isinstance(milliwatts, Missing) else _watt(milliwatts)
    return facts


def _mig(fields: Fields, gpu: int) -> tuple[MigInstance, ...] | Missing:
    enabled, slots = fields.part("mig_mode", 0, gpu, bool), fields.whole("mig_count", gpu)
    if enabled == Missing("absent", "not supported") or enabled is False:
        return ()
    if isinstance(slots, Missing):
        return slots
    return tuple(
        MigInstance(
            uuid=fields.text("uuid", gpu, slot),
            name=fields.text("name", gpu, slot),
            memory_total_mib=fields.part("memory", "total", gpu, _mib, slot),
            gpu_instance=fields.whole("gpu_instance", gpu, slot),
            compute_instance=fields.whole("compute_instance", gpu, slot),
        )
        for slot in range(min(slots, 64))
        if fields.line("uuid", gpu, slot) is not None
    )


def _processes(fields: Fields, gpu: int) -> tuple[GpuProcess, ...] | Missing:
    found: dict[int, GpuProcess] = {}
    for kind in ("compute", "graphics", "mps"):
        listed = fields.value(f"processes_{kind}", gpu)
        if kind == "compute" and isinstance(listed, Missing):
            return listed
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and is_whole(entry.get("pid")) and entry["pid"] not in found:
                memory, name = entry.get("memory"), entry.get("name")
                found[entry["pid"]] = GpuProcess(
                    pid=entry["pid"],
                    kind=kind,
                    memory_mib=_mib(memory) if is_whole(memory) else Missing("absent", "not reported"),
                    name=name if isinstance(name, str) and name else Missing("absent", "not visible here"),
                    owner=_owner(entry.get("owner")),
                )
    return tuple(found.values())


def _owner(value: object) -> Literal["session", "user", "other"] | Missing:
    if value == "session" or value == "user" or value == "other":
        return value
    return Missing("absent", "not visible here")


def _flag(value: int | Missing) -> bool | Missing:
    return value if isinstance(value, Missing) else bool(value)


def _mib(count: int) -> int:
    return count >> 20


def _watt(milliwatts: int) -> float:
    return milliwatts / 1000
