"""No NVIDIA kernel module exists for the running kernel.

What is wrong: the driver is installed, but its module was built for other kernels, not for the running one.

Symptoms: `nvidia-smi has failed because it couldn't communicate with the NVIDIA driver`; `modprobe: FATAL: Module
nvidia not found in directory /lib/modules/...`; CUDA finds no device, most often after an upgrade and a reboot.

Why it happens: the kernel was upgraded and the headers for it are not installed, so DKMS could not build the module; or
the build failed because the driver is too old for this kernel.

How to fix it: install the headers for the running kernel and have DKMS build the module (`dkms status` shows what is
built); or boot the previous kernel; or install a newer driver.

Source: dkms(8); NVIDIA driver installation guide. Read from modules.dep of the running kernel.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.kernel_module import build_module
from ..snapshot import Snapshot, known, need
from ._module import is_loaded

CHECK = Check(
    __name__,
    title="No NVIDIA module for the running kernel",
    sound="The NVIDIA module is built for the running kernel",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=("no-nvidia-gpu",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails on a host with driver libraries whose module is neither loaded nor built for the running kernel."""
    if is_loaded(s) or need("driver.module_built", s.driver.module_built):
        return
    kernel = known(s.host.kernel)
    yield CHECK.fail(
        f"The NVIDIA driver is installed but has no module for the running kernel{f' {kernel}' if kernel else ''}",
        "modprobe's list of modules for this kernel does not contain nvidia.",
        facts={"kernel": kernel, "module_built": False},
        fixes=build_module(s, m),
    )
