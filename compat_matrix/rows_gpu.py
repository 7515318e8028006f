"""Rows about GPUs: identity (small, on the check path) and specifications (apart)."""

from .rows_driver import Row


class Gpu(Row, frozen=True, kw_only=True, gc=False):
    """One GPU product. device_ids: PCI device ids in hex; subsystems: 'DEVICE:VENDOR:DEVICE' or 'DEVICE:other';
    memory_gib as marketed, memory_mib totals seen through NVML; forward_compat: yes, no, selected, jetson, unknown;
    open_module: supported, unsupported, required, tegra; first_driver_listed is an upper bound."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    architecture: str
    chip: str = ""
    cc: str = ""
    device_ids: tuple[str, ...] = ()
    subsystems: tuple[str, ...] = ()
    segment: str
    form_factor: str = ""
    memory_gib: float | None = None
    memory_mib: tuple[int, ...] = ()
    memory_type: str = ""
    mig: bool = False
    mig_max_instances: int | None = None
    forward_compat: str = "unknown"
    open_module: str = "supported"
    first_driver_listed: str = ""
    ecc: str = ""


class Board(Row, frozen=True, kw_only=True, gc=False):
    """A board that is not in Gpu: its name, compute capability, the chips it was made with, PCI devices (hex)."""

    name: str
    cc: str
    chips: tuple[str, ...]
    device_ids: tuple[str, ...] = ()


class GpuSpec(Row, frozen=True, kw_only=True, gc=False):
    """Specifications of the Gpu with the same id. Rates are dense TFLOP/s (TOP/s for int8), bandwidths GB/s."""

    id: str
    sm_count: float | None = None
    cuda_cores: float | None = None
    boost_mhz: float | None = None
    mem_bw_gb_s: float | None = None
    fp64_tflops: float | None = None
    fp64_tensor_tflops: float | None = None
    fp32_tflops: float | None = None
    fp16_vector_tflops: float | None = None
    tf32_tensor_tflops: float | None = None
    fp16_tensor_fp32acc_tflops: float | None = None
    bf16_tensor_tflops: float | None = None
    fp16_tensor_fp16acc_tflops: float | None = None
    fp8_tensor_fp32acc_tflops: float | None = None
    int8_tensor_tops: float | None = None
    fp4_tensor_tflops: float | None = None
    pcie_gen: float | None = None
    pcie_lanes: float | None = None
    nvlink_gen: float | None = None
    nvlink_links: float | None = None
    nvlink_total_gb_s: float | None = None
    tdp_w: float | None = None
    sustained_share: float | None = None
    """Share of the dense peak, if the board's power limit does not sustain its boost clock (see spec_note)."""
    power_max_w: float | None = None
    slowdown_c: float | None = None
    shutdown_c: float | None = None
    max_operating_c: float | None = None
    memory_max_operating_c: float | None = None
    spec_note: str = ""
    tensor_confidence: str = ""
    nvlink_confidence: str = ""
    thermal_confidence: str = ""
