"""Fixes for a GPU that was not used: by a program, by torch, or because the GPU itself does not compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Fix, Matrix
from ..findings.measured_driver import driver_failed
from ..findings.measured_gpu import gpu_of
from ..snapshot import Missing, Snapshot, known
from .compatible import compatible_torch
from .gpu_state import reset
from .speed import here, in_code, leave_out, measured_again

if TYPE_CHECKING:
    from ..findings.measured_path import Path

_UNAVAILABLE = 46
"""CUDA_ERROR_DEVICE_UNAVAILABLE: another program has the GPU for itself."""


def prove_again(path: Path) -> tuple[Fix, ...]:
    """Run the proof again if it had no result."""
    if "memory" in path.reason:
        words = "End the programs that use the GPU's memory (nvidia-smi lists them), or wait for them to finish."
        return (here("prove-again", "Run gpudoctor prove again once memory is free", words),)
    words = "If it ran out of time, give it more: --timeout SECONDS."
    return (here("prove-again", "Run gpudoctor prove again", words),)


def use_path(s: Snapshot, m: Matrix, path: Path) -> tuple[Fix, ...]:
    """Make a program or torch use the GPU that it did not use."""
    move = in_code(
        "move-to-gpu",
        "Move the model and every batch to the GPU",
        "Request the device by name, so that a missing GPU is an error instead of a silent switch to the CPU.",
        'device = torch.device("cuda"); model.to(device); batch = batch.to(device, non_blocking=True)',
    )
    if path.device == "watch" and known(s.torch_run.cuda_available) is not False:
        return (move,)
    again = here(
        "prove-again",
        "Fix the cause, then run gpudoctor prove again",
        "The finding above names the cause. If it names none, run: gpudoctor check",
    )
    if path.device.startswith("cuda:") and _gpu_in_doubt(s, path):
        gpu = gpu_of(s, path.device, path.key)
        return (*leave_out(s, path.device), *measured_again(reset(s, gpu.key) if gpu else ()), again)
    if known(s.torch.build) == "cpu" or isinstance(s.torch.version, Missing):
        return (*measured_again([compatible_torch(s, m)]), again)
    return (again,)


def _gpu_in_doubt(s: Snapshot, path: Path) -> bool:
    """Whether something hung or died on this GPU, or libcuda alone failed on it: not a matter of torch's build."""
    m = s.measured
    torch_died = any(p.device == path.device and p.fault in ("hang", "crash") for p in known(m.torch) or ())
    step_died = any(e.device == path.device and e.fault in ("hang", "crash") for e in m.ended)
    return (
        torch_died
        or step_died
        or any(
            f"cuda:{proof.device}" == path.device and driver_failed(proof) and known(proof.error_code) != _UNAVAILABLE
            for proof in known(m.driver) or ()
        )
    )
