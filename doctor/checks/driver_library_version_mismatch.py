"""The loaded kernel module and the driver's user-space libraries have different versions.

What is wrong: libnvidia-ml and libcuda work only with a kernel module of exactly the same version.

Symptoms: `Failed to initialize NVML: Driver/library version mismatch` (NVML code 18); CUDA error 803 or 804;
`nvidia-smi` fails right after a driver update.

Why it happens: packages were upgraded (often unattended), but the old module stays loaded until the next reboot; a
container was started before the upgrade; an image contains its own driver libraries.

How to fix it: reboot the host (or stop all GPU programs and reload the modules); then recreate the containers; hold the
driver packages so that they change only together with a reboot. If an image contains its own driver libraries, remove
them from the image.

A forward-compatibility libcuda (cuda-compat) is newer than the module by design, and inside WSL the versions differ
by design. Neither counts as a mismatch.

Source: NVML return code 18 NVML_ERROR_LIB_RM_VERSION_MISMATCH (nvml.h).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.restart import equal_packages, libraries_in_lxc, reload_module
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import absent, is_compat, is_wsl, same_version

CHECK = Check(
    __name__,
    title="The driver libraries do not match the kernel module",
    sound="The driver libraries match the kernel module",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=("container-image-ships-driver-libs", "driver-not-answering"),
)

NVML_MISMATCH = 18


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """NVML's code 18 decides; otherwise the module's version is compared with each loaded library's."""
    if is_wsl(s):
        raise Skip("WSL: the libraries come from the Windows driver and have different version numbers by design")
    d = s.driver
    module = known(d.kernel_version)
    libraries = {
        "libnvidia-ml": known(d.nvml_library_version),
        "libcuda": known(d.libcuda_version) if not is_compat(s, known(d.libcuda_path) or "") else None,
    }
    other = {
        name: version
        for name, version in libraries.items()
        if module and version and same_version(module, version) is False
    }
    says_so = known(d.nvml_init) == NVML_MISMATCH
    if not says_so and not other:
        if absent(d.kernel_version) or all(absent(f) for f in (d.nvml_library_path, d.libcuda_path)):
            raise Skip("there is no kernel module, or no library to compare it with", without="gpu")
        need("driver.kernel_version", d.kernel_version)
        if not any(libraries.values()):
            need("driver.nvml_library_version", d.nvml_library_version)
            need("driver.libcuda_version", d.libcuda_version)
        return
    facts = {"kernel_version": module, "nvml_init": known(d.nvml_init), **{f"{k}_version": v for k, v in other.items()}}
    versions = [version for version in libraries.values() if version]
    words = " and ".join(f"{name} is {version}" for name, version in sorted(other.items()))
    words = words or (f"the libraries are {versions[0]}" if versions else "the libraries have a different version")
    detail = f"The loaded kernel module is {module}, but {words}."
    if not module:
        own = f" ({versions[0]})" if versions else ""
        detail = f"The loaded kernel module has a different version than the libraries{own}."
    if says_so:
        detail += " NVML returns 18 (driver/library version mismatch)."
    if container_kind(s) not in ("", "lxc"):
        detail += " Either the host's driver changed after this container started, or the image contains driver "
        detail += "libraries."
    half = set(other) == {"libcuda"} and libraries["libcuda"] is not None and libraries["libnvidia-ml"] is not None
    fixes = (equal_packages(s),) if half and not container_kind(s) else reload_module(s)
    if container_kind(s) == "lxc":
        fixes = (libraries_in_lxc(s),)
        detail += " An LXC container has its own driver libraries; they must be the same version as the host's module."
    elif half:
        detail += " The driver package upgrade stopped halfway."
    if not says_so and known(d.cu_init) == 0 and known(d.nvml_init) == 0:
        yield CHECK.warn(
            "The kernel module and the driver libraries have different versions, but the driver calls work",
            detail,
            facts=facts,
            fixes=fixes,
        )
        return
    yield CHECK.fail(
        "The loaded kernel module and the driver libraries have different versions",
        detail,
        facts=facts,
        fixes=fixes,
    )
