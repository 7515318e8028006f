"""The driver reports a fault in the NVLink fabric: the NVSwitches and links between GPUs.

What is wrong: a GPU reached the fabric, but the driver flags a problem there: an unhealthy route, a wrong configuration
(no partition, too few links, incompatible firmware ...), reduced bandwidth, or a recovery that is still running. Or the
GPU has not joined the fabric, while other GPUs in this machine have.

Symptoms: `nvidia-smi -q` shows the fault under `Fabric`, `Health`. Work on a single GPU is not affected; NCCL between
GPUs fails, hangs or is slow.

Why it happens: a broken link, switch or cable; a fabric manager or NMX controller that did not put this GPU into a
partition; or firmware from a different release.

How to fix it: read the fabric manager's log, restart the fabric manager while no GPU is in use, then reset all GPUs.
Partitions are configured by whoever operates the fabric. In a container or on a rented machine, switch to a different
host.

A fault that breaks traffic is a failure if several GPUs are listed; with only one GPU, or for reduced bandwidth or a
recovery in progress, it is a warning. GPUs in MIG mode are skipped, because their instances do not use NVLink. Applies
to Hopper and later; the flags were added in driver 550 (bandwidth), 570 (routes, timeouts) and 580 (configuration,
summary).

Source: NVML, nvmlDeviceGetGpuFabricInfoV and NVML_GPU_FABRIC_HEALTH_MASK_*, docs.nvidia.com/deploy/nvml-api, Fabric
definitions; DCGM fails on the same flags (DcgmHealthWatch, MonitorFabricFields); a GPU that joined with the status
Insufficient Resources: github.com/Azure/azhpc-images/pull/506.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.links import repair_fabric
from ..snapshot import Gpu, Snapshot, known
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="The NVLink fabric is not healthy",
    sound="No GPU reports a fault in its NVLink fabric",
    severity="error",
    layer="hardware",
    tags=("gpu", "health", "nvlink", "nvswitch"),
    downstream_of=("fabric-manager-not-running", "gpu-fell-off-bus"),
)

_TRUE, _FALSE = 1, 2
_NOT_STARTED, _IN_PROGRESS, _COMPLETED = 1, 2, 3
_UNHEALTHY, _LIMITED = 2, 3
_CONFIGURATION = {
    2: "wrong system GUID", 3: "wrong chassis serial number", 4: "no partition", 5: "too few NVLink links",
    6: "incompatible GPU firmware", 7: "invalid location", 8: "invalid GPU state",
}  # fmt: skip


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Judges the health mask, its summary, and whether a GPU has joined the fabric as its peers have."""
    seen = Readings()
    gpus = [gpu for gpu in listed(s) if gpu.mig_enabled is not True]
    if not gpus:
        raise Skip("every GPU is in MIG mode, which does not use NVLink")
    joined = any(known(gpu.fabric_state) == _COMPLETED for gpu in gpus)
    for gpu in gpus:
        mask = seen.of("fabric_health", gpu.fabric_health) or 0
        broken, impaired = _faults(m, gpu, mask)
        if joined and known(gpu.fabric_state) == _NOT_STARTED:
            broken.append("that this GPU has not joined")
        elif joined and known(gpu.fabric_state) == _IN_PROGRESS:
            impaired.append("that this GPU is still joining")
        if not broken and not impaired:
            continue
        make = CHECK.fail if broken and len(gpus) > 1 else CHECK.warn
        yield make(
            f"{name_of(gpu)}: the NVLink fabric reports {' and '.join([*broken, *impaired])}",
            "Multi-GPU jobs fail or are slow. Work on a single GPU is not affected.",
            facts={
                "fabric_health": mask,
                "fabric_health_summary": known(gpu.fabric_health_summary),
                "fabric_status": known(gpu.fabric_status),
            },
            subject=gpu.key,
            fixes=repair_fabric(s),
        )
    seen.end("the health of an NVLink fabric")


def _faults(m: Matrix, gpu: Gpu, mask: int) -> tuple[list[str], list[str]]:
    """What stops traffic and what slows it down, as text."""
    broken, impaired = [], []
    status, summary = known(gpu.fabric_status), known(gpu.fabric_health_summary)
    configuration, partition = mask >> 8 & 0xF, mask >> 12 & 3
    if known(gpu.fabric_state) == _COMPLETED and status:
        error = m.nvml_error(status)
        words = error.message.lower() if error else "insufficient resources" if status == 23 else ""
        broken.append(f"error {status}" + (f" ({words})" if words else ""))
    if mask >> 4 & 3 == _TRUE:
        broken.append("an unhealthy route")
    if configuration > 1:
        broken.append(f"a wrong configuration ({_CONFIGURATION.get(configuration, f'code {configuration}')})")
    elif partition == _FALSE:
        broken.append("no partition for this GPU")
    if mask & 3 == _TRUE:
        impaired.append("reduced bandwidth")
    if mask >> 2 & 3 == _TRUE:
        impaired.append("a route recovery in progress")
    if mask >> 6 & 3 == _TRUE:
        impaired.append("a timeout recovery in progress")
    if mask >> 14 & 3 == _FALSE:
        impaired.append("a lost connection to the global fabric manager")
    if not broken and not impaired:  # a flag that was added after this was written
        if summary == _UNHEALTHY:
            broken.append("that it is unhealthy")
        elif summary == _LIMITED:
            impaired.append("limited capacity")
    return broken, impaired
