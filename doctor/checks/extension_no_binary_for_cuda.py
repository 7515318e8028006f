"""An extension's package has no library for the CUDA version that torch was built with.

What is wrong: bitsandbytes ships one library per CUDA version, but none for this one; or an extension needs the CUDA
runtime of a different major version (libcudart.so.11.0 with a CUDA 12 torch), which is missing.

Symptoms: `CUDA SETUP: Required library version not found: libbitsandbytes_cuda124.so`, `Could not find the
bitsandbytes CUDA binary`, `ImportError: libcudart.so.11.0: cannot open shared object file`.

Why it happens: the extension is older than the CUDA version of this torch, or was installed for a different torch; or
BNB_CUDA_VERSION names a version that the package does not contain.

How to fix it: install a newer release of the extension (bitsandbytes 0.50 and newer can also use the nearest library of
the same CUDA major version); see the command. You do not need to install a CUDA toolkit.

Source: names of bitsandbytes' libraries; ELF DT_NEEDED of the extension; bitsandbytes/cextension.py.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy
from ..findings.patterns import lazy
from ..fixes.extensions import another, cudart_major, remove, upgrade
from ..fixes.selection import unset
from ..snapshot import Distribution, Snapshot, known, need
from ._errors import texts
from ._extensions import bitsandbytes_library, bitsandbytes_versions
from ._linked import links_torch
from ._torch import OTHER_BUILD, REPLACED, cuda_build

CHECK = Check(
    __name__,
    title="An extension has no library for this CUDA version",
    sound="No extension was found that needs a library for a different CUDA version",
    severity="error",
    layer="extension",
    tags=("extension", "libraries"),
    downstream_of=(
        *OTHER_BUILD,
        *REPLACED,
        "extension-built-for-other-torch",
        "image-torch-replaced",
        "torch-installed-twice",
    ),
    needs_gpu=False,
    source="github.com/bitsandbytes-foundation/bitsandbytes: cextension.py",
)

_COMPANIONS = ("torchvision", "torchaudio", "torchtext", "torchcodec")
_ERROR = lazy(r"Required library version not found: (libbitsandbytes_cuda\d+\w*\.so)")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if bitsandbytes or a torch extension has nothing for torch's CUDA."""
    cuda = cuda_build(s)
    error = _ERROR.search(texts(s))
    libraries = need("python.extensions", s.python.extensions) if not error else known(s.python.extensions) or ()
    yield from _bitsandbytes(s, cuda, error[1] if error else "")
    loaded = {item.soname for item in known(s.cuda.libraries) or ()}
    seen: set[str] = set()
    for library in libraries:
        major = cudart_major(library)
        if library.package in seen or library.package in _COMPANIONS or not links_torch(library) or major is None:
            continue
        if major == numbers(cuda)[0]:
            continue
        seen.add(library.package)
        soname = next(name for name in library.needed if name.startswith("libcudart.so"))
        title = f"{library.package} was built for CUDA {major}, but torch for CUDA {cuda}"
        detail = f"{library.path} needs {soname}"
        facts = {"package": library.package, "needs": soname, "torch_cuda": cuda, "library": library.path}
        found = s.python.distribution(library.package)
        fixes = another(s, found) if isinstance(found, Distribution) else (remove(s, library.package),)
        if soname in loaded:
            yield CHECK.warn(
                title,
                detail + ", which the loader finds. Two CUDA runtimes would be loaded into one process.",
                facts=facts,
                subject=library.package,
                fixes=fixes,
            )
        else:
            yield CHECK.fail(title, detail + ".", facts=facts, subject=library.package, fixes=fixes)


def _bitsandbytes(s: Snapshot, cuda: str, error: str) -> Findings:
    have = bitsandbytes_versions(s)
    d = s.python.distribution("bitsandbytes")
    version = d.version if isinstance(d, Distribution) else ""
    if not error and (not have or bitsandbytes_library(s) is not None):
        return
    forced = s.host.env("BNB_CUDA_VERSION")
    held = ", ".join(f"{a}.{b}" for a, b in sorted(have))
    facts = {"bitsandbytes": version, "torch_cuda": cuda, "held": [f"{a}.{b}" for a, b in sorted(have)]}
    detail = f"Its libraries are for CUDA {held}." if held else f"bitsandbytes reports that {error} is missing."
    fixes: tuple[Fix, ...] = (upgrade(s, "bitsandbytes", spec="bitsandbytes>=0.50"), remove(s, "bitsandbytes"))
    if isinstance(forced, str) and forced:
        title = f"BNB_CUDA_VERSION={forced} selects a library that bitsandbytes {version} does not contain"
        fixes = (unset(s, "BNB_CUDA_VERSION"), *fixes)
    else:
        title = f"bitsandbytes {version} has no library for CUDA {cuda}".replace("  ", " ")
    yield CHECK.fail(title, detail, facts=facts, subject="bitsandbytes", fixes=fixes)
