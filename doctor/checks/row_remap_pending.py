"""A bad row or page of a GPU's memory will be replaced only after a reset.

What is wrong: the GPU found a faulty part of its memory and has a spare to replace it. The spare is used only after the
GPU is reset.

Symptoms: Xid 63 in the kernel log; `nvidia-smi -q -d ROW_REMAPPER` shows `Pending: Yes`; programs that touch the
row crash with ECC errors.

Why it happens: a memory error on the board, which row remapping (Ampere and newer) or page retirement (older GPUs)
handles.

How to fix it: stop the programs and reset the GPU, or reboot. In a container or on a rented machine, switch to a
different host.

Source: NVIDIA GPU Memory Error Management, docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt; Dynamic Page Retirement.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import reset
from ..snapshot import Snapshot
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="Bad GPU memory will be replaced only after a reset",
    sound="No GPU memory repair is waiting for a reset",
    severity="error",
    layer="hardware",
    tags=("gpu", "health"),
    downstream_of=("gpu-hardware-ecc-fault", "gpu-fell-off-bus"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU with a pending row remapping or page retirement."""
    seen = Readings()
    for gpu in listed(s):
        row = seen.of("row_remap_pending", gpu.row_remap_pending)
        page = seen.of("retired_pages_pending", gpu.retired_pages_pending)
        if not row and not page:
            continue
        yield CHECK.fail(
            f"{name_of(gpu)} must be reset to replace a bad {'row' if row else 'page'} of its memory",
            "Until then a program may hit the bad memory and crash with an ECC error.",
            facts={"row_remap_pending": row, "retired_pages_pending": page},
            subject=gpu.key,
            fixes=reset(s, gpu.key),
        )
    seen.end("row remapping or page retirement")
