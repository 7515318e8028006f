"""A CUDA extension has to be compiled, but nvcc is missing.

What is wrong: compiling needs the compiler from a CUDA toolkit. torch's wheels contain CUDA's libraries, but never
nvcc. Running torch does not require a toolkit, so this is checked only with `--building`.

Symptoms: `OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root`, `nvcc: not
found`, `error: command '/usr/local/cuda/bin/nvcc' failed: No such file or directory`.

Why it happens: runtime images contain no compiler; the toolkit is in an unusual place; or PATH or CUDA_HOME is lost
under sudo, in a service, or in an isolated build.

How to fix it: point CUDA_HOME at an installed toolkit, or install one that matches torch's CUDA version.

Source: torch/utils/cpp_extension.py.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.toolchain import nvcc
from ..snapshot import Missing, Snapshot, known, need

CHECK = Check(
    __name__,
    title="nvcc is missing, so CUDA code cannot be compiled",
    sound="nvcc is available",
    severity="error",
    layer="extension",
    tags=("build",),
    needs_gpu=False,
)

USUAL = "12.8"
"""The toolkit to recommend if neither torch nor the driver names one."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if something is to be compiled and nvcc would not be found."""
    if not p.building:
        raise Skip("nothing is being compiled here (use --building if something is)")
    version = s.cuda.nvcc_version
    if not isinstance(version, Missing):
        return
    if version.reason != "absent":
        need("cuda.nvcc_version", version)
    cuda = known(s.torch.cuda) or known(s.torch_run.cuda) or known(s.driver.cuda_version) or USUAL
    home = known(s.cuda.cuda_home)
    kits = [kit.path for kit in known(s.cuda.toolkits) or () if known(kit.nvcc)]
    detail = f"CUDA_HOME is {home}, which has no nvcc." if home else "Neither CUDA_HOME nor PATH leads to nvcc."
    if kits:
        detail += f" There is an nvcc in {', '.join(kits)}."
    facts = {"cuda_home": home, "nvcc_on_path": known(s.cuda.nvcc_on_path), "toolkits": kits}
    cuda = ".".join(cuda.split(".")[:2])
    yield CHECK.fail("nvcc was not found, so CUDA code cannot be compiled", detail, facts=facts, fixes=nvcc(s, m, cuda))
