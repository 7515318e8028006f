"""The driver is older than the GPU.

What is wrong: a driver supports the GPU generations that existed when its branch began. This branch is older than the
GPU's generation and does not support it.

Symptoms: `nvidia-smi` prints `No devices were found`; `cuInit` returns 100 (no device); the kernel log says that
the GPU is not supported by this release.

Why it happens: a machine image or a distribution's default driver is older than the card, or a new card was put into an
old server.

How to fix it: on the host, install a driver from the named branch or a newer one. If you are in a container, choose a
host that has such a driver. No torch build helps until the driver supports the card.

Source: CUDA Toolkit, Driver, and Architecture Matrix, docs.nvidia.com/datacenter/tesla/drivers; list of supported GPUs
in each driver's README.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.driver import install_offered, offer, other_host
from ..fixes.every_card import for_every_card
from ..fixes.windows import update_windows_driver
from ..snapshot import Snapshot, known
from ._driver_gpu import graded, on_disk
from ._seen import is_wsl

CHECK = Check(
    __name__,
    title="The driver is too old for this GPU",
    sound="The driver is new enough for the GPU",
    severity="critical",
    layer="driver",
    tags=("driver", "gpu"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the matrix says that this branch is older than the GPU's generation."""
    for gpu in graded(s, m):
        if gpu.grade.grade != "too-old":
            continue
        branch, version = gpu.grade.first_driver, on_disk(s) or known(s.driver.version)
        capability = m.compute_capability(gpu.capability)
        flavour = "open" if capability and capability.open_module == "required" else ""
        found = offer(s, m, branch or 0, p.judged_on) or offer(s, m, branch or 0, p.judged_on, (gpu.capability,))
        fixes = (update_windows_driver(s),) if is_wsl(s) else install_offered(s, found, flavour)
        if found and not is_wsl(s):
            fixes = for_every_card(s, m, fixes, found.branch, "proprietary" if found.proprietary else flavour)
        fixes = fixes or (other_host(s, "with a GPU that current drivers support"),)
        yield CHECK.fail(
            f"Driver {version} is too old for {gpu.name}",
            f"{gpu.name} has compute capability {gpu.capability}; {gpu.grade.reason}.",
            facts={"driver": version, "compute_capability": gpu.capability, "first_driver": branch},
            subject=gpu.key,
            direct=False,
            fixes=fixes,
        )
