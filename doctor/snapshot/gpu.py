"""Facts about each GPU, field by field as NVML gives them; an unsupported field is Missing(absent, 'not supported')."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section


class GpuProcess(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process that NVML lists on a GPU; the name is Missing where the container cannot see it."""

    pid: int
    kind: str = "compute"
    memory_mib: int | Missing = NOT_ASKED
    name: str | Missing = NOT_ASKED
    owner: Literal["session", "user", "other"] | Missing = NOT_ASKED
    """session: of this container, batch job or login session; user: this user's elsewhere; other: another user's."""


class MigInstance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A MIG device: a child of a GPU."""

    uuid: str | Missing = NOT_ASKED
    name: str | Missing = NOT_ASKED
    memory_total_mib: int | Missing = NOT_ASKED
    gpu_instance: int | Missing = NOT_ASKED
    compute_instance: int | Missing = NOT_ASKED


class NvLinkErrors(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Errors that one NVLink link counted since the GPU was last reset; a counter that its generation lacks stays 0."""

    link: int
    replay: int = 0
    """Transmissions that were repeated."""
    recovery: int = 0
    """Times that the link had to be trained again."""
    crc: int = 0
    """Packets that arrived damaged."""
    failed: int = 0
    """Recoveries that failed: the link was declared down (Blackwell and later)."""
    climbed: int = 0
    """Replays, recoveries and failed ones that came while gpudoctor looked (`Gpu.counters_apart_ms`)."""
    crc_climbed: int = 0


class Gpu(Section, frozen=True, kw_only=True, omit_defaults=True):
    """One physical GPU."""

    key: str
    """Stable: the UUID (or its mask), else the PCI address, else `gpu-N`."""
    index: int | Missing = NOT_ASKED
    """NVML's index (PCI bus order)."""
    name: str | Missing = NOT_ASKED
    uuid: str | Missing = NOT_ASKED
    serial: str | Missing = NOT_ASKED
    vbios: str | Missing = NOT_ASKED
    brand_id: int | Missing = NOT_ASKED
    """NVML brand number (5 GeForce, 2 Tesla, 14 Nvidia ...)."""
    architecture_id: int | Missing = NOT_ASKED
    pci_address: str | Missing = NOT_ASKED
    pci_device_id: str | Missing = NOT_ASKED
    """Four lower-case hex digits (2330 = H100 SXM)."""
    pci_subsystem_id: str | Missing = NOT_ASKED
    """Eight lower-case hex digits, subsystem device then subsystem vendor, as NVML packs them (16c110de)."""
    compute_capability: str | Missing = NOT_ASKED
    """`9.0`."""
    memory_total_mib: int | Missing = NOT_ASKED
    memory_used_mib: int | Missing = NOT_ASKED
    memory_reserved_mib: int | Missing = NOT_ASKED
    compute_mode: str | Missing = NOT_ASKED
    """default, exclusive-thread, prohibited, exclusive-process."""
    persistence_mode: bool | Missing = NOT_ASKED
    mig_enabled: bool | Missing = NOT_ASKED
    mig_pending: bool | Missing = NOT_ASKED
    mig_instances: tuple[MigInstance, ...] | Missing = NOT_ASKED
    ecc_enabled: bool | Missing = NOT_ASKED
    ecc_pending: bool | Missing = NOT_ASKED
    ecc_uncorrected_volatile: int | Missing = NOT_ASKED
    ecc_corrected_volatile: int | Missing = NOT_ASKED
    ecc_uncorrected_aggregate: int | Missing = NOT_ASKED
    remapped_rows_correctable: int | Missing = NOT_ASKED
    remapped_rows_uncorrectable: int | Missing = NOT_ASKED
    row_remap_pending: bool | Missing = NOT_ASKED
    row_remap_failed: bool | Missing = NOT_ASKED
    memory_unrepairable: bool | Missing = NOT_ASKED
    """Whether the driver flags memory that it cannot repair (driver 590 and later, Hopper and later)."""
    retired_pages: int | Missing = NOT_ASKED
    retired_pages_pending: bool | Missing = NOT_ASKED
    recovery_action: int | Missing = NOT_ASKED
    """0 none, 1 GPU reset, 2 node reboot, 3 drain P2P, 4 drain and reset, 5 see the check, 6 bus reset, 7 reboot."""
    sram_threshold_exceeded: bool | Missing = NOT_ASKED
    """Whether uncorrectable errors of the GPU's own SRAM passed its maker's limit; only root can read it."""
    sram_uncorrected_aggregate: int | Missing = NOT_ASKED
    power_draw_w: float | Missing = NOT_ASKED
    power_limit_w: float | Missing = NOT_ASKED
    """Enforced limit."""
    power_default_w: float | Missing = NOT_ASKED
    power_min_w: float | Missing = NOT_ASKED
    power_max_w: float | Missing = NOT_ASKED
    temperature_c: int | Missing = NOT_ASKED
    temperature_slowdown_c: int | Missing = NOT_ASKED
    temperature_shutdown_c: int | Missing = NOT_ASKED
    temperature_margin_c: int | Missing = NOT_ASKED
    """T.Limit margin: degrees left before slowdown."""
    clock_sm_mhz: int | Missing = NOT_ASKED
    clock_sm_max_mhz: int | Missing = NOT_ASKED
    clock_memory_mhz: int | Missing = NOT_ASKED
    clock_memory_max_mhz: int | Missing = NOT_ASKED
    clock_event_reasons: int | Missing = NOT_ASKED
    """NVML bit mask of current clock event (throttle) reasons; test bits one by one."""
    pcie_gen: int | Missing = NOT_ASKED
    pcie_gen_max: int | Missing = NOT_ASKED
    """What GPU and slot together can do."""
    pcie_gen_device_max: int | Missing = NOT_ASKED
    pcie_width: int | Missing = NOT_ASKED
    pcie_width_max: int | Missing = NOT_ASKED
    utilization_percent: int | Missing = NOT_ASKED
    memory_utilization_percent: int | Missing = NOT_ASKED
    fan_percent: int | Missing = NOT_ASKED
    processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED
    nvlink_active: int | Missing = NOT_ASKED
    """Number of active NVLink links, those asleep among them."""
    nvlink_inactive: int | Missing = NOT_ASKED
    nvlink_errors: tuple[NvLinkErrors, ...] | Missing = NOT_ASKED
    """Of the links that counted any error; empty if all counters are 0."""
    pcie_replays: int | Missing = NOT_ASKED
    """PCIe packets that were repeated between the GPU's last reset and the first look."""
    pcie_replays_climbed: int | Missing = NOT_ASKED
    """Those of them that came while gpudoctor looked."""
    counters_apart_ms: int | Missing = NOT_ASKED
    """Time between two looks at these counters; absent where all were 0 at the first."""
    nvlinks_to_switch: int | Missing = NOT_ASKED
    """Links that are up and end at an NVSwitch."""
    fabric_state: int | Missing = NOT_ASKED
    """1 not started, 2 in progress, 3 completed (NVSwitch systems)."""
    fabric_status: int | Missing = NOT_ASKED
    fabric_health: int | Missing = NOT_ASKED
    """NVML's mask of what is wrong with the NVSwitch fabric, from driver 550 on: two or four bits for each part."""
    fabric_health_summary: int | Missing = NOT_ASKED
    """0 not reported, 1 healthy, 2 unhealthy, 3 limited capacity (driver 580 and later)."""
    gsp_firmware: str | Missing = NOT_ASKED
    virtualization_mode: int | Missing = NOT_ASKED
    """0 none, 1 passthrough, 2 vGPU, 3 host vGPU, 4 host vSGA."""
    vgpu_licensed: bool | Missing = NOT_ASKED
    """Whether a virtual GPU has its licence; asked of virtual GPUs only (virtualization_mode 2)."""
    integrated: bool | Missing = NOT_ASKED
    """Jetson or GB10: shares the system's memory."""


class GpuPair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about two GPUs, by their keys."""

    a: str
    b: str
    p2p_read: int | Missing = NOT_ASKED
    """NVML P2P status; 0 is OK."""
    p2p_nvlink: int | Missing = NOT_ASKED
    """The same over NVLink: 0 if NVLink joins the two."""
    topology: int | Missing = NOT_ASKED
    """NVML topology level (0 internal, 10 single switch ... 50 system)."""
    nvlinks: int | Missing = NOT_ASKED
    """Links that are up and end at the other one, with no NVSwitch between."""
    cuda_peer: bool | Missing = NOT_ASKED
    """Whether CUDA lets each of the two read the other's memory (cuDeviceCanAccessPeer, both directions)."""
