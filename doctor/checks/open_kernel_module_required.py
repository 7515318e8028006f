"""The kernel module is the wrong flavor for this GPU: open although it must be proprietary, or the reverse.

What is wrong: the driver's kernel module comes in two flavors. Blackwell and later GPUs (and Grace systems) work only
with the open one; Maxwell, Pascal and Volta only with the proprietary one; Turing to Hopper with both.

Symptoms: the driver is loaded, but `nvidia-smi` prints `No devices were found` and `cuInit` returns 100. The kernel log
says `requires use of the NVIDIA open kernel modules`.

Why it happens: the package with the other flavor was installed (nvidia-driver-580 instead of nvidia-driver-580-open,
cuda-drivers instead of nvidia-open), or a card was replaced.

How to fix it: install the same driver branch with the right flavor, and reboot. For a container, this has to be done on
the host.

Source: NVIDIA driver README, chapter on open kernel modules; NVIDIA driver installation guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.driver import Offer, install_driver, install_offered, last_branch, offer
from ..fixes.every_card import for_every_card
from ..snapshot import Snapshot, known, need
from ._driver_gpu import graded
from ._seen import absent, is_wsl, version_numbers

CHECK = Check(
    __name__,
    title="The kernel module is the wrong flavor",
    sound="The kernel module is the flavor that the GPU needs",
    severity="critical",
    layer="driver",
    tags=("driver", "gpu"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by the loaded module's flavor and the GPU's generation, for GPUs that CUDA does not show as working."""
    if is_wsl(s):
        raise Skip("in WSL, the Windows driver controls the GPU")
    judged = 0
    for gpu in graded(s, m, any_version=True):
        judged += 1
        if gpu.grade.grade not in ("needs-open-module", "open-module-unsupported"):
            continue
        want = "open" if gpu.grade.grade == "needs-open-module" else "proprietary"
        have, version = known(s.driver.kernel_flavour), known(s.driver.version) or ""
        branch = version_numbers(version)[0] if version_numbers(version) else None
        found = offer(s, m, branch or 0, p.judged_on)
        if found:
            found = Offer(found.branch, found.last, found.floor, want == "proprietary")  # for this GPU
        fixes = install_offered(s, found, want) or install_driver(s, branch, want, last=last_branch(s, m) == branch)
        yield CHECK.fail(
            f"{gpu.name} needs the {want} kernel module, but the {have} one is loaded",
            f"{gpu.name} has compute capability {gpu.capability}; {gpu.grade.reason}.",
            facts={"kernel_flavour": have, "compute_capability": gpu.capability, "driver": version},
            subject=gpu.key,
            direct=False,
            fixes=for_every_card(s, m, fixes, found.branch if found else branch or 0, want),
        )
    need("driver.kernel_version", s.driver.version)
    if judged and not absent(s.driver.kernel_flavour):
        need("driver.kernel_flavour", s.driver.kernel_flavour)
