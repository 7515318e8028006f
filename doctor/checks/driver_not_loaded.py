"""The NVIDIA driver is installed, but its kernel module is not loaded.

What is wrong: the user-space libraries (libcuda, libnvidia-ml) are installed, but no nvidia kernel module is loaded
for them to talk to.

Symptoms: `nvidia-smi has failed because it couldn't communicate with the NVIDIA driver`; NVML code 9 (driver not
loaded); `cuInit` returns 100 (no device) or 999; `torch.cuda.is_available()` is False.

Why it happens: the kernel was upgraded and no module was built for it (headers missing, DKMS failed); Secure Boot
rejects an unsigned module; nouveau has claimed the card; the machine was not rebooted after the install; a container
image with driver libraries runs on a host without a driver.

How to fix it: run `modprobe nvidia` and read its output; build the module for the running kernel (linux-headers, dkms),
sign it or turn Secure Boot off, or reinstall the driver. If you are in a container, this has to be done on the host.

Source: NVML return code 9 NVML_ERROR_DRIVER_NOT_LOADED (nvml.h); NVIDIA driver installation guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.restart import load_module
from ..fixes.where import container_kind
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ._driver_gpu import graded
from ._seen import is_wsl, module_loaded, need_module_loaded, nvidia_cards

CHECK = Check(
    __name__,
    title="The NVIDIA kernel module is not loaded",
    sound="The driver is loaded",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=(
        "no-nvidia-gpu",
        "other-kernel-driver-bound",
        "wsl-version-without-gpu",
        "driver-not-answering",
        "kernel-module-not-built-for-kernel",
        "secure-boot-unsigned-module",
    ),
)

NVML_DRIVER_NOT_LOADED = 9
_NOT_DRIVEN = ("driver-dropped-gpu", "driver-too-old-for-gpu")
"""Ids that say why loading it would fail, if they cover every GPU."""


def _drives_none(s: Snapshot, m: Matrix) -> bool:
    """Whether the driver on disk supports no GPU here: then loading it fails with 'No such device'."""
    try:
        return all(gpu.grade.grade in ("too-new", "too-old") for gpu in graded(s, m))
    except (Skip, NeedsFact):
        return False


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the libraries are installed and the module is not loaded; NVML's own code 9 says the same."""
    if is_wsl(s):
        raise Skip("WSL: the kernel-mode driver is part of Windows")
    d = s.driver
    says_so = known(d.nvml_init) == NVML_DRIVER_NOT_LOADED and module_loaded(s) is not True
    if not says_so:
        if need_module_loaded(s):
            return
        libcuda = None if known(d.libcuda_stub) is True else known(d.libcuda_path)
        if libcuda is None and isinstance(d.nvml_library_path, Missing):
            if d.nvml_library_path.reason != "absent":
                need("driver.nvml_library_path", d.nvml_library_path)
            raise Skip("no driver libraries are installed", without="gpu")
    where = " on the host" if container_kind(s) else ""
    detail = f"Driver libraries are installed, but no nvidia kernel module is loaded{where}."
    if says_so:
        detail += " NVML returns 9 (driver not loaded)."
    cards = nvidia_cards(s)
    if cards:
        detail += f" The GPU at {cards[0].address} has no working driver."
    if known(s.host.secure_boot) is True:
        detail += " Secure Boot is on, so unsigned modules are rejected."
    facts = {"nvml_init": known(d.nvml_init), "modules": known(d.modules), "kernel": known(s.host.kernel)}
    yield CHECK.fail(
        "The NVIDIA driver is installed but its kernel module is not loaded",
        detail,
        facts=facts,
        fixes=load_module(s, m),
        downstream_of=(*CHECK.downstream_of, *(_NOT_DRIVEN if _drives_none(s, m) else ())),
    )
