"""nvcc rejects the host compiler: this gcc is newer than the toolkit supports.

What is wrong: nvcc passes the host part of the code to gcc. nvcc's headers stop the build with an error if that gcc is
newer than the last one that this toolkit supports.

Symptoms: `#error -- unsupported GNU version! gcc versions later than 12 are not supported!`.

Why it happens: a new Linux distribution with an older toolkit.

How to fix it: install an older gcc alongside this one and set CC and CXX to it (PyTorch passes CC on to nvcc), or use a
newer toolkit with the same CUDA major version. -allow-unsupported-compiler only silences the error.

Checked only with `--building`.

Source: crt/host_config.h of each toolkit.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.toolchain import GCC, c_compiler, gcc_in_use, gcc_limit, has_no_compiler, older_gcc
from ..snapshot import Missing, NeedsFact, Snapshot, need

CHECK = Check(
    __name__,
    title="nvcc does not accept this gcc",
    sound="The C++ compiler is not too new for nvcc",
    severity="error",
    layer="extension",
    tags=("build",),
    downstream_of=("cuda-toolkit-missing", "nvcc-torch-cuda-mismatch"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where gcc is newer than the toolkit's limit, or where gcc is missing."""
    if not p.building:
        raise Skip("nothing is being compiled here (use --building if something is)")
    compiler = s.host.env("CC")
    if isinstance(compiler, str) and compiler.strip() and not GCC.search(compiler.strip()):
        raise NotExamined(f"CC is set to {compiler.strip()}, whose version is unknown")
    if has_no_compiler(s):
        yield CHECK.fail(
            "No host compiler for nvcc was found",
            "nvcc needs gcc to compile host code.",
            facts={"gcc": None},
            fixes=(c_compiler(s),),
        )
        return
    version = s.cuda.nvcc_version
    if isinstance(version, Missing) and version.reason == "absent":
        raise NotExamined("nvcc was not found")
    nvcc = need("cuda.nvcc_version", version)
    gcc = gcc_in_use(s) or need("cuda.gcc_version", s.cuda.gcc_version)
    limit = gcc_limit(m, nvcc)
    if limit is None:
        raise NeedsFact("compat_matrix", Missing("absent", f"the newest gcc that CUDA {nvcc} supports is not listed"))
    if numbers(gcc)[:1] > (limit,):
        title = f"gcc {gcc} is newer than nvcc {nvcc} supports (up to gcc {limit})"
        yield CHECK.fail(title, "", facts={"gcc": gcc, "nvcc": nvcc, "limit": limit}, fixes=(older_gcc(s, limit),))
