"""The driver's libcuda is on this machine, in a folder that the loader does not search.

What is wrong: the libraries exist (for example in /usr/local/nvidia/lib64 or /usr/lib/wsl/lib), but programs look
for libcuda.so.1 only on LD_LIBRARY_PATH, in the loader's cache and in the default folders.

Symptoms: `Found no NVIDIA driver on your system` although the GPU's device nodes exist; `libcuda.so.1: cannot open
shared object file`.

Why it happens: GKE and some other clusters mount the driver at /usr/local/nvidia and rely on the LD_LIBRARY_PATH of
CUDA base images; other images do not set it. The same happens on NixOS, and in WSL when /usr/lib/wsl/lib is no longer
on the path.

How to fix it: put that folder on LD_LIBRARY_PATH, or add it to a file in /etc/ld.so.conf.d and run ldconfig.

Source: ld.so(8); GKE documentation, running GPUs in Standard node pools, about the CUDA libraries.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.libcuda import folder_of, prefer_folder
from ..snapshot import Snapshot, known, need
from ._seen import DRIVERLESS, absent

CHECK = Check(
    __name__,
    title="The driver's libraries are not on the loader's path",
    sound="The loader finds the driver's libraries",
    severity="critical",
    layer="libraries",
    tags=("cuda", "loader"),
    downstream_of=(*DRIVERLESS, "apptainer-without-nv"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the loader finds no libcuda (or only a stub) and there is one in a driver folder it does not search."""
    if not absent(s.driver.libcuda_path) and known(s.driver.libcuda_stub) is not True:
        need("driver.libcuda_path", s.driver.libcuda_path)
        return
    files = need("driver.libcuda_candidates", s.driver.libcuda_candidates)
    found = next((f for f in files if f.found_by == "elsewhere" and not f.stub), None)
    if found is None:
        raise Skip("no libcuda from a driver was found anywhere", without="gpu")
    folder = folder_of(found.path)
    yield CHECK.fail(
        f"The driver's libcuda is in {folder}, where the loader does not look",
        f"{found.path} exists, but the loader cannot find libcuda.so.1 on LD_LIBRARY_PATH, in its cache or in the "
        "default folders.",
        facts={"path": found.path, "version": known(found.version)},
        subject=found.path,
        fixes=(prefer_folder(s, found, f"Put {folder} on the loader's path"),),
    )
