"""Triton cannot find a libcuda to link its helper library against.

What is wrong: Triton compiles a small C library at run time and links it with libcuda. It gets the folder from
`ldconfig -p`, or searches LD_LIBRARY_PATH if ldconfig lists none. Triton 2 needs the name libcuda.so there; Triton 3
also accepts libcuda.so.1. The driver's library can still be loaded, so PyTorch works.

Symptoms: `AssertionError: libcuda.so cannot found!`, `/usr/bin/ld: cannot find -lcuda`, from torch.compile or a
Triton kernel.

Why it happens: containers get libcuda.so.1 without the symlink that a development package would create; or the
folder (/.singularity.d/libs, /usr/lib64-nvidia, /usr/local/nvidia/lib64) is not in the loader's cache.

How to fix it: set TRITON_LIBCUDA_PATH to the folder (Triton 2.2 and newer), or run ldconfig on it, or create the
symlink.

This is a warning, because PyTorch works without it; it is a failure if the error message was seen.

Source: triton/backends/nvidia/driver.py (libcuda_dirs), triton/common/build.py of 2.x.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.triton import link_libcuda
from ..snapshot import LibraryFile, Snapshot, known, need
from ._errors import first_line, texts
from ._jit import triton
from ._torch import cuda_build, has_gpu

CHECK = Check(
    __name__,
    title="Triton cannot find a libcuda to link with",
    sound="No missing libcuda link was found for Triton",
    severity="warning",
    layer="extension",
    tags=("torch", "extension", "loader"),
    downstream_of=(
        "no-nvidia-gpu",
        "driver-libs-not-on-loader-path",
        "driver-not-installed",
        "container-no-gpu-flag",
        "container-driver-capabilities-missing",
        "k8s-runtimeclass-missing",
        "apptainer-without-nv",
    ),
)

_ERRORS = ("libcuda.so cannot found", "cannot find -lcuda")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if neither ldconfig nor LD_LIBRARY_PATH gives Triton the name that it links."""
    text = texts(s)
    failed = any(words in text for words in _ERRORS)
    need("python.distributions", s.python.distributions)
    found = triton(s)
    if found is None and not failed:
        raise Skip("Triton is not installed", without="triton")
    if not failed:
        cuda_build(s)
        if known(s.host.system) not in ("linux", None):
            raise Skip("only checked on Linux")
        if not has_gpu(s):
            raise Skip("there is no GPU to compile for", without="gpu")
        if isinstance(path := s.host.env("TRITON_LIBCUDA_PATH"), str) and path:
            raise Skip("TRITON_LIBCUDA_PATH names the folder")
    candidates = (
        need("driver.libcuda_candidates", s.driver.libcuda_candidates)
        if not failed
        else (known(s.driver.libcuda_candidates) or ())
    )
    name = "libcuda.so.1" if found is None or numbers(found.version)[:1] >= (3,) else "libcuda.so"
    there = [c for c in candidates if c.soname == "libcuda.so.1" and c.size > 0]
    if not failed and (not there or _linkable(candidates, name)):
        return
    facts = {"triton": found.version if found else None, "needs": name, "found": [c.path for c in candidates]}
    version = f"Triton {found.version}" if found else "Triton"
    title = f"{version} cannot find {name} to link with"
    folder = there[0].path.rpartition("/")[0] if there else "/usr/lib/x86_64-linux-gnu"
    detail = f"The driver's library is {there[0].path}. " if there else ""
    detail += (
        "Triton looks for it with ldconfig -p and in LD_LIBRARY_PATH. Only torch.compile and Triton kernels need it."
    )
    fixes = link_libcuda(s, folder, name, found.version if found else "", _recheck(s))
    if failed:
        yield CHECK.fail(title, f"{detail} Python says: {first_line(text)}", facts=facts, severity="error", fixes=fixes)
    else:
        yield CHECK.warn(title, detail, facts=facts, direct=False, fixes=fixes)


def _linkable(candidates: tuple[LibraryFile, ...], name: str) -> bool:
    """Whether the name is in a folder that the cache lists, or (if the cache lists none) in LD_LIBRARY_PATH."""
    files = {c.path: c for c in candidates if c.size > 0}
    cached = {c.path.rpartition("/")[0] for c in candidates if c.found_by == "ld.so.cache"}
    shown = {c.path.rpartition("/")[0] for c in candidates if c.found_by == "LD_LIBRARY_PATH"}
    return any(f"{folder}/{name}" in files for folder in (*cached, *shown))


def _recheck(s: Snapshot) -> dict[str, object]:
    """What torch said about it has to be checked again."""
    from ..fixes.where import recheck_run

    return recheck_run(s) if any(words in texts(s) for words in _ERRORS) else {}
