"""A Linux NVIDIA driver is installed inside WSL and hides the libraries that Windows supplies.

What is wrong: WSL 2 uses the Windows driver, whose libcuda and libnvidia-ml are in /usr/lib/wsl/lib. The loader picks
the Linux driver's libraries instead, which look for a kernel module that cannot exist in WSL.

Symptoms: `nvidia-smi has failed because it couldn't communicate with the NVIDIA driver`; `Driver Not Loaded`;
`cuInit` 100; undefined symbols in libcuda.

Why it happens: nvidia-driver-*, cuda-drivers or the metapackage `cuda` was installed inside WSL.

How to fix it: remove these packages; install `cuda-toolkit` if you need a toolkit. The Windows driver and nvidia-smi
inside WSL have different version numbers by design; that is not a fault.

Source: docs.nvidia.com/cuda/wsl-user-guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.windows import remove_linux_driver
from ..snapshot import Missing, Snapshot, known, need
from ._seen import is_compat, version_numbers

CHECK = Check(
    __name__,
    title="A Linux driver is installed inside WSL",
    sound="No Linux driver is interfering inside WSL",
    severity="critical",
    layer="driver",
    tags=("wsl", "driver"),
    downstream_of=("wsl-version-without-gpu",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in WSL 2 if CUDA or NVML does not work and its library comes from a Linux driver."""
    if need("host.wsl", s.host.wsl) != 2:
        raise Skip("not in WSL 2")
    d = s.driver
    if d.cu_init == 0 and (d.nvml_init == 0 or isinstance(d.nvml_init, Missing)):
        return
    loaded = [
        (path, known(version))
        for path, version in (
            (known(d.libcuda_path), d.libcuda_version),
            (known(d.nvml_library_path), d.nvml_library_version),
        )
        if path and "/wsl/" not in path and not is_compat(s, path)
    ]
    wrong = [(path, version) for path, version in loaded if version and version_numbers(version)]
    if not wrong or d.libcuda_stub is True:
        need("driver.libcuda_path", d.libcuda_path)
        return
    path, version = wrong[0]
    files = known(d.libcuda_candidates) or ()
    windows = next((f for f in files if "/wsl/" in f.path and not f.stub), None)
    yield CHECK.fail(
        "A Linux NVIDIA driver inside WSL hides the Windows driver's libraries",
        f"The loader picks {path} (Linux driver {version}); in WSL it must use the library in /usr/lib/wsl/lib.",
        facts={"path": path, "version": version},
        subject=path,
        fixes=remove_linux_driver(s, windows),
    )
