"""A GPU's on-chip memory (SRAM) has had more uncorrectable errors than NVIDIA allows.

What is wrong: registers, caches and shared memory are SRAM. Their uncorrectable errors are counted over the board's
lifetime, and this board has passed the limit. Row remapping repairs only the GPU's main memory; nothing repairs SRAM.

Symptoms: `nvidia-smi -q -d ECC` prints `SRAM Threshold Exceeded: Yes`; Xid 48 or 95 in the kernel log; programs fail
with CUDA error 214.

Why it happens: a defective chip.

How to fix it: take the GPU out of service and have it replaced; NVIDIA asks for its field diagnostics first. In a
container or on a rented machine, switch to a different host.

Only root can read this from NVML, so without root this check is UNKNOWN. It applies to Ampere and newer GPUs with
driver 550 or newer.

Source: NVML, nvmlDeviceGetSramEccErrorStatus and nvmlEccSramErrorStatus_v1_t (nvml.h 12.4: bThresholdExceeded, root
only); DCGM calls it DCGM_FR_SRAM_THRESHOLD, severity isolate.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import replace_board
from ..snapshot import Missing, Snapshot, known
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="A GPU's SRAM has had too many errors",
    sound="The GPUs' SRAM is within NVIDIA's error limit",
    severity="critical",
    layer="hardware",
    tags=("gpu", "health"),
    downstream_of=("gpu-fell-off-bus",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each GPU whose driver reports that the limit is exceeded."""
    seen = Readings()
    for gpu in listed(s):
        exceeded = gpu.sram_threshold_exceeded
        if isinstance(exceeded, Missing) and exceeded.reason == "denied":
            root = s.host.user_is_root is True  # not root on the host: a container's
            exceeded = Missing("denied", f"only root can read this{'' if root else ' (sudo gpudoctor check)'}")
        if not seen.of("sram_threshold_exceeded", exceeded):
            continue
        errors = known(gpu.sram_uncorrected_aggregate)
        counted = f" The GPU has counted {errors} so far." if errors else ""
        yield CHECK.fail(
            f"{name_of(gpu)} must be replaced: too many uncorrectable errors in its SRAM",
            f"Caches and registers lose data, and programs on this GPU crash.{counted}",
            facts={"sram_threshold_exceeded": True, "sram_uncorrected_aggregate": errors},
            subject=gpu.key,
            fixes=replace_board(s, gpu.key),
        )
    seen.end("SRAM errors")
