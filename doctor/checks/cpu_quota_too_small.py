"""There is less than one processor core per GPU.

What is wrong: each GPU has at least one process that prepares its work. With less than one core for that process, the
GPU waits.

Symptoms: low GPU utilization, slow startup (imports, loading weights), data loaders that never keep up.

Why it happens: the container or pod has a CPU limit, the job requested one core, or the process is bound to a few
cores.

How to fix it: start the container or job with more cores (several per GPU if the job loads data).

Threshold: cores_per_gpu (1).

Source: cgroup v2, cpu.max, docs.kernel.org/admin-guide/cgroup-v2.html.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..fixes.limits import more_cores
from ..snapshot import Snapshot, known, need
from ._readings import limit, listed
from ._seen import absent

CHECK = Check(
    __name__,
    title="Too few processor cores for the GPUs",
    sound="The number of processor cores meets the minimum for the GPUs",
    severity="warning",
    layer="speed",
    tags=("limits", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if quota or affinity give less than one core per GPU that CUDA (else NVML) shows."""
    gpus = len(listed(s))
    devices = known(s.driver.cuda_devices)
    cap = s.cap("cuda-devices" if devices else "gpus")
    count = (cap and cap.listed) or (len(devices) if devices else gpus)
    cores: list[float] = []
    if not absent(s.host.cpu_quota_cores):
        cores.append(need("host.cpu_quota_cores", s.host.cpu_quota_cores))
    if not absent(s.host.cpu_cores):
        cores.append(need("host.cpu_cores", s.host.cpu_cores))
    if not cores:
        raise NotExamined("the core count is unknown")
    have, wanted = min(cores), count * limit(p, "cores_per_gpu", 1)
    if have >= wanted:
        return
    yield CHECK.warn(
        f"Only {have:g} processor core{'s' * (have != 1)} for {count} GPU{'s' * (count != 1)}",
        "The processes that feed the GPUs share these cores, so the GPUs have to wait.",
        facts={"cores": have, "gpus": count},
        fixes=(more_cores(s, max(4 * count, int(wanted) + 1)),),
    )
