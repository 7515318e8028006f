"""PyTorch has no code for this GPU because the GPU is newer than the build.

What is wrong: machine code for one GPU generation does not run on the next one, and this PyTorch has neither machine
code (SASS) that the GPU can run nor PTX that the driver could compile for it.

Symptoms: `CUDA error: no kernel image is available for execution on the device`, or the warning `... with CUDA
capability sm_120 is not compatible with the current PyTorch installation`. `torch.cuda.is_available()` is still True:
it does not check architectures.

Why it happens: an old version pin or an old image is used with a new GPU. An RTX 50 (compute capability 12.0) needs a
CUDA 12.8 build of PyTorch 2.7 or newer; an H100 (9.0) needs PyTorch 2.1.

How to fix it: install a build that has code for the GPU; see the command in the finding.

Machine code for X.y runs on X.z if z >= y: an L4 (8.9) runs 8.6 code, so 8.9 is never in PyTorch's list and does
not need to be.

Order of evidence: first a kernel that ran on this GPU (or that CUDA had no image for); then PyTorch's own list of
architectures together with the published build; then the contents of its libraries. The strongest evidence wins, and a
note names what contradicts it. If PyTorch's list and the published build differ, the result is unknown.

Source: CUDA C++ Programming Guide, binary compatibility; contents of torch's own libraries.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot
from ._no_code import about_gpus

CHECK = Check(
    __name__,
    title="torch has no code for this newer GPU",
    sound="The GPU is not too new for this torch build",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=("no-nvidia-gpu", "jetson-generic-wheel", "torch-installed-twice", "user-site-shadows-packages"),
    source="docs.nvidia.com/cuda/cuda-c-programming-guide: binary compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU newer than all of torch's code that no code reaches."""
    yield from about_gpus(CHECK, s, m, older=False)
