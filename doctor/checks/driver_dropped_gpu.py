"""The driver is too new for the GPU: it has dropped support for the GPU's generation.

What is wrong: NVIDIA ends support for an old generation after a certain branch; later branches do not support it.

Symptoms: after an upgrade `nvidia-smi` prints `No devices were found`; the kernel log says that the GPU is
supported only by a legacy branch (`NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please`).

Why it happens: the newest driver was installed on a machine with a Kepler, Maxwell, Pascal or Volta card.

How to fix it: install the last branch that supports the card, and hold its packages. If that branch supports only an
older CUDA than the torch build needs, install a torch build for that CUDA.

Source: CUDA Toolkit, Driver, and Architecture Matrix, docs.nvidia.com/datacenter/tesla/drivers.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.driver import older_driver
from ..fixes.every_card import for_every_card
from ..snapshot import Snapshot, known
from ._driver_gpu import graded, on_disk

CHECK = Check(
    __name__,
    title="The driver no longer supports this GPU",
    sound="The driver still supports the GPU",
    severity="critical",
    layer="driver",
    tags=("driver", "gpu"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the matrix names an older branch as the last one for the GPU's generation."""
    for gpu in graded(s, m):
        last, version = gpu.grade.last_driver, on_disk(s) or known(s.driver.version)
        if gpu.grade.grade != "too-new" or last is None:
            continue
        yield CHECK.fail(
            f"Driver {version} no longer supports {gpu.name}",
            f"{gpu.name} has compute capability {gpu.capability}; {gpu.grade.reason}.",
            facts={"driver": version, "compute_capability": gpu.capability, "last_driver": last},
            subject=gpu.key,
            direct=False,
            fixes=for_every_card(s, m, older_driver(s, last), last, "proprietary"),
        )
