"""CUDA fails to initialize: cuInit returns an error, no device is listed, or the driver's libcuda is missing.

What is wrong: cuInit is the first call of every CUDA program. It returns an error, or the driver runs but there is no
libcuda.so.1 to call, so no program can use the GPU.

Symptoms: `torch.cuda.is_available()` is False; `Unexpected error from cudaGetDeviceCount()` with the error code; `Found
no NVIDIA driver` while nvidia-smi works.

Why it happens: usually, another finding names the cause, and this one is only a consequence. If this is the only
finding, the error code is known but its cause is not. If libcuda is missing, only some of the driver's packages were
installed (libcuda is in libcuda1 on Debian, in libnvidia-compute-* on Ubuntu) or mounted into the container.

How to fix it: follow the advice for the error code, then restart the container or the host, which clears most bad
driver states.

Source: CUDA Driver API, CUresult.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.restart import install_libcuda, restart
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import ALL_CAUSES, absent, hidden_on_purpose, is_wsl

CHECK = Check(
    __name__,
    title="CUDA fails to initialize",
    sound="CUDA starts (cuInit)",
    severity="critical",
    layer="libraries",
    tags=("cuda",),
    downstream_of=tuple(i for i in ALL_CAUSES if i != "exclusive-compute-mode"),
)


CUDA_NO_DEVICE = 100


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if cuInit returns anything but 0."""
    if absent(s.driver.libcuda_path) and absent(s.driver.cu_init):
        if not _only_libcuda_missing(s):
            raise Skip("libcuda was not found", without="gpu")
        yield CHECK.fail(
            "CUDA fails to initialize: the driver runs, but its libcuda.so.1 is missing",
            "NVML works and lists the GPU, but libcuda.so.1 is neither on the loader's path nor in a driver folder.",
            facts={"nvml_init": 0, "libcuda": None},
            fixes=install_libcuda(s),
        )
        return
    code = need("driver.cu_init", s.driver.cu_init)
    if code in (0, CUDA_NO_DEVICE) and hidden_on_purpose(s, p):
        raise Skip("CUDA_VISIBLE_DEVICES hides every GPU, and none is expected")
    if code == 0:
        if s.driver.cuda_devices == () and (p.gpu_wanted or bool(known(s.gpus))):
            yield CHECK.fail("CUDA starts, but lists no GPU", facts={"cu_init": 0, "cuda_devices": 0}, fixes=restart(s))
        return
    row = m.cuda_error(code)
    name = known(s.driver.cu_init_name) or (row.driver_name if row else "")
    title = f"CUDA fails to initialize: cuInit returns {code}{f' ({name})' if name else ''}"
    detail = f"{row.message[:1].upper()}{row.message[1:]}." if row and row.message else ""
    if row and row.causes:
        detail += f" Usual causes: {row.causes}."
    if row and row.first_fix:
        detail += f" What to try: {row.first_fix}."
    if container_kind(s):
        detail += " Try the same image on another host to find out whether the host or the image is at fault."
    yield CHECK.fail(title, detail.strip(), facts={"cu_init": code, "name": name}, fixes=restart(s))


def _only_libcuda_missing(s: Snapshot) -> bool:
    """NVML works and lists a GPU, there is no libcuda anywhere, and no other check says why."""
    if known(s.driver.nvml_init) != 0 or not known(s.gpus) or known(s.torch_run.cuda_available):
        return False
    if is_wsl(s) or known(s.container.kind) in (None, "apptainer"):
        return False  # wsl-version-without-gpu, apptainer-without-nv
    if any(f.found_by == "elsewhere" and not f.stub for f in known(s.driver.libcuda_candidates) or ()):
        return False  # driver-libs-not-on-loader-path
    capabilities = known(s.container.driver_capabilities) or ""
    return (
        not container_kind(s) or "compute" in capabilities or "all" in capabilities
    )  # else container-driver-capabilities-missing
