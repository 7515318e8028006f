"""What a proof or a watched run measured: facts like all others, judged again from a saved report without a GPU.

Agents write one JSON line a result, `{"rate": {...}}`, whose object has the fields of the struct of that name here.
`device` is torch's name (`cuda:0`, `cpu`); `key` is the key of a GPU in `Snapshot.gpus`. Medians unless said otherwise.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section
from .measured_links import CollectiveRate, DdpRun, LinkGroup, RankWait, SendRate, SumWay
from .measured_proof import (
    CollectiveProof,
    CopyProof,
    DriverProof,
    Fault,
    PairProof,
    ProductProof,
    SoakPoint,
    TorchProof,
)
from .measured_training import BatchPoint, CpuScore, Number, TrainingStep

__all__ = [
    "BatchPoint", "CollectiveProof", "CollectiveRate", "CopyProof", "CpuScore", "DdpRun", "DriverProof", "Fault",
    "LinkGroup", "Load", "Measured", "Number", "PairProof", "ProductProof", "RankWait", "Rate", "SendRate", "SoakPoint",
    "StepEnd", "SumWay", "TorchProof", "TrainingStep", "Watch",
]  # fmt: skip


class StepEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of a proof that did not end well, or was left out: everything that is not here ended well."""

    agent: str
    """driver_proof, torch_proof, torch_speed, training_speed, collective_proof, collective_speed, nvml_sampler."""
    step: str
    device: str = ""
    fault: Fault = "failed"
    detail: str = ""
    """The error's words, or why it was left out or made smaller."""
    silent_s: float = 0.0
    """For a hang: how long there was no output."""


class Rate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured figure of speed.

    kind: what
      matmul: fp32 (CUDA cores), tf32, fp16, bf16, fp8, int8, fp4 (tensor cores); unit TFLOP/s or TOP/s; detail m, n, k,
        transposed, and shrunk = 1 where too little memory was free for a size that fills the GPU
      memory: copy, triad; unit GB/s (1e9 bytes, read and written); detail mib
      copy: h2d-pinned, h2d-pageable, d2h-pinned, d2h-pageable; h2d-far, d2h-far: pinned memory of the NUMA node that
        is farthest from the GPU; unit GB/s; detail mib, on machines with several nodes gpu_node and host_node (-1: no
        core of the GPU's node is allowed here)
      launch: eager, graph; unit us (a launch of an empty-like kernel, host time; of a graph until the device is done)
      operation: a name of its own; group contraction, normalisation, element-wise in `group`; unit TFLOP/s;
        detail flops, bytes, ms, gb_s, intensity
      pass: forward, backward; unit ms
      loader: number of workers as text; unit samples/s
      copies: number of copies of a model working at once as text; unit samples/s (of all together)
      pair: `cuda:0>cuda:1`; unit GB/s
    detail load_percent: on a CPU that other programs use too, their load in percent of its cores; the value is of the
      best run then.
    """

    kind: str
    device: str
    what: str
    value: float
    unit: str
    group: str = ""
    units: str = ""
    """Where a matmul runs: cuda-cores, tensor-cores, cpu; empty for other kinds."""
    spread_percent: float = 0.0
    """90th minus 10th percentile, in percent of the median."""
    runs: int = 0
    detail: dict[str, Number] = {}


MEAN_OF_S = 1.5
"""Where NVML gives means over a second, the watts of a shorter time are in part those of the time before it."""


class Load(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What NVML showed of one GPU during one phase of work."""

    key: str
    phase: str
    """proof, matmul, memory, copy, training, sweep, watch."""
    seconds: float = 0.0
    samples: int = 0
    utilization_percent: float | Missing = NOT_ASKED
    """Mean."""
    utilization_max_percent: float | Missing = NOT_ASKED
    utilization_full_percent: float | Missing = NOT_ASKED
    """Share of the samples at 99 % or more: a kernel was always there."""
    memory_busy_percent: float | Missing = NOT_ASKED
    """Mean share of the time in which GPU memory was read or written."""
    sm_activity_percent: float | Missing = NOT_ASKED
    """Mean over the SMs of the time with a warp on them: 0.8 on an H100 with one block that never ends (GPM)."""
    sm_activity_spread_percent: float | Missing = NOT_ASKED
    """Standard deviation of that over the samples, in percent of the SMs."""
    tensor_activity_percent: float | Missing = NOT_ASKED
    memory_activity_percent: float | Missing = NOT_ASKED
    """Mean share of the memory's bandwidth that was used (GPM)."""
    pcie_rx_mb_s: float | Missing = NOT_ASKED
    pcie_tx_mb_s: float | Missing = NOT_ASKED
    nvlink_mb_s: float | Missing = NOT_ASKED
    """Mean rates; over NVLink both directions together."""
    power_w: float | Missing = NOT_ASKED
    power_instant: bool = False
    """Whether each watt was read at its moment; else NVML may have given means over the second before."""
    power_idle_w: float | Missing = NOT_ASKED
    """The least of the samples with nothing to do; of means over a second only those well after work."""
    power_limit_w: float | Missing = NOT_ASKED
    temperature_max_c: int | Missing = NOT_ASKED
    clock_sm_mhz: float | Missing = NOT_ASKED
    """Mean of the samples in which it had work; of all where it had none."""
    clock_sm_max_mhz: int | Missing = NOT_ASKED
    clock_memory_mhz: float | Missing = NOT_ASKED
    reasons_percent: dict[str, float] = {}
    """Share of the samples with each clock event reason set: power-cap, sw-thermal, hw-thermal, hw-slowdown,
    power-brake, idle, clocks-setting, sync-boost."""
    reasons_samples: int | Missing = NOT_ASKED
    """Samples in which NVML gave the reasons; without them, an empty `reasons_percent` says nothing."""
    pcie_gen: int | Missing = NOT_ASKED
    """The highest seen: under load."""
    pcie_width: int | Missing = NOT_ASKED
    memory_used_max_mib: float | Missing = NOT_ASKED
    others: int | Missing = NOT_ASKED
    """Processes on the GPU that are not ours."""

    @property
    def reasons(self) -> dict[str, float] | Missing:
        """`reasons_percent`, or why it is not known."""
        known_ones = bool(self.reasons_percent) or not isinstance(self.reasons_samples, Missing)
        return self.reasons_percent if known_ones else self.reasons_samples  # type: ignore[return-value]


class Watch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command of the user's (or a running process), watched from outside. CPU in cores (1.0: one core busy).

    What is a mean or a share of CPU time is so since it was first seen on a GPU, where that was for 3 s or more, else
    over all of the time.
    """

    program: str
    """Base name of the command's program; its arguments are not kept."""
    seconds: float
    attached: bool = False
    """`--pid`: it was running before."""
    exit_code: int | Missing = NOT_ASKED
    signal: int | Missing = NOT_ASKED
    processes_max: int = 0
    threads_max: int = 0
    cpu_cores: float | Missing = NOT_ASKED
    """Mean of the whole process tree."""
    busiest_thread: float | Missing = NOT_ASKED
    """Mean of its busiest thread, 0 to 1."""
    busiest_thread_name: str = ""
    busiest_thread_saturated_percent: float | Missing = NOT_ASKED
    """Share of the samples in which one thread took 90 % of a core or more."""
    main_cores: float | Missing = NOT_ASKED
    """Mean of the process that holds the GPU (else the root of the tree)."""
    workers: int | Missing = NOT_ASKED
    """Its children that look like data loader workers."""
    workers_cores: float | Missing = NOT_ASKED
    workers_blocked_percent: float | Missing = NOT_ASKED
    """Share of the samples in which a worker was in uninterruptible sleep (disk), mean over them."""
    blocked_percent: float | Missing = NOT_ASKED
    """Share of the samples with the main thread in uninterruptible sleep (disk)."""
    core_wait_percent: float | Missing = NOT_ASKED
    """Share of the time in which the main thread was ready to run and had no core: others' load, or a CPU quota."""
    cpu_idle_percent: float | Missing = NOT_ASKED
    """Share of the time in which the whole process tree used less than a tenth of a core."""
    cores: float | Missing = NOT_ASKED
    """Cores available to it."""
    uses_gpu: bool | Missing = NOT_ASKED
    """Whether it holds memory or a context on a GPU by NVML, or an open /dev/nvidia0 where NVML cannot tell."""
    gpu_keys: tuple[str, ...] = ()
    gpu_first_seen_s: float | Missing = NOT_ASKED
    gpu_memory_max_mib: float | Missing = NOT_ASKED
    gpu_busy_percent: float | Missing = NOT_ASKED
    """Share of NVML's utilisation of its GPUs over the time since it was first seen there, by this process where
    NVML tells processes apart."""
    gpu_busy_by: Literal["process", "device"] | None = None
    gpu_idle_percent: float | Missing = NOT_ASKED
    """Share of the samples since then in which its GPUs had nothing to do."""
    others_on_gpu: int | Missing = NOT_ASKED
    h2d_mb_s: float | Missing = NOT_ASKED
    """PCIe receive rate by NVML, mean."""
    sampler_cpu_s: float | Missing = NOT_ASKED
    """CPU time of watching itself."""
    libraries: tuple[str, ...] | Missing = NOT_ASKED
    """CUDA libraries mapped into its processes, by base name."""
    world_size: int | Missing = NOT_ASKED
    """Ranks of its job, as its launcher passed it to its processes: WORLD_SIZE, or Open MPI's and PMI's name of it."""


class Measured(Section, frozen=True, kw_only=True, omit_defaults=True):
    """All measurements. Missing(not-asked) without `prove` or `watch`."""

    level: Literal["proof", "quick", "standard", "full", "links", "watch"] | Missing = NOT_ASKED
    device: str | Missing = NOT_ASKED
    """What was asked for: `cuda` (every visible GPU), `cuda:1`, `cpu`."""
    timeout_s: float | Missing = NOT_ASKED
    """The time limit that the proof ran under: of its level, or from --timeout."""
    interrupted: bool = False
    """Ctrl-C ended it: what is missing was not measured."""
    torch_devices: tuple[str, ...] | Missing = NOT_ASKED
    """Devices that torch offered to the proof: `cuda:0` ...; empty if torch has no GPU."""
    import_seconds: float | Missing = NOT_ASKED
    ended: tuple[StepEnd, ...] = ()
    driver: tuple[DriverProof, ...] | Missing = NOT_ASKED
    torch: tuple[TorchProof, ...] | Missing = NOT_ASKED
    rates: tuple[Rate, ...] | Missing = NOT_ASKED
    products: tuple[ProductProof, ...] | Missing = NOT_ASKED
    copies: tuple[CopyProof, ...] | Missing = NOT_ASKED
    loads: tuple[Load, ...] | Missing = NOT_ASKED
    training: tuple[TrainingStep, ...] | Missing = NOT_ASKED
    cpu: CpuScore | None = None
    """None if it was not measured (also collective and watch)."""
    batches: tuple[BatchPoint, ...] | Missing = NOT_ASKED
    pairs: tuple[PairProof, ...] | Missing = NOT_ASKED
    collective: CollectiveProof | None = None
    soak: tuple[SoakPoint, ...] | Missing = NOT_ASKED
    """Sustained load, in the order of time for each device; not asked without `--soak`."""
    link_groups: tuple[LinkGroup, ...] | Missing = NOT_ASKED
    """With `--links` alone, as the four after it; one for each variant."""
    collective_rates: tuple[CollectiveRate, ...] | Missing = NOT_ASKED
    sends: tuple[SendRate, ...] | Missing = NOT_ASKED
    rank_waits: tuple[RankWait, ...] | Missing = NOT_ASKED
    ddp: tuple[DdpRun, ...] | Missing = NOT_ASKED
    ways: tuple[SumWay, ...] | Missing = NOT_ASKED
    """With `--teach`."""
    watch: Watch | None = None
