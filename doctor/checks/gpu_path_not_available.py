"""torch is a CUDA build and can be imported, but it cannot use the GPU.

What is wrong: the first CUDA call fails, no device is found, or a small kernel fails or gives a wrong result. If
another check names the reason, that check comes first and this finding is only a consequence.

Symptoms: `torch.cuda.is_available()` is False, or the first operation on the GPU raises an exception, kills the process
or never returns.

Why it happens: the error code narrows down the cause; see the finding's details.

How to fix it: fix the finding above this one. If there is none, follow this finding's advice for the error code. As a
last resort, restart the container, then the machine.

Source: CUDA error codes (cuda.h, driver_types.h); what torch reported in a child process.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Findings, Fix, Matrix, NotExamined, Policy, Skip, Step
from ..fixes.libraries import reinstall_torch
from ..fixes.where import recheck_run
from ..snapshot import Missing, NeedsFact, Snapshot, TorchRun, known, need
from ._code import NO_IMAGE, judged, no_image_here
from ._errors import first_line, texts
from ._seen import ALL_CAUSES, hidden_on_purpose
from ._torch import BROKEN_IMPORT, NO_CODE, OTHER_BUILD, cuda_build, gpu_needed

CHECK = Check(
    __name__,
    title="torch cannot use the GPU",
    sound="torch finds the GPU, and nothing that it ran there failed",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=(
        *ALL_CAUSES,
        "cuda-init-failed",
        "driver-too-old-for-cuda-build",
        *NO_CODE,
        *OTHER_BUILD,
        "ptx-newer-than-driver",
        "cudnn-dropped-old-gpu",
        *BROKEN_IMPORT,
        "torch-import-broken",
        "nvidia-wheels-off-torch-pins",
    ),
)

_NO_BINARY = 209
"""CUDA's code for 'no kernel image is available'."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if torch was asked to compute on the GPU and did not; unknown if one of its steps did not return."""
    cuda_build(s)
    if not gpu_needed(s, p):
        raise Skip("no GPU is expected, and none was seen")
    if hidden_on_purpose(s, p):
        raise Skip("CUDA_VISIBLE_DEVICES hides every GPU, and no GPU is expected")
    run = s.torch_run
    if known(run.imported) is False:
        raise NotExamined("torch cannot be imported")
    code, ran, available = known(run.first_call_code), known(run.kernel_ran), known(run.cuda_available)
    error = known(run.first_call_error)
    facts: dict[str, Any] = {"cuda_available": available, "first_call_code": code, "kernel_ran": ran}
    refused = _NO_BINARY if not code and NO_IMAGE in texts(s) else None
    answer = code or refused
    row = m.cuda_error(answer) if answer else None
    detail = first_line(error or known(run.kernel_error) or "")
    if row and not refused:
        facts["error"] = row.runtime_name or row.driver_name
        detail = f"CUDA returns error {code} ({facts['error']}: {row.message})."
        detail += f" Usual causes: {row.causes}." if row.causes else ""
    fixes: tuple[Fix, ...] = (_fix(s, row.first_fix if row else ""),)
    if listed := _listed(s, m):
        detail = f"{detail} But torch should have code for this GPU ({listed}). The files that torch loads are damaged "
        detail += "or belong to a different build."
        fixes = (reinstall_torch(s, m, "to restore its files"), *fixes)
    if code or error or available is False or known(run.device_count) == 0:
        yield CHECK.fail("torch finds no usable GPU", detail or _none_found(run), facts=facts, fixes=fixes)
    elif ran is False:
        yield CHECK.fail("torch sees the GPU, but a small kernel on it fails", detail, facts=facts, fixes=fixes)
    elif crashed := _step(run, "error", "crashed in "):
        yield CHECK.fail(
            "torch crashes when it uses the GPU",
            f"gpudoctor's test process {crashed}.",
            facts={**facts, "error": crashed},
            fixes=fixes,
        )
    elif known(run.imported) and (hung := _step(run, "timeout", "")):
        detail = f"It timed out: {hung}. Try a longer deadline (--timeout 100). If it hangs again, the GPU or its "
        detail += "driver is stuck: look for Xid lines in the host's kernel log."
        yield CHECK.unknown("torch was imported, but its call to the GPU never returned", detail, facts=facts)
    elif isinstance(run.kernel_ran, Missing) and not (available and _not_asked(s)):
        need("torch_run.cuda_available", run.cuda_available)
        need("torch_run.kernel_ran", run.kernel_ran)


def _not_asked(s: Snapshot) -> bool:
    """Whether no GPU was meant to compute; if torch lists more GPUs than gpudoctor tests, some were not tested."""
    ran = s.torch_run.kernel_ran
    return isinstance(ran, Missing) and ran.reason == "not-asked" and not s.cap("torch-devices")


def _listed(s: Snapshot, m: Matrix) -> str:
    """What says that there is code for a GPU that CUDA has 'no kernel image' for; '' if CUDA does not say so."""
    if NO_IMAGE not in texts(s):
        return ""
    try:
        refused = [j for j in judged(s, m) if no_image_here(s, j.gpu)]
    except (NeedsFact, Skip):
        return ""
    return next((f"according to {j.code.witness}: {j.grade.reason}" for j in refused if j.serves), "")


def _none_found(run: TorchRun) -> str:
    if known(run.cuda_available) is False:
        return "torch.cuda.is_available() is False."
    return "torch.cuda.device_count() is 0."


def _step(run: TorchRun, reason: str, prefix: str) -> str:
    """`crashed in kernel`, `kernel did not return`: the step after the import that did so; '' if none did."""
    facts = (run.cuda_available, run.device_count, run.first_call_code, run.kernel_ran)
    details = [f.detail for f in facts if isinstance(f, Missing) and f.reason == reason]
    return next((text for text in details if text.startswith(prefix)), "")


def _fix(s: Snapshot, first_fix: str) -> Fix:
    text = f"What usually helps: {first_fix}." if first_fix else _RESTART
    if NO_IMAGE in texts(s):
        text = "Install a newer torch that has code for this GPU. gpudoctor's matrix does not say which version does."
        step = Step(text=text, where="environment", changes=recheck_run(s))
        return Fix(id="newer-torch", title="Install a newer torch", steps=(step,))
    step = Step(text=text, where="shell", changes=recheck_run(s))
    title = "Try the usual fix for this error" if first_fix else "Restart the shell or container"
    return Fix(id="by-error-code", title=title, steps=(step,))


_RESTART = (
    "Restart this shell or container. If the error persists, look for Xid lines in 'sudo dmesg' on the host: they say "
    "what the GPU needs."
)
