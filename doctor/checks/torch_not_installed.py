"""PyTorch is not installed in the environment that was examined.

What is wrong: there is no `torch` in the site-packages folders of the chosen Python. This is not a fault of the
machine; the driver and GPU are still checked.

Symptoms: `ModuleNotFoundError: No module named 'torch'`.

Why it happens: it was never installed, or it was installed into a different environment (the report lists others that
have `torch`), or `pip` belongs to a different Python than `python`.

How to fix it: the command in the finding installs the build that fits this GPU, driver and Python. A plain `pip install
torch` may not: from 2.11 on it gives a CUDA 13 build, which needs driver 580 or newer and a Turing or newer GPU.

If there is no GPU and none is expected (`--expect any`), the command installs the CPU build from PyTorch's own index,
because the default wheels for Linux pull in gigabytes of CUDA libraries.

This is a warning; with `--require torch` it is a failure, and with `--expect none` a note.

Source: PyTorch's release matrix and wheel index (download.pytorch.org).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.compatible import compatible_torch
from ..fixes.cpu_torch import cpu_torch
from ..snapshot import Missing, Snapshot, known, need
from ._torch import gpu_needed

CHECK = Check(
    __name__,
    title="torch is not installed",
    sound="torch is installed",
    severity="error",
    layer="python",
    tags=("torch",),
    downstream_of=("no-nvidia-gpu", "python-version-without-wheel"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if torch was looked for and not found."""
    if not isinstance(s.torch.version, Missing):
        return
    if s.torch.version.reason != "absent":
        need("torch.version", s.torch.version)
    where = known(s.python.patient.prefix) or known(s.python.patient.executable) or "the chosen Python"
    because = known(s.python.chosen_because)
    detail = f"Looked in {where} ({because})." if because else f"Looked in {where}."
    others = [(known(e.prefix) or known(e.executable), known(e.torch_version)) for e in known(s.python.others) or ()]
    if others:
        detail += (
            " torch is installed in other environments: "
            + ", ".join(f"{environment} (torch {v or '?'})" for environment, v in others)
            + "."
        )
    # An image that is built without a GPU is for hosts that have one; where any machine will do, this one has none.
    cuda = compatible_torch(s, m) if gpu_needed(s, p) or p.expect.kind == "none" else None
    cpu = None if gpu_needed(s, p) else cpu_torch(s, m)
    fixes = tuple(fix for fix in (cuda, cpu) if fix)
    facts = {"environment": where, "others": [environment for environment, _ in others]}
    if "torch" in p.require:
        yield CHECK.fail("torch is required but not installed", detail, facts=facts, fixes=fixes)
    elif p.expect.kind == "none":
        yield CHECK.remark("torch is not installed", detail, facts=facts)
    else:
        yield CHECK.warn("torch is not installed", detail, facts=facts, fixes=fixes)
