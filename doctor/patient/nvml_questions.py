"""Part of the agent nvml: what is asked, as tables of NVML's functions and field numbers (nvml.h)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Callable
    from typing import Any

FUNCTION_NOT_FOUND, VERSION_MISMATCH = 13, 25
FIELD_RECOVERY_ACTION = 230
LINK_FIELDS = (("replay", 161), ("recovery", 162), ("crc", 163))
LINK_FIELDS_BLACKWELL = (("failed", 214), ("recovery", 215))
"""Counters of each NVLink link by field id; Blackwell and later do not support those of before (nvml.h)."""
BLACKWELL = 10
VGPU_GUEST = 2
ESSENTIAL = (
    ("uuid", "nvmlDeviceGetUUID", ()),
    ("name", "nvmlDeviceGetName", ()),
    ("pci", "nvmlDeviceGetPciInfo_v3", ()),
    ("compute_capability", "nvmlDeviceGetCudaComputeCapability", ()),
    ("memory", "nvmlDeviceGetMemoryInfo", (0x02000028,)),
    ("mig_mode", "nvmlDeviceGetMigMode", ()),
    ("compute_mode", "nvmlDeviceGetComputeMode", ()),
    ("brand", "nvmlDeviceGetBrand", ()),
    ("architecture", "nvmlDeviceGetArchitecture", ()),
)
"""Field, function, further arguments: what a diagnosis cannot do without."""
DETAILS = (
    ("serial", "nvmlDeviceGetSerial", ()),
    ("vbios", "nvmlDeviceGetVbiosVersion", ()),
    ("persistence_mode", "nvmlDeviceGetPersistenceMode", ()),
    ("ecc_mode", "nvmlDeviceGetEccMode", ()),
    ("ecc_corrected_volatile", "nvmlDeviceGetTotalEccErrors", (0, 0)),
    ("ecc_uncorrected_volatile", "nvmlDeviceGetTotalEccErrors", (1, 0)),
    ("ecc_uncorrected_aggregate", "nvmlDeviceGetTotalEccErrors", (1, 1)),
    ("remapped_rows", "nvmlDeviceGetRemappedRows", ()),
    ("retired_pages_single", "nvmlDeviceGetRetiredPages", (0,)),
    ("retired_pages_double", "nvmlDeviceGetRetiredPages", (1,)),
    ("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", ()),
    ("recovery_action", "nvmlDeviceGetFieldValues", ([FIELD_RECOVERY_ACTION],)),
    ("power_draw", "nvmlDeviceGetPowerUsage", ()),
    ("power_limit", "nvmlDeviceGetEnforcedPowerLimit", ()),
    ("power_default", "nvmlDeviceGetPowerManagementDefaultLimit", ()),
    ("power_range", "nvmlDeviceGetPowerManagementLimitConstraints", ()),
    ("temperature", "nvmlDeviceGetTemperature", (0,)),
    ("temperature_shutdown", "nvmlDeviceGetTemperatureThreshold", (0,)),
    ("temperature_slowdown", "nvmlDeviceGetTemperatureThreshold", (1,)),
    ("temperature_margin", "nvmlDeviceGetMarginTemperature", ()),
    ("clock_sm", "nvmlDeviceGetClockInfo", (1,)),
    ("clock_sm_max", "nvmlDeviceGetMaxClockInfo", (1,)),
    ("clock_memory", "nvmlDeviceGetClockInfo", (2,)),
    ("clock_memory_max", "nvmlDeviceGetMaxClockInfo", (2,)),
    ("clock_event_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", ()),
    ("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration", ()),
    ("pcie_gen_max", "nvmlDeviceGetMaxPcieLinkGeneration", ()),
    ("pcie_gen_device_max", "nvmlDeviceGetGpuMaxPcieLinkGeneration", ()),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", ()),
    ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", ()),
    ("utilization", "nvmlDeviceGetUtilizationRates", ()),
    ("fan", "nvmlDeviceGetFanSpeed", ()),
    ("gsp_firmware", "nvmlDeviceGetGspFirmwareVersion", ()),
    ("virtualization_mode", "nvmlDeviceGetVirtualizationMode", ()),
)
"""The clocks' event reasons are asked by their old name: drivers before 535 have only that, newer ones have both."""
OLDER: dict[str, Callable[[Any, Any], Any]] = {
    "nvmlDeviceGetMemoryInfo": lambda nvml, given: nvml.nvmlDeviceGetMemoryInfo(given[0]),
    "nvmlSystemGetCudaDriverVersion_v2": lambda nvml, given: nvml.nvmlSystemGetCudaDriverVersion(),
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda nvml, given: nvml.nvmlDeviceGetComputeRunningProcesses_v2(*given),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": (
        lambda nvml, given: nvml.nvmlDeviceGetGraphicsRunningProcesses_v2(*given)
    ),
}
"""What to call where an older libnvidia-ml lacks a function."""
PROCESSES = (
    ("compute", "nvmlDeviceGetComputeRunningProcesses_v3"),
    ("graphics", "nvmlDeviceGetGraphicsRunningProcesses_v3"),
    ("mps", "nvmlDeviceGetMPSComputeRunningProcesses_v3"),
)
MIG_FIELDS = (
    ("uuid", "nvmlDeviceGetUUID", ()),
    ("name", "nvmlDeviceGetName", ()),
    ("memory", "nvmlDeviceGetMemoryInfo", ()),
    ("gpu_instance", "nvmlDeviceGetGpuInstanceId", ()),
    ("compute_instance", "nvmlDeviceGetComputeInstanceId", ()),
)
