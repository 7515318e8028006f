"""The batch system did not give this job a GPU.

What is wrong: Slurm and similar schedulers give a job only the devices that it asked for. This job's variables show no
GPU.

Symptoms: CUDA_VISIBLE_DEVICES is `NoDevFiles`; `No devices were found`; `nvidia-smi` works on the same node in a
job that asked for GPUs.

Why it happens: the job or step did not request a GPU (with `--gres=gpu:1` or `--gpus`), or `srun` was started inside
the job without those options; or the program is running on a login node.

How to fix it: request GPUs in the job script and for the step.

Source: slurm.schedmd.com/gres.html.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.cluster import ask_for_gpus
from ..snapshot import EnvVar, Missing, Snapshot, known, need
from ._seen import DRIVERLESS

CHECK = Check(
    __name__,
    title="The scheduler did not give this job a GPU",
    sound="There is no sign that Slurm left this job without a GPU",
    severity="critical",
    layer="container",
    tags=("container", "scheduler"),
    downstream_of=DRIVERLESS,
)

_INDICES = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS", "GPU_DEVICE_ORDINAL")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in a Slurm job without a GPU variable if CUDA finds no device, or if Slurm says NoDevFiles."""
    environment = need("host.environment", s.host.environment)
    values = {variable.name: variable.value for variable in environment}
    if "SLURM_JOB_ID" not in values:
        raise Skip("not in a Slurm job")
    visible = values.get("CUDA_VISIBLE_DEVICES")
    says_none = visible == "NoDevFiles"
    if not says_none:
        # an index 0 is a GPU, a count of 0 is none
        if any(values.get(name) for name in _INDICES) or values.get("SLURM_GPUS_ON_NODE", "0") != "0":
            return
        gpus = None if isinstance(s.gpus, Missing) else s.gpus
        if visible is not None or gpus:
            return  # something else chose the devices, or the job can see GPUs
        if gpus is None and need("driver.cu_init", s.driver.cu_init) != 100:
            return
    kept = tuple(v for v in environment if v.name != "CUDA_VISIBLE_DEVICES" or v.value != "NoDevFiles")
    fix = ask_for_gpus(s, host__environment=(*kept, EnvVar("SLURM_GPUS_ON_NODE", "1")))
    yield CHECK.fail(
        "Slurm did not give this job a GPU",
        f"No Slurm variable names a GPU{', and CUDA_VISIBLE_DEVICES is NoDevFiles' if says_none else ''}.",
        facts={"cuda_visible_devices": visible, "cu_init": known(s.driver.cu_init)},
        fixes=(fix,),
    )
