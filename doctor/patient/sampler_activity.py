"""Part of the agent nvml_sampler: what the SMs, the memory and the links of one GPU did since they were asked last.

On Hopper and newer NVML's GPM counts it, two calls a look. Elsewhere the PCIe rate of a moment (one call, for which
NVML measures 20 ms: what the GPU received and what it sent in turn) and NVLink's counters of bytes (one call).
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

SENT, RECEIVED = 0, 1
"""nvmlPcieUtilCounter_t, as the GPU sees it."""
KB_IN_MIB = (1 << 20) / 1000.0
METRICS = (
    (2, "sm_activity", 1.0), (5, "tensor_activity", 1.0), (10, "memory_activity", 1.0),
    (20, "pcie_tx", KB_IN_MIB), (21, "pcie_rx", KB_IN_MIB), (60, "nvlink_rx", KB_IN_MIB), (61, "nvlink_tx", KB_IN_MIB),
)  # fmt: skip
"""nvmlGpmMetricId_t, our name, factor: percent as it is, MiB/s as kB/s."""
NVLINK_SENT, NVLINK_RECEIVED = 138, 139
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: KiB since the driver was loaded."""
ALL_LINKS = 0xFFFFFFFF


class Activity:
    """One GPU's counters between two looks. `readings` asks NVML; `gpu` is the Gpu that it asks about."""

    def __init__(self, readings: Any, gpu: Any) -> None:
        self.readings, self.gpu = readings, gpu
        self.count = 0
        self.links: Dict[str, Tuple[float, int]] = {}
        self.before: Any = None
        self.free: Any = None
        self.metrics: Any = None
        if gpu.mig:  # the whole GPU's activity is that of all its instances
            return
        support = readings.ask(gpu, "gpm", "nvmlGpmQueryDeviceSupport", gpu.handle)
        if support is None or not support.isSupportedDevice:
            return
        self.before = readings.ask(gpu, "gpm", "nvmlGpmSampleAlloc")
        self.free = readings.ask(gpu, "gpm", "nvmlGpmSampleAlloc")
        if self.before is None or self.free is None:
            return
        metrics = readings.nvml.c_nvmlGpmMetricsGet_t()
        metrics.version = 1
        metrics.numMetrics = len(METRICS)
        for at, (number, _, _) in enumerate(METRICS):
            metrics.metrics[at].metricId = number
        self.metrics = metrics

    def read(self) -> "Dict[str, Any]":
        """sm_activity, tensor_activity and memory_activity in percent; pcie and nvlink in kB/s; what is not known is
        left out."""
        return self.rates() if self.metrics is None or "gpm" in self.gpu.refused else self.counted()

    def counted(self) -> "Dict[str, Any]":
        """By GPM: of all the time since the look before."""
        now = self.readings.ask(self.gpu, "gpm", "nvmlGpmSampleGet", self.gpu.handle, self.free)
        if now is None:
            return {}
        self.count += 1
        self.before, self.free = now, self.before
        if self.count == 1:
            return {}
        self.metrics.sample1, self.metrics.sample2 = self.free, self.before
        answer = self.readings.ask(self.gpu, "gpm", "nvmlGpmMetricsGet", self.metrics)
        if answer is None:
            return {}
        found: Dict[str, Any] = {}
        for at, (_, name, factor) in enumerate(METRICS):
            if answer.metrics[at].nvmlReturn == 0:
                found[name] = round(answer.metrics[at].value * factor, 2)
        return found

    def rates(self) -> "Dict[str, Any]":
        """By the older calls."""
        self.count += 1
        name, counter = ("pcie_tx", SENT) if self.count % 2 == 0 else ("pcie_rx", RECEIVED)
        rate = self.readings.ask(self.gpu, name, "nvmlDeviceGetPcieThroughput", self.gpu.handle, counter)
        found: Dict[str, Any] = {} if rate is None else {name: rate}
        fields = [(NVLINK_SENT, ALL_LINKS), (NVLINK_RECEIVED, ALL_LINKS)]
        values = self.readings.ask(self.gpu, "nvlink", "nvmlDeviceGetFieldValues", self.gpu.handle, fields)
        for at, value in enumerate(values or ()):
            link = ("nvlink_tx", "nvlink_rx")[at]
            if value.nvmlReturn != 0:
                self.gpu.refused.setdefault("nvlink", 3)
                continue
            now = time.monotonic(), int(value.value.ullVal)
            before = self.links.get(link)
            self.links[link] = now
            if before is not None and now[1] >= before[1] and now[0] > before[0]:
                found[link] = round((now[1] - before[1]) * 1.024 / (now[0] - before[0]), 2)
        return found
