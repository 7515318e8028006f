"""PyTorch has no code for this GPU because newer builds dropped its generation.

What is wrong: this PyTorch has no machine code (SASS) that the GPU can run, and the GPU is older than the ones it has
code for.

Symptoms: `CUDA error: no kernel image is available for execution on the device`, or the warning `... with CUDA
capability sm_61 is not compatible with the current PyTorch installation`. `torch.cuda.is_available()` is still True.

Why it happens: builds for CUDA 12.8 and newer have no code for Maxwell and Pascal (5.x, 6.x), and from PyTorch 2.11 on
none for Volta (7.0); CUDA 13 cannot compile for them. From PyTorch 2.11 on, a plain `pip install torch` gives a CUDA 13
build.

How to fix it: install the same PyTorch built for CUDA 12.6 (PyTorch 2.14 is the last version with such a build), or an
older PyTorch; see the command in the finding. PyTorch's own warning may recommend a build that does not have the code
either.

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
    title="torch no longer has code for this older GPU",
    sound="torch has not dropped this GPU's architecture",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=("no-nvidia-gpu", "jetson-generic-wheel", "torch-installed-twice", "user-site-shadows-packages"),
    source="docs.nvidia.com/cuda/cuda-c-programming-guide: binary compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU older than torch's newest code that no code reaches."""
    yield from about_gpus(CHECK, s, m, older=True)
