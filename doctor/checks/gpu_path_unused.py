"""What was measured did not run on the GPU.

What is wrong: a GPU was asked for and torch did no work on it, or a watched program left it alone.
`torch.cuda.is_available()` proves nothing; this is what really ran.

How it shows: training is as slow as on a CPU; nvidia-smi shows 0 % and no process.

Why it happens: torch without CUDA, a driver that is not there, a container without the GPU: the finding above says
which. In a watched program also: model and batches were never moved to the GPU, or another Python than you think ran
it.

How to fix it: the cause above first. In a program: `.to("cuda")` for the model and for every batch, an error where
there is no GPU in the place of a silent change to the CPU.

With `--device cpu` it is a remark. Judged from `gpudoctor prove` and `gpudoctor watch`.

Source: results computed by torch on the device, the device of their tensor, NVML's list of processes, a kernel through
libcuda alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..findings import Check, Finding, Fix, Policy, Skip
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._measured import measured
from ._seen import ALL_CAUSES
from ._torch import BROKEN_IMPORT, NO_CODE, OTHER_BUILD, gpu_needed

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_path import Path

CHECK = Check(
    __name__,
    title="The GPU was not used",
    severity="critical",
    layer="python",
    tags=("measured", "gpu", "torch"),
    downstream_of=("gpu-path-not-available", "cuda-init-failed", "torch-import-broken", "driver-too-old-for-cuda-build",
                   *OTHER_BUILD, *NO_CODE, *BROKEN_IMPORT, *ALL_CAUSES),
    needs_gpu=False,
)  # fmt: skip


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for every device (and watched program) that was shown not to have used the GPU."""
    found_by = measured(s)
    if p.expect.kind == "none":
        raise Skip("--expect none: no GPU is expected where this runs")
    from ..findings.measured_path import asked_cpu, driver_words, overall, paths

    found = paths(s)
    if not found:
        raise Skip("the CPU was asked for, and torch has a GPU")
    words = driver_words(found_by)
    for path in found:
        if path.word != "gpu-path-unused":
            continue
        idle = path.device == "watch" and known(found_by.watch.uses_gpu) if found_by.watch else False
        wanted = gpu_needed(s, p) and not (asked_cpu(found_by) and path.device != "watch")
        make = (CHECK.warn if idle else CHECK.fail) if wanted else CHECK.remark
        said = words if not words.endswith("torch does not.") or path.device != "watch" else ""
        facts: dict[str, Any] = {"device": path.device or known(found_by.device), "proof": path.reason}
        if found_by.watch and path.device == "watch":
            facts["libraries"] = known(found_by.watch.libraries)
        yield make(
            _title(path, s), " ".join(filter(None, (f"{_begin(path)}.", said, _why(s, path)))),
            facts=facts, subject=path.key, fixes=_fixes(s, m, path),
            downstream_of=CHECK.downstream_of if wanted else (),
        )  # fmt: skip
    unknown = overall(found)
    if unknown.word == "unknown":
        raise NeedsFact("measured.watch" if unknown.device == "watch" else "measured.torch",
                        Missing("error", unknown.reason))  # fmt: skip


def _title(path: Path, s: Snapshot) -> str:
    if path.device == "watch" and s.measured.watch:
        return f"{s.measured.watch.program} did not use the GPU"
    if s.measured.device == "cpu":
        return "The GPU was not used: the CPU was measured, and torch has no GPU here"
    return f"torch did not use {path.device}" if path.device else "torch did not use a GPU"


def _begin(path: Path) -> str:
    """The reason as the beginning of a sentence; names of programs and devices stay as they are."""
    named = path.device == "watch" or path.reason.startswith("cuda:")
    return path.reason if named else f"{path.reason[0].upper()}{path.reason[1:]}"


def _why(s: Snapshot, path: Path) -> str:
    """For a watched program, the likeliest cause by what it had loaded."""
    watch = s.measured.watch
    if path.device != "watch" or watch is None:
        return ""
    if known(watch.uses_gpu):
        return "A context alone does no work: model or batches stayed on the CPU, or the work came later."
    libraries = known(watch.libraries)
    if known(s.torch_run.cuda_available) is False:
        return "torch in this environment has no usable GPU."
    if libraries is None:
        return ""
    if any(name.startswith("libtorch_cuda") for name in libraries):
        return "It had torch's CUDA libraries loaded: likeliest, model and batches were not moved to the GPU."
    if libraries:
        return "It had CUDA libraries loaded, and made no context on a GPU."
    return "It had no CUDA library loaded: another Python or another torch ran it, or it is no GPU program."


def _fixes(s: Snapshot, m: Matrix, path: Path) -> tuple[Fix, ...]:
    from ..fixes.speed import here, in_code, measured_again

    move = in_code(
        "move-to-gpu", "Move the model and every batch to the GPU",
        "Ask for the device by name, so that a missing GPU is an error and not a silent change to the CPU.",
        'device = torch.device("cuda"); model.to(device); batch = batch.to(device, non_blocking=True)',
    )  # fmt: skip
    if path.device == "watch" and known(s.torch_run.cuda_available) is not False:
        return (move,)
    again = here("prove-again", "Repair the cause, then prove it again",
                 "The finding above this one names the cause; without one: gpudoctor check.")  # fmt: skip
    if known(s.torch.build) == "cpu":
        from ..fixes.fitting import fitting_torch

        return (*measured_again([fitting_torch(s, m)]), again)
    return (again,)
