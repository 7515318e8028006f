"""torch has no code for this GPU because newer builds left its generation out.

What is wrong: this torch holds no machine code (SASS) that the GPU runs, and the GPU is older than what it holds.

How it shows: `CUDA error: no kernel image is available for execution on the device`, or the warning `... with CUDA
capability sm_61 is not compatible with the current PyTorch installation`. `torch.cuda.is_available()` is still True.

Why it happens: builds for CUDA 12.8 and newer have no Maxwell and Pascal (5.x, 6.x), and since torch 2.11 no Volta
(7.0); CUDA 13 cannot compile for them. A plain `pip install torch` gives a CUDA 13 build since torch 2.11.

How to fix it: install the same torch built for CUDA 12.6 (torch 2.14 is the last that has it), or an older torch; see
the command in the finding. The advice inside torch's own warning may name a build that does not hold the code either.

Who is believed: a kernel that ran on this GPU (or that CUDA had no image for); then torch's own list of architectures
together with the published build; then the bytes of its libraries. The stronger one decides, and a remark tells who
says otherwise. Where torch's list and the published build differ, the answer is unknown.

Source: CUDA C++ Programming Guide, binary compatibility; bytes of torch's own libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy
from ..snapshot import Snapshot
from ._no_code import about_gpus

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="torch has no code for this older GPU any more",
    sound="torch has not dropped this GPU's architecture",
    severity="critical",
    layer="python",
    tags=("torch", "gpu"),
    downstream_of=("no-nvidia-gpu", "jetson-generic-wheel", "torch-installed-twice", "user-site-shadows-packages"),
    source="docs.nvidia.com/cuda/cuda-c-programming-guide: binary compatibility",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for each GPU older than torch's newest code that no code reaches."""
    yield from about_gpus(CHECK, s, m, older=True)
