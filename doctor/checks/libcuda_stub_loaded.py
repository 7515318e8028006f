"""The libcuda that is loaded is the toolkit's link-time stub, not the driver's library.

What is wrong: CUDA toolkits come with an empty libcuda for linking on machines without a driver (lib64/stubs). Programs
that load it at run time get a driver that does nothing.

Symptoms: `CUDA driver is a stub library` (CUDA error 34, CUDA_ERROR_STUB_LIBRARY).

Why it happens: a stubs folder is on LD_LIBRARY_PATH or in the loader's configuration (devel images, module files, conda
builds), often with a handmade symlink libcuda.so.1; or the container was started without the GPU, so the stub is the
only libcuda in it.

How to fix it: remove the stubs folder from LD_LIBRARY_PATH; use it at link time only (LIBRARY_PATH, -L).

A stubs folder on the path is harmless if the driver's library is found first; then it is only a note.

Source: CUDA Driver API, CUDA_ERROR_STUB_LIBRARY; CUDA Installation Guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.libcuda import drop_folder, folder_of, library_path
from ..snapshot import Snapshot, known, need
from ._seen import DRIVERLESS, NOT_GIVEN, absent, real_libcudas

CHECK = Check(
    __name__,
    title="A stub libcuda is loaded",
    sound="The loaded libcuda is the real one, not a stub",
    severity="critical",
    layer="libraries",
    tags=("cuda", "loader"),
    downstream_of=(*DRIVERLESS, *NOT_GIVEN, "container-driver-capabilities-missing"),
)

CUDA_STUB_LIBRARY = 34


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by what the loaded libcuda is, or by CUDA's code 34."""
    code = known(s.driver.cu_init)
    if code != CUDA_STUB_LIBRARY and known(s.driver.libcuda_stub) is not True:
        folders = [f for f in known(s.cuda.stub_directories) or () if f in library_path(s)]
        if absent(s.driver.libcuda_path):
            raise Skip("libcuda was not found", without="gpu")
        if code != 0:  # a stub never returns 0
            need("driver.libcuda_stub", s.driver.libcuda_stub)
        for folder in folders:
            yield CHECK.remark(f"{folder} is on LD_LIBRARY_PATH, but the real libcuda is found first", subject=folder)
        return
    path = known(s.driver.libcuda_path) or ""
    stubs = [f.path for f in known(s.driver.libcuda_candidates) or () if f.stub]
    folder = folder_of(path if not stubs else stubs[0])
    real = next(iter(real_libcudas(s)), None)
    detail = f"The loader picks {path or 'a stub'}, which is only for linking."
    if code == CUDA_STUB_LIBRARY:
        detail += " CUDA returns error 34 (stub library)."
    detail += f" The driver's library is {real.path}." if real else _others(s)
    yield CHECK.fail(
        "The loaded libcuda is a link-time stub",
        detail,
        facts={"libcuda_path": path, "cu_init": code},
        subject=path,
        fixes=(drop_folder(s, folder or "/usr/local/cuda/lib64/stubs", "the stubs folder", real),),
    )


def _others(s: Snapshot) -> str:
    """What else the loader could find, where none is the driver's; empty if what it finds is unknown."""
    files = known(s.driver.libcuda_candidates)
    if files is None:
        return ""
    compat = next((f.path for f in files if not f.stub and f.found_by != "elsewhere"), "")
    if compat:
        return f" The loader's path also has {compat}, from cuda-compat, but not the driver's own libcuda."
    return " No other libcuda is on the loader's path."
