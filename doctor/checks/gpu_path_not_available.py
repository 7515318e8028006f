"""torch is a CUDA build and imports, yet the GPU cannot be used.

What is wrong: CUDA's first call fails, no device is found, or a small kernel gives an error or a wrong answer. No
other check names the reason (if one does, it stands above this one).

How it shows: `torch.cuda.is_available()` is False, or the first operation on the GPU raises.

Why it happens: the code of the error says more; see the detail of the finding.

How to fix it: follow the finding above this one; without one, what the finding says of its error code. A restart of
the container, then of the machine, are the last steps.

Source: CUDA error codes (cuda.h, driver_types.h); what torch answered in a child process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..findings import Check, Finding, Fix, Policy, Step
from ..fixes.torch import recheck_run
from ..snapshot import Missing, Snapshot, known, need
from ._errors import first_line
from ._seen import ALL_CAUSES
from ._torch import BROKEN_IMPORT, NO_CODE, OTHER_BUILD, cuda_build

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="torch cannot use the GPU",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=(*ALL_CAUSES, "cuda-init-failed", "driver-too-old-for-cuda-build", *NO_CODE, *OTHER_BUILD,
                   "ptx-newer-than-driver", "cudnn-dropped-old-gpu", *BROKEN_IMPORT, "torch-import-broken",
                   "nvidia-wheels-off-torch-pins"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails where torch was asked and did not compute on the GPU."""
    cuda_build(s)
    run = s.torch_run
    if known(run.imported) is False:
        return  # torch-import-broken
    if isinstance(run.cuda_available, Missing) and known(run.first_call_code) is None:
        need("torch_run.cuda_available", run.cuda_available)
    code, ran = known(run.first_call_code), known(run.kernel_ran)
    error = known(run.first_call_error) or known(run.kernel_error) or ""
    facts: dict[str, Any] = {"cuda_available": known(run.cuda_available), "first_call_code": code, "kernel_ran": ran}
    row = m.cuda_error(code) if code else None
    detail = first_line(error)
    if row:
        facts["error"] = row.runtime_name or row.driver_name
        detail = f"CUDA answers {code} ({facts['error']}: {row.message}). {row.causes}"
    fixes = (_fix(s, row.first_fix if row else ""),)
    if code or known(run.cuda_available) is False:
        yield CHECK.fail("torch finds no usable GPU", detail or "torch.cuda.is_available() is False.", facts=facts,
                         fixes=fixes)  # fmt: skip
    elif ran is False:
        yield CHECK.fail("torch sees the GPU, but a small kernel on it fails", detail, facts=facts, fixes=fixes)
    elif ran is None and known(run.cuda_available) is None:
        need("torch_run.kernel_ran", run.kernel_ran)


def _fix(s: Snapshot, first_fix: str) -> Fix:
    text = f"{first_fix[0].upper()}{first_fix[1:]}." if first_fix else _RESTART
    step = Step(text=text, where="shell", changes=recheck_run(s))
    return Fix(id="by-error-code", title="What this error asks for", steps=(step,))


_RESTART = (
    "Stop other programs on the GPU and start this shell or container again; if that does not help, reboot the host."
)
