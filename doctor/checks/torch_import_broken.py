"""PyTorch is installed but cannot be imported.

What is wrong: `import torch` raises an error, crashes Python, or hangs. The message is in the finding.

Symptoms: any program that uses PyTorch fails when it imports `torch`.

Why it happens: a library that is missing or has the wrong version (see the findings above this one, if there are any),
an interrupted installation, a wheel for a different architecture (aarch64) or Python version, a disk or network file
system that does not respond, or too little memory.

How to fix it: follow the finding above this one; if there is none, reinstall the same version of `torch`.

What was examined: what Python printed in a child process, and whether that process was still making progress (CPU time,
page-ins, bytes read). An import that is still reading or computing, or has no core to run on, gets five times as long.
If that is not enough, the result is UNKNOWN, the finding names what the import was waiting for, and nothing is reported
as broken. --timeout gives the import more time.

Source: what Python printed in a child process.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libraries import reinstall_torch
from ..snapshot import Snapshot, known, need
from ._errors import first_line
from ._torch import BROKEN_IMPORT, REPLACED, installed

CHECK = Check(
    __name__,
    title="torch cannot be imported",
    sound="torch can be imported",
    severity="critical",
    layer="python",
    tags=("torch", "python"),
    downstream_of=(
        *BROKEN_IMPORT,
        *REPLACED,
        "nvidia-wheels-off-torch-pins",
        "python-version-without-wheel",
        "torch-companion-mismatch",
        "driver-not-answering",
        "libcuda-stub-loaded",
    ),
    needs_gpu=False,
)


_HOW = {
    "raised": "`import torch` raises an error",
    "crash": "`import torch` crashes Python",
    "hang": "`import torch` hangs",
}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the import was tried and did not succeed."""
    version = installed(s)
    if need("torch_run.imported", s.torch_run.imported):
        return
    fault = known(s.torch_run.import_fault) or "raised"
    error = known(s.torch_run.import_error) or ""
    detail = first_line(error, 600) or "There was no error message."
    if fault == "hang":
        detail = f"{detail.rstrip('.')}. At the end it was neither computing nor reading: it was waiting for something "
        detail += "that never arrived."
    fix = reinstall_torch(s, m)
    yield CHECK.fail(
        f"{_HOW[fault]} (torch {version})",
        detail,
        facts={"torch": version, "fault": fault, "error": error[:2000]},
        fixes=(fix,),
    )
