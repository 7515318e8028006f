"""The kernel module is the wrong flavour for this GPU: open where it must be proprietary, or the reverse.

What is wrong: the driver's kernel module exists in two flavours. Blackwell and later GPUs (and Grace systems) work only
with the open one; Maxwell, Pascal and Volta only with the proprietary one; Turing to Hopper with both.

Symptoms: the driver is loaded, but `nvidia-smi` prints `No devices were found` and `cuInit` answers 100. The kernel
log says `requires use of the NVIDIA open kernel modules`.

Why it happens: the package of the other flavour was installed (nvidia-driver-580 instead of nvidia-driver-580-open,
cuda-drivers instead of nvidia-open), or a card was changed.

How to fix it: install the same branch with the flavour that fits, and reboot. For a container, this has to be done on
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
    title="Kernel module of the wrong flavour",
    sound="The kernel module has the flavour that the GPU needs",
    severity="critical",
    layer="driver",
    tags=("driver", "gpu"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by the loaded module's flavour and the GPU's generation, for GPUs that CUDA does not show as working."""
    if is_wsl(s):
        raise Skip("WSL: Windows drives the GPU")
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
            found = Offer(found.branch, found.last, found.floor, want == "proprietary")  # for this GPU, whoever else
        fixes = install_offered(s, found, want) or install_driver(s, branch, want, last=last_branch(s, m) == branch)
        yield CHECK.fail(
            f"{gpu.name} needs the {want} kernel module, and the {have} one is loaded",
            f"{gpu.name} has compute capability {gpu.capability}; {gpu.grade.reason}.",
            facts={"kernel_flavour": have, "compute_capability": gpu.capability, "driver": version},
            subject=gpu.key,
            direct=False,
            fixes=for_every_card(s, m, fixes, found.branch if found else branch or 0, want),
        )
    need("driver.kernel_version", s.driver.version)
    if judged and not absent(s.driver.kernel_flavour):
        need("driver.kernel_flavour", s.driver.kernel_flavour)
