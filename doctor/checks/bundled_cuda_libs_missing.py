"""CUDA libraries that torch was linked with are missing.

What is wrong: torch's own libraries need others (libcudart.so.13, libcublas.so.12, libcudnn.so.9 ...) that neither the
nvidia-* wheels next to torch nor the loader's path provides.

Symptoms: `ImportError: libcudart.so.13: cannot open shared object file`, `libnvrtc.so.*[0-9] not found in the
system path`, `libcudnn.so.9: cannot open shared object file`.

Why it happens: torch was installed with `--no-deps`, or from a lock file or with a resolver that skipped the nvidia-*
wheels; it was copied from another image in a multi-stage Dockerfile; or an nvidia-* wheel was removed because of
another package.

How to fix it: install exactly the wheel versions that torch pins; the finding shows the command. A CUDA toolkit on the
system is not needed and does not replace them.

Source: ELF DT_NEEDED of torch's libraries; torch's METADATA.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..findings.patterns import lazy
from ..fixes.libraries import restore_libraries
from ..snapshot import Snapshot, known, need
from ._errors import first_line, import_failed, missing_library, texts
from ._torch import REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="CUDA libraries that torch needs are missing",
    sound="No CUDA library that torch needs is known to be missing",
    severity="critical",
    layer="libraries",
    tags=("torch", "libraries"),
    downstream_of=(*REPLACED, "library-files-damaged", "torch-installed-twice", "user-site-shadows-packages"),
    needs_gpu=False,
)


_DRIVERS = lazy(r"lib(cuda|nvidia-[\w-]+|nvcuvid)\.so")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if a CUDA library that torch needs is nowhere; what torch itself reports comes first."""
    cuda = cuda_build(s)
    errors = texts(s)
    named = missing_library(errors)
    if import_failed(s) is False and not named:
        return  # it imports, so its libraries are found
    listed = known(s.torch.missing_libraries)
    gone = [name for name in listed or () if not _DRIVERS.match(name)]
    if named and named not in gone:
        gone.insert(0, named)
    if gone:
        detail = f"torch {known(s.torch.version)}, built with CUDA {cuda}, loads them from wheels installed next to it."
        if named:
            detail += f" Python reports: {first_line(errors)}"
        yield CHECK.fail(
            f"CUDA libraries that torch needs are missing: {', '.join(gone[:6])}",
            detail,
            facts={"missing_libraries": gone, "torch_cuda": cuda},
            fixes=restore_libraries(s, m, gone),
        )
    elif listed is None and import_failed(s) is None:
        need("torch.missing_libraries", s.torch.missing_libraries)
