"""nvcc's CUDA major version differs from PyTorch's, which prevents compiling an extension.

What is wrong: an extension is compiled with the toolkit's headers and runs with PyTorch's CUDA libraries. PyTorch's
build tool rejects a toolkit with a different major version; a different minor version of the same major works.

Symptoms: `RuntimeError: The detected CUDA version (12.2) mismatches the version that was used to compile PyTorch
(11.7)`.

Why it happens: the system's toolkit was chosen to match the driver, but the `torch` wheel was chosen for other reasons.

How to fix it: use a toolkit with PyTorch's CUDA major version (export CUDA_HOME), or install one: several can be
installed side by side. Or use a prebuilt wheel, which needs no toolkit.

Checked only with `--building`, because the toolkit's version does not matter for running PyTorch.

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
    title="nvcc and torch have different CUDA versions",
    sound="nvcc and torch have the same CUDA version",
    severity="error",
    layer="extension",
    tags=("build", "torch"),
    downstream_of=(*OTHER_BUILD, *REPLACED, "torch-installed-twice"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where the majors differ; a note where the minors do."""
    if not p.building:
        raise Skip("nothing is being compiled here (use --building if something is)")
    cuda = cuda_build(s)
    version = s.cuda.nvcc_version
    if isinstance(version, Missing) and version.reason == "absent":
        raise NotExamined("nvcc was not found")
    have = need("cuda.nvcc_version", version)
    facts = {"nvcc": have, "torch_cuda": cuda}
    short = ".".join(cuda.split(".")[:2])
    title = f"nvcc is from CUDA {have}, but torch was built with CUDA {cuda}"
    if numbers(have)[:1] != numbers(cuda)[:1]:
        detail = "torch's build tool rejects a toolkit with a different major version."
        yield CHECK.fail(title, detail, facts=facts, fixes=nvcc(s, m, short))
    elif minor(have) != minor(cuda):
        yield CHECK.remark(title, "The major version is the same, so extensions can be built.", facts=facts)
