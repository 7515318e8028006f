"""What proofs measured: that a device computes, and that data gets from one to another."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .fact import NOT_ASKED, Missing

Fault: TypeAlias = Literal["hang", "crash", "failed", "skipped", "slow", "starved"]
PROVES_NOTHING = ("skipped", "slow", "starved")
"""Left out; still at work, or without a core, when the time was over: nothing is broken by that."""


class DriverProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """L0: our PTX kernel through libcuda alone, on one device of libcuda's numbering."""

    device: int
    key: str = ""
    name: str = ""
    capability: str = ""
    right: bool | Missing = NOT_ASKED
    """Whether every element read back is what it must be; Missing(error) if a call failed."""
    elements: int = 0
    wrong_elements: int = 0
    context_ms: float | Missing = NOT_ASKED
    context_mib: float | Missing = NOT_ASKED
    """Device memory that the bare context takes."""
    module_ms: float | Missing = NOT_ASKED
    """Loading the PTX: its compilation by the driver, or the driver's cache."""
    kernel_ms: float | Missing = NOT_ASKED
    failed_call: str = ""
    error_code: int | Missing = NOT_ASKED
    error_name: str = ""
    fault: Fault | None = None


class TorchProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """L1: a matrix product and a convolution by torch on one device, held against float64 on the CPU."""

    device: str
    key: str = ""
    name: str = ""
    tensor_device: str = ""
    """Device of the result's tensor, as torch says."""
    right: bool | Missing = NOT_ASKED
    matmul_error: float | Missing = NOT_ASKED
    """Largest error over the largest value, against float64."""
    conv_error: float | Missing = NOT_ASKED
    tolerance: float | Missing = NOT_ASKED
    peak_mib: float | Missing = NOT_ASKED
    """torch.cuda.max_memory_allocated."""
    process_seen: bool | Missing = NOT_ASKED
    """Whether NVML lists the proving process on that GPU; Missing where NVML cannot see processes (containers)."""
    process_mib: float | Missing = NOT_ASKED
    utilization_percent: float | Missing = NOT_ASKED
    """The highest sample of NVML while it worked."""
    first_launch_ms: float | Missing = NOT_ASKED
    code: Literal["native", "ptx-jit"] | Missing = NOT_ASKED
    """How torch's kernels got onto this GPU: from their machine code, or compiled from PTX at the first launch."""
    jit_cache_bytes: int | Missing = NOT_ASKED
    """By how much the driver's JIT cache grew."""
    work_ms: float | Missing = NOT_ASKED
    """The product on this device."""
    cpu_ms: float | Missing = NOT_ASKED
    """The same product on the CPU."""
    busy: bool = False
    """Another process was at work on the GPU."""
    failed_step: str = ""
    error: str = ""
    error_code: int | Missing = NOT_ASKED
    fault: Fault | None = None


class ProductProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One product of matrices (m x k times k x n) of the type that was timed, held against float64 and repeated."""

    device: str
    what: str
    """As in `Rate`: fp32, tf32, fp16, bf16, fp8, int8, fp4 (NVFP4)."""
    right: bool | Missing = NOT_ASKED
    """Whether all of it is within what rounding can explain: Freivalds' check, see `patient/speed_freivalds.py`."""
    m: int = 0
    n: int = 0
    k: int = 0
    blocks: int = 0
    """Sums over blocks of the result that were held against float64."""
    wrong_blocks: int = 0
    over_bound: float = 0.0
    """The largest error over its bound: above 1 is wrong."""
    suspect_blocks: int | Missing = NOT_ASKED
    """Sums that are off by more than rounding is expected to make, see `patient/speed_freivalds.py`; the wrong ones are
    among them. Missing for products of whole numbers, which are exact."""
    over_expected: float = 0.0
    """The largest error over the expected one: above 1 is suspect."""
    repeats: int = 0
    differing_repeats: int = 0
    """Those whose bits were not the first one's."""
    differing_elements: int = 0
    """At most, in one of them."""
    wrong_elements: int = 0
    """Of those that differ and were computed again: outside the bound."""


class CopyProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of 4 bytes that were copied, each other than its neighbours, and compared in bits."""

    device: str
    what: str
    """d2d (inside the GPU's memory), h2d-pinned, d2h-pinned, h2d-pageable, d2h-pageable."""
    right: bool | Missing = NOT_ASKED
    mib: float = 0.0
    copies: int = 0
    wrong_numbers: int = 0


class SoakPoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some seconds of sustained load on one GPU: the rate of its products, and what NVML showed meanwhile."""

    device: str
    what: str
    """The type of the products, as in `Rate`."""
    at_s: float
    """Since the load began."""
    seconds: float
    rate: float
    unit: str = "TFLOP/s"
    compared: int = 0
    """Results that were compared with the first one in bits."""
    clock_sm_mhz: float | Missing = NOT_ASKED
    power_w: float | Missing = NOT_ASKED
    temperature_max_c: int | Missing = NOT_ASKED
    reasons_percent: dict[str, float] = {}
    """Share of the samples with each clock event reason set, as in `Load`."""


class CollectiveProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One small all-reduce over all visible devices."""

    backend: str
    """nccl, gloo."""
    ranks: int
    right: bool | Missing = NOT_ASKED
    seconds: float | Missing = NOT_ASKED
    error: str = ""
    fault: Fault | None = None


class PairProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data passed from one device to another and read back."""

    source: str
    target: str
    right: bool | Missing = NOT_ASKED
    peer_access: bool | Missing = NOT_ASKED
    gb_s: float | Missing = NOT_ASKED
    """One way, of buffers of `mib`; median."""
    spread_percent: float = 0.0
    """90th minus 10th percentile, in percent of the median."""
    latency_us: float | Missing = NOT_ASKED
    """Of a copy of four bytes, many in a row on one stream."""
    mib: float = 0.0
    error: str = ""
    fault: Fault | None = None
