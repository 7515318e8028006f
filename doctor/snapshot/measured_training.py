"""What proofs measured of a training: its step, the CPU that feeds it, and a sweep of batch sizes."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from .fact import NOT_ASKED, Missing

Number: TypeAlias = int | float


class TrainingStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A small training step: a transformer encoder, AdamW, mixed precision. Memory in MiB."""

    device: str
    parameters: int
    batch: int
    sequence: int = 0
    precision: str = ""
    samples_per_s: float | Missing = NOT_ASKED
    step_ms: float | Missing = NOT_ASKED
    spread_percent: float = 0.0
    context_mib: float | Missing = NOT_ASKED
    weights_mib: float | Missing = NOT_ASKED
    gradients_mib: float | Missing = NOT_ASKED
    optimizer_mib: float | Missing = NOT_ASKED
    activations_mib: float | Missing = NOT_ASKED
    peak_mib: float | Missing = NOT_ASKED
    reserved_mib: float | Missing = NOT_ASKED
    bytes_per_parameter: float | Missing = NOT_ASKED
    """Weights, gradients, optimizer state and mixed precision's casts; held against the rule of expected_bytes."""
    expected_bytes_per_parameter: float | Missing = NOT_ASKED
    shrunk: bool = False
    """Made smaller because memory ran out."""


class CpuScore(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The CPU as one training process sees it."""

    single_core: float | Missing = NOT_ASKED
    """Million simple Python operations a second on one core, best of several; see the agent for the loop."""
    under_load: float | Missing = NOT_ASKED
    """The same on every core at once, per core."""
    cores: float | Missing = NOT_ASKED
    """Cores really available: affinity and cgroup quota."""
    cores_seen: int | Missing = NOT_ASKED
    """os.cpu_count()."""
    model: str = ""
    mhz: float | Missing = NOT_ASKED
    mhz_max: float | Missing = NOT_ASKED
    throttled_percent: float | Missing = NOT_ASKED
    """Share of the cgroup's periods that were throttled during the test."""
    torch_threads: int | Missing = NOT_ASKED


class BatchPoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One batch size of the sweep: a small contrastive-loss model's training step, milliseconds a step."""

    device: str
    batch: int
    step_ms: float
    """Wall time of a step."""
    spread_percent: float = 0.0
    issue_ms: float | Missing = NOT_ASKED
    """Host time until all of a step's kernels were handed over, without waiting for the device."""
    device_ms: float | Missing = NOT_ASKED
    """Time in which the device had work (sum of kernels), copies left out."""
    copy_ms: float | Missing = NOT_ASKED
    """Time of copying the batch to the device."""
    load_ms: float | Missing = NOT_ASKED
    """Time of making the batch on the CPU (without worker processes)."""
    launches: int | Missing = NOT_ASKED
    """Kernels of a step."""
    flops: Number = 0
    bytes: Number = 0
    """Least bytes that a step moves in device memory."""
    utilization_percent: float | Missing = NOT_ASKED
    graph_ms: float | Missing = NOT_ASKED
    """The step as a CUDA graph."""
