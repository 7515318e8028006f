"""Part of the agent nvml: answers as JSON values, and the structures that answers come in."""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from typing import Any


class Refused(Exception):
    """An NVML code that came inside an answer."""

    def __init__(self, value: int) -> None:
        super().__init__("NVML code " + str(value))
        self.value = value


def plain(field: str, value: Any) -> Any:
    """A binding's answer as JSON values."""
    if field == "pci":
        return {"bus_id": value.busId, "device_id": value.pciDeviceId, "subsystem_id": value.pciSubSystemId}
    if field == "memory":
        return {"total": value.total, "used": value.used, "reserved": getattr(value, "reserved", None)}
    if field == "utilization":
        return [value.gpu, value.memory]
    if field.startswith("retired_pages_") and isinstance(value, list):
        return len(value)
    if field == "vgpu_license":
        features = value.gridLicensableFeatures[: min(value.licensableFeaturesCount, 3)]
        return [bool(value.isGridLicenseSupported), any(bool(feature.featureState) for feature in features)]
    if field == "recovery_action":
        if value[0].nvmlReturn:
            raise Refused(value[0].nvmlReturn)
        return value[0].value.uiVal
    if field == "sram":
        return {"exceeded": bool(value.exceeded), "uncorrected": value.aggregate[0] + value.aggregate[1]}
    if field == "unrepairable":
        return bool(value.flag)
    if field == "fabric":
        return {name: getattr(value, name, None) for name in ("state", "status", "mask", "summary")}
    return value


def number_in(answer: Any) -> int:
    """The whole number in a field value, by its type."""
    member = {1: "uiVal", 2: "ulVal", 4: "sllVal"}.get(answer.valueType, "ullVal")
    return int(getattr(answer.value, member))


class Sram(ctypes.Structure):
    """nvmlEccSramErrorStatus_v1_t; counts by parity, SEC-DED and corrected."""

    call, form = "nvmlDeviceGetSramEccErrorStatus", 1
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("aggregate", ctypes.c_uint64 * 3),
        ("since_reset", ctypes.c_uint64 * 3),
        ("buckets", ctypes.c_uint64 * 5),
        ("exceeded", ctypes.c_uint32),
    ]


class Unrepairable(ctypes.Structure):
    """nvmlUnrepairableMemoryStatus_v1_t."""

    call, form = "nvmlDeviceGetUnrepairableMemoryFlag_v1", 1
    _fields_ = [("version", ctypes.c_uint32), ("flag", ctypes.c_uint32)]


_FABRIC: Any = [
    ("cluster", ctypes.c_uint8 * 16),
    ("status", ctypes.c_uint32),
    ("clique", ctypes.c_uint32),
    ("state", ctypes.c_uint8),
]


class Fabric(ctypes.Structure):
    """nvmlGpuFabricInfo_t."""

    call, form = "nvmlDeviceGetGpuFabricInfo", 1
    _fields_ = _FABRIC


class Fabric2(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t."""

    call, form = "nvmlDeviceGetGpuFabricInfoV", 2
    _fields_ = [("version", ctypes.c_uint32), *_FABRIC, ("mask", ctypes.c_uint32)]


class Fabric3(ctypes.Structure):
    """nvmlGpuFabricInfo_v3_t."""

    call, form = "nvmlDeviceGetGpuFabricInfoV", 3
    _fields_ = [*Fabric2._fields_, ("summary", ctypes.c_uint8)]
