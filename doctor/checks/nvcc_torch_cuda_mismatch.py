"""nvcc's CUDA major version differs from PyTorch's, and an extension is to be compiled.

What is wrong: an extension is compiled with the toolkit's headers and runs with PyTorch's CUDA libraries. PyTorch's
build tool refuses a toolkit of another major version; another minor version of the same major works.

Symptoms: `RuntimeError: The detected CUDA version (12.2) mismatches the version that was used to compile PyTorch
(11.7)`.

Why it happens: the system's toolkit was chosen to match the driver, the `torch` wheel was chosen for other reasons.

How to fix it: use a toolkit of PyTorch's CUDA major (export CUDA_HOME), or install one beside the other: several can be
installed side by side. Or use a prebuilt wheel, which needs no toolkit.

Judged with `--building` only: to run PyTorch, the toolkit's version does not matter.

Source: torch/utils/cpp_extension.py (_check_cuda_version).
"""

from __future__ import annotations

from compat_matrix.versions import minor, numbers

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.toolchain import nvcc
from ..snapshot import Missing, Snapshot, need
from ._torch import OTHER_BUILD, REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="nvcc and torch are of different CUDA versions",
    sound="nvcc and torch have the same CUDA version",
    severity="error",
    layer="extension",
    tags=("build", "torch"),
    downstream_of=(*OTHER_BUILD, *REPLACED, "torch-installed-twice"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where the majors differ; a remark where the minors do."""
    if not p.building:
        raise Skip("nothing is compiled here (say --building where it is)")
    cuda = cuda_build(s)
    version = s.cuda.nvcc_version
    if isinstance(version, Missing) and version.reason == "absent":
        raise NotExamined("there is no nvcc")
    have = need("cuda.nvcc_version", version)
    facts = {"nvcc": have, "torch_cuda": cuda}
    short = ".".join(cuda.split(".")[:2])
    title = f"nvcc is CUDA {have}, torch is built with {cuda}"
    if numbers(have)[:1] != numbers(cuda)[:1]:
        detail = "torch's build tool compares the majors and stops."
        yield CHECK.fail(title, detail, facts=facts, fixes=nvcc(s, m, short))
    elif minor(have) != minor(cuda):
        yield CHECK.remark(title, "The same major: extensions can be built.", facts=facts)
