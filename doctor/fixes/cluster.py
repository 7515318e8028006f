"""Fixes in a cluster: GPUs managed by Kubernetes or a batch system, and jobs that request them."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .container import start_with
from .where import host_sudo, on_host, start_changes

_PLUGIN = "github.com/NVIDIA/k8s-device-plugin"
_ASK = {
    "slurm": "#SBATCH --gres=gpu:1      # interactive: srun --gres=gpu:1 --pty bash",
    "pbs": "#PBS -l select=1:ngpus=1      # interactive: qsub -I -l select=1:ngpus=1",
    "torque": "#PBS -l nodes=1:gpus=1      # interactive: qsub -I -l nodes=1:gpus=1",
    "sge": "#$ -l gpu=1      # the resource's name differs: qconf -sc | grep -i gpu",
    "uge": "#$ -l gpu=1      # the resource's name differs: qconf -sc | grep -i gpu",
    "lsf": '#BSUB -gpu "num=1"      # interactive: bsub -Is -gpu "num=1" bash',
    "htcondor": "request_gpus = 1      # in the submit description",
}
"""Batch system: the line of a job script that requests one GPU."""


def ask_for_gpus(s: Snapshot, **known_now: Any) -> Fix:
    """A GPU from the batch system."""
    line = _ASK.get(known(s.host.scheduler) or "slurm", _ASK["slurm"])
    return start_with(
        s,
        "ask-for-gpus",
        "Request a GPU from the batch system",
        "Add this line to the job script (and the option to srun), then submit the job again.",
        line,
        **known_now,
    )


def runtime_class(s: Snapshot) -> tuple[Fix, ...]:
    """The NVIDIA runtime for a pod: named in its spec, or the node's default."""
    fix = start_with(
        s,
        "set-runtime-class",
        "Set the NVIDIA runtime class in the pod's spec",
        "Add this line to the pod's spec and recreate the pod.",
        "runtimeClassName: nvidia",
    )
    return (fix, default_runtime(s))


def default_runtime(s: Snapshot) -> Fix:
    """The NVIDIA runtime as the default of a node's engine."""
    root = host_sudo(s)
    step = on_host(
        s,
        "On the node, make the NVIDIA runtime the engine's default.",
        f"{root}nvidia-ctk runtime configure --runtime=containerd --set-as-default "
        f"&& {root}systemctl restart containerd",
        start_changes(),
    )
    return Fix(id="set-default-runtime", title="Make the NVIDIA runtime the default", steps=(step,))


def inspect_plugin(s: Snapshot) -> Fix:
    """What the device plugin says, and what the nodes offer."""
    steps = (
        Step(
            text="See which nodes offer GPUs, and how many are in use.",
            where="container-start",
            command="kubectl describe nodes | grep -E '^Name:|nvidia.com/gpu'",
        ),
        Step(
            text="If a node with a GPU offers none, read the log of its device plugin (or of the GPU operator).",
            where="container-start",
            command="kubectl get pods -A -o wide | grep -i nvidia\nkubectl logs -n NAMESPACE DEVICE-PLUGIN-POD",
        ),
        Step(
            text="Fix what the plugin reports. If all GPUs are in use, wait for jobs to finish, or add nodes. If the "
            "node has a taint, give the pod a toleration.",
            where="container-start",
            changes=start_changes(),
        ),
    )
    return Fix(id="look-at-device-plugin", title="Find out why no node offers the GPU", steps=steps, source=_PLUGIN)


def runtime_for_plugin(s: Snapshot) -> tuple[Fix, ...]:
    """Run the device plugin under the NVIDIA runtime; without the runtime it finds neither NVML nor devices."""
    patch = '{"spec": {"template": {"spec": {"runtimeClassName": "nvidia"}}}}'
    step = Step(
        text="Give the device plugin's pods the NVIDIA runtime class (namespace and name: kubectl get ds -A).",
        command=f"kubectl -n kube-system patch daemonset nvidia-device-plugin-daemonset -p '{patch}'",
        where="container-start",
        changes=start_changes(),
    )
    fix = Fix(
        id="runtime-class-for-plugin",
        title="Run the device plugin under the NVIDIA runtime",
        steps=(step,),
        note="The class 'nvidia' exists only if the GPU operator or k3s created it; check with: kubectl get "
        "runtimeclass.",
        source=_PLUGIN,
    )
    return (fix, default_runtime(s))
