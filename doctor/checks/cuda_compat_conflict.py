"""A forward-compatibility libcuda (cuda-compat) and the host's driver do not work together (CUDA error 803).

What is wrong: the loader picks the image's cuda-compat library, which is older than the host's kernel module or built
for different driver branches.

Symptoms: `Error 803: system has unsupported display driver / cuda driver combination`, `is_available()` is False, while
nvidia-smi works.

Why it happens: the host's driver was upgraded past the image's compat library, whose folder is still first on
LD_LIBRARY_PATH or in the loader's configuration.

How to fix it: remove the compat folder from the path; the host's own libcuda is newer and can do everything that the
compat library can.

Error 803 without a compat library is reported as driver-library-version-mismatch.

Source: docs.nvidia.com/deploy/cuda-compatibility, forward compatibility.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.libcuda import remove_compat
from ..snapshot import Missing, Snapshot, known, need
from ._seen import DRIVERLESS, NOT_GIVEN, absent, compat_in_use, first_cuda_code, real_libcudas, version_numbers

CHECK = Check(
    __name__,
    title="cuda-compat and the host's driver clash",
    sound="No cuda-compat library clashes with the driver",
    severity="critical",
    layer="libraries",
    tags=("cuda", "compat"),
    downstream_of=(*DRIVERLESS, *NOT_GIVEN, "driver-library-version-mismatch", "container-image-ships-driver-libs"),
)

CUDA_DRIVER_MISMATCH = 803
_DEFAULT = "/usr/local/cuda/compat/libcuda.so.1"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """CUDA's code 803 with a compat library; or, if CUDA was not asked, one that is older than the module."""
    code, path = first_cuda_code(s), compat_in_use(s)
    listed = next((c for c in known(s.container.compat) or () if c.path == path), None)
    version = (known(listed.version) if listed else None) or known(s.driver.libcuda_version) or ""
    module = known(s.driver.kernel_version) or ""
    predicted = False
    if code != CUDA_DRIVER_MISMATCH:
        if code is not None:
            return  # CUDA answered something else
        if not path:
            if absent(s.driver.libcuda_path):
                raise Skip("libcuda was not found", without="gpu")
            need("driver.libcuda_path", s.driver.libcuda_path)
            return
        need("driver.kernel_version", s.driver.kernel_version)
        predicted = bool(version_numbers(version)) and version_numbers(version) < version_numbers(module)
        if not predicted:
            need("driver.cu_init", s.driver.cu_init)
            return
    elif not path and not isinstance(s.driver.libcuda_path, Missing):
        raise Skip("error 803 without a compat library: see driver-library-version-mismatch")
    elif not path and known(s.container.kind) in (None, "none"):
        need("driver.libcuda_path", s.driver.libcuda_path)  # on a host a driver may wait for its reboot
    real = next(iter(real_libcudas(s)), None)
    detail = f"The loader picks {path or 'a forward-compatibility libcuda'}"
    detail += f" ({version})" if path and version else ""
    detail += f"; the kernel module is version {module}." if module else "."
    if not predicted:
        detail += " CUDA returns 803 (unsupported combination of display driver and CUDA driver)."
    older = version_numbers(version) < version_numbers(module) if version and module else False
    if older:
        detail += " The library is older than the driver, which does not need it: remove cuda-compat."
    yield CHECK.fail(
        "The forward-compatibility libcuda (cuda-compat) is incompatible with the host's driver",
        detail,
        facts={"cuda_code": code, "compat_path": path, "compat_version": version, "kernel_version": module},
        subject=path,
        direct=not predicted,
        fixes=remove_compat(s, path or _DEFAULT, real),
    )
