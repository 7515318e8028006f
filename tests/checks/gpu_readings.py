"""GPUs with all their readings, as an idle or a fully loaded healthy one of each model gives them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.findings import Finding
from doctor.snapshot import Missing, Snapshot

from ..healthy import NOT_SUPPORTED, gpu, healthy
from ..judging import run

DATA_CENTER = ("h100", "a100", "l4", "t4", "v100")
NVLINKS = {"h100": 18, "a100": 12, "v100": 6}
NOT_READ = Missing("error", "NVML 999: Unknown Error")


def monitored(s: Snapshot) -> Snapshot:
    """The same machine, every reading given: boards of data centers have ECC, GeForce boards say 'not supported'."""
    assert isinstance(s.gpus, tuple)
    gpus = []
    for g in s.gpus:
        model = next(
            m
            for m in ("h100", "a100", "l4", "t4", "v100", "rtx4090", "rtx5090", "rtx3060", "gtx1080")
            if gpu(m).pci_device_id == g.pci_device_id
        )
        center, links = model in DATA_CENTER, NVLINKS.get(model)
        ecc: Any = 0 if center else NOT_SUPPORTED
        remap = model in ("h100", "a100", "l4")
        gpus.append(
            replace(
                g,
                ecc_enabled=True if center else NOT_SUPPORTED,
                ecc_pending=True if center else NOT_SUPPORTED,
                ecc_uncorrected_volatile=ecc,
                ecc_corrected_volatile=ecc,
                ecc_uncorrected_aggregate=ecc,
                row_remap_pending=False if remap else NOT_SUPPORTED,
                row_remap_failed=False if remap else NOT_SUPPORTED,
                remapped_rows_uncorrectable=0 if remap else NOT_SUPPORTED,
                retired_pages=0 if model in ("t4", "v100") else NOT_SUPPORTED,
                retired_pages_pending=False if model in ("t4", "v100") else NOT_SUPPORTED,
                recovery_action=0 if model == "h100" else NOT_SUPPORTED,
                sram_threshold_exceeded=False if remap else NOT_SUPPORTED,
                fabric_health=0 if model == "h100" else NOT_SUPPORTED,
                nvlink_errors=NOT_SUPPORTED if links is None else (),
                pcie_replays=7,
                pcie_replays_climbed=0,
                counters_apart_ms=101,
                memory_reserved_mib=400,
                utilization_percent=0,
                memory_utilization_percent=0,
                virtualization_mode=0,
                temperature_margin_c=53 if model == "h100" else NOT_SUPPORTED,
                temperature_slowdown_c=NOT_SUPPORTED if model == "h100" else 93,
                clock_sm_mhz=345,
                clock_sm_max_mhz=1980,
                nvlink_active=NOT_SUPPORTED if links is None else links,
                nvlink_inactive=NOT_SUPPORTED if links is None else 0,
            )
        )
    return s.replace({"gpus": tuple(gpus)})


def at_work(s: Snapshot) -> Snapshot:
    """The same machine under full load: power cap reached, warm, PCIe awake, memory taken by its process."""
    from doctor.snapshot import GpuProcess

    assert isinstance(s.gpus, tuple)
    gpus = tuple(
        replace(
            g,
            utilization_percent=100,
            clock_event_reasons=0x4,
            temperature_c=80,
            clock_sm_mhz=1500,
            pcie_gen=g.pcie_gen_max,
            temperature_margin_c=g.temperature_margin_c if isinstance(g.temperature_margin_c, Missing) else 15,
            memory_used_mib=int(g.memory_total_mib * 0.9),  # type: ignore[operator]
            processes=(GpuProcess(pid=4711, name="python", memory_mib=7000),),
        )
        for g in s.gpus
    )
    return s.replace({"gpus": gpus})


def one(*models: str, container: bool = False, nth: int = 0, **facts: Any) -> Snapshot:
    """A monitored machine with some readings of one GPU changed."""
    s = monitored(healthy(*models, container=container))
    assert isinstance(s.gpus, tuple)
    gpus = tuple(replace(g, **facts) if i == nth else g for i, g in enumerate(s.gpus))
    return s.replace({"gpus": gpus})


def only(check_id: str, s: Snapshot) -> Finding:
    """The one finding of a check."""
    findings = run(check_id, s)[2]
    assert len(findings) == 1, findings
    return findings[0]
