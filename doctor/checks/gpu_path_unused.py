"""The measured program did not use the GPU.

What is wrong: a GPU was requested, but torch did no work on it, or a watched program did not use it.
`torch.cuda.is_available()` is not enough to tell; this check looks at what actually ran.

Symptoms: training is as slow as on a CPU; nvidia-smi shows 0 % and no process.

Why it happens: torch without CUDA, a missing driver, or a container without the GPU: the finding above says which. In a
watched program, other possible causes are that the model and batches were never moved to the GPU, or that it ran under
a different Python than you think.

How to fix it: fix the cause above first. In a program, call `.to("cuda")` on the model and on every batch, and raise an
error if there is no GPU instead of silently falling back to the CPU.

With `--device cpu`, this finding is only a note, unless torch crashes on the CPU, which is a failure. If memory or time
ran out before a GPU was shown to work, the result is UNKNOWN. Without torch, this finding is at most a warning if a
kernel run through libcuda alone gave correct results on the GPU. This check uses results from `gpudoctor prove` and
`gpudoctor watch`.

The report also shows what a watched program did instead (`measured.watch_bound`): it computed, or waited for a core,
the disk or its loader workers, or slept. GPU utilization says nothing about how much work was done: a kernel that is
only waiting counts as busy too.

Source: results computed by torch on the device, the device of the result tensor, NVML's list of processes, a kernel
through libcuda alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..findings import Check, Findings, Fix, NotExamined, Policy, Skip
from ..snapshot import Measured, Missing, NeedsFact, Snapshot, known
from ._measured import measured
from ._seen import ALL_CAUSES
from ._torch import BROKEN_IMPORT, NO_CODE, OTHER_BUILD, gpu_needed

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..findings.measured_path import Path

CHECK = Check(
    __name__,
    title="The GPU was not used",
    sound="The GPU was used",
    severity="critical",
    layer="python",
    tags=("measured", "gpu", "torch"),
    downstream_of=(
        "gpu-path-not-available",
        "cuda-init-failed",
        "torch-import-broken",
        "driver-too-old-for-cuda-build",
        *OTHER_BUILD,
        *NO_CODE,
        *BROKEN_IMPORT,
        *ALL_CAUSES,
    ),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for every device (and watched program) that demonstrably did not use the GPU."""
    found_by = measured(s)
    if found_by.device == "cpu":
        yield from _on_cpu(s)
    if p.expect.kind == "none":
        raise Skip("--expect none: no GPU is expected here")
    from ..findings.measured_driver import driver_words
    from ..findings.measured_path import cpu_was_measured, overall, paths
    from ..fixes.gpu_path import prove_again, use_path

    found = paths(s)
    if not found:
        raise NotExamined("the CPU was requested, although torch has a usable GPU")
    absent = isinstance(s.torch.version, Missing) and s.torch.version.reason == "absent" and "torch" not in p.require
    for path in found:
        wanted = gpu_needed(s, p) and not (cpu_was_measured(found_by) and path.device != "watch")
        if path.word == "unknown" and path.device != "watch" and wanted:
            yield CHECK.unknown(
                f"Unknown whether torch can use {path.device or 'every GPU'}",
                f"{_opening(path)}.",
                facts={"device": path.device},
                subject=path.key,
                fixes=prove_again(path),
            )
        if path.word != "gpu-path-unused":
            continue
        idle = path.device == "watch" and known(found_by.watch.uses_gpu) if found_by.watch else False
        # Without torch, "it did not compute" adds nothing to the finding that torch is missing.
        mild = idle or (absent and not path.device)
        make = (CHECK.warn if mild else CHECK.fail) if wanted else CHECK.remark
        words = "" if _by_driver_alone(s, path) else driver_words(found_by, path.device, path.key)
        evidence = words if not words.endswith("torch does not.") or path.device != "watch" else ""
        facts: dict[str, Any] = {"device": path.device or known(found_by.device), "verdict": path.word}
        if found_by.watch and path.device == "watch":
            facts["libraries"] = known(found_by.watch.libraries)
        yield make(
            _title(path, s),
            " ".join(filter(None, (f"{_opening(path)}.", evidence, _why(s, path)))),
            facts=facts,
            subject=path.key,
            fixes=use_path(s, m, path),
            downstream_of=_causes(s, path) if wanted else (),
        )
    unknown = overall(found)
    if unknown.word == "unknown":
        raise NeedsFact(
            "measured.watch" if unknown.device == "watch" else "measured.torch", Missing("error", unknown.reason)
        )


def _again(m: Measured) -> Fix:
    from ..fixes.speed import here, with_more_time

    if m.interrupted:
        return here(
            "prove-again",
            "Run gpudoctor prove again",
            "This time, let the test finish.",
            "gpudoctor prove --device cpu",
        )
    return with_more_time(m)


def _on_cpu(s: Snapshot) -> Findings:
    """If the CPU was requested and torch's test gave no result on it."""
    from ..fixes.speed import here

    proof = next((p for p in known(s.measured.torch) or () if p.device == "cpu"), None)
    if (proof and isinstance(proof.right, bool)) or isinstance(s.torch.version, Missing) or not s.torch_run.imported:
        return  # correct, or another finding reports it
    end = next((e for e in s.measured.ended if e.agent == "torch_proof"), None)
    fault, step = (proof.fault, proof.failed_step) if proof else (end.fault, end.step) if end else (None, "")
    error = (proof.error if proof else "") or (end.detail if end else "")
    words = f"The test stopped{f' in {step}' if step else ''}{f': {error}' if error else ''}."
    facts = {"device": "cpu", "fault": fault, "step": step}
    if fault in ("crash", "failed"):
        yield CHECK.fail(
            f"torch {'crashes' if fault == 'crash' else 'fails'} on the CPU",
            words,
            facts=facts,
            subject="cpu",
            fixes=(
                here(
                    "prove-again",
                    "Reinstall torch and run gpudoctor prove again",
                    "Try a new environment first: either a library is damaged, or the processor is too old.",
                    "gpudoctor prove --device cpu",
                ),
            ),
        )
    else:
        yield CHECK.unknown(
            "Unknown whether torch can compute on the CPU",
            words,
            facts=facts,
            subject="cpu",
            fixes=(_again(s.measured),),
        )


def _causes(s: Snapshot, path: Path) -> tuple[str, ...]:
    """A driver that did not respond for one GPU in the test is not a cause on another."""
    from ..findings.measured_driver import driver_failed

    own = [proof for proof in known(s.measured.driver) or () if path.device in ("", f"cuda:{proof.device}")]
    if s.driver.faults or any(driver_failed(proof) for proof in own):
        return CHECK.downstream_of
    return tuple(cause for cause in CHECK.downstream_of if cause != "driver-not-answering")


def _title(path: Path, s: Snapshot) -> str:
    if path.device == "watch" and s.measured.watch:
        return f"{s.measured.watch.program} did not use the GPU"
    if s.measured.device == "cpu":
        return "The GPU was not used: the test ran on the CPU, and torch has no usable GPU"
    if _by_driver_alone(s, path):
        return f"{path.device} cannot run a kernel, even without torch"
    return f"torch did not use {path.device}" if path.device else "torch did not use a GPU"


def _by_driver_alone(s: Snapshot, path: Path) -> bool:
    """Whether libcuda's test is the only one on this GPU."""
    return path.device.startswith("cuda:") and path.reason.partition(": ")[2].startswith("a kernel run through libcuda")


def _opening(path: Path) -> str:
    """The reason as the beginning of a sentence; names of programs and devices stay as they are."""
    named = path.device == "watch" or path.reason.startswith(("cuda:", "torch"))
    return path.reason if named else f"{path.reason[0].upper()}{path.reason[1:]}"


def _why(s: Snapshot, path: Path) -> str:
    """For a watched program, the likeliest cause, judged from what it had loaded."""
    watch = s.measured.watch
    if path.device != "watch" or watch is None:
        return ""
    if known(watch.uses_gpu):
        return (
            "It opened the GPU but ran nothing on it: either the model or the batches stayed on the CPU, or the GPU "
            "work started only after the watch ended."
        )
    libraries = known(watch.libraries)
    if known(s.torch_run.cuda_available) is False:
        return "torch in this environment cannot use a GPU."
    if libraries is None:
        return ""
    if any(name.startswith("libtorch_cuda") for name in libraries):
        return "It had loaded torch's CUDA libraries, so most likely the model and batches were not moved to the GPU."
    if libraries:
        return "It loaded CUDA libraries, but never opened a GPU."
    return "It loaded no CUDA library: a different Python or torch ran it, or it is not a GPU program."
