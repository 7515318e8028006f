"""Where the user is, and what can be done from there: shared by all fix builders."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..findings import Fix, Step
from ..snapshot import Missing, Snapshot, known

RECHECK = Missing("recheck")

_CUDA = (
    "driver.cu_init", "driver.cuda_devices", "torch_run.cuda_available", "torch_run.device_count",
    "torch_run.first_call_code", "torch_run.first_call_error", "torch_run.kernel_ran", "torch_run.kernel_error",
)  # fmt: skip
_LIBRARIES = (
    "driver.nvml_library_path", "driver.nvml_library_version", "driver.nvml_init", "driver.nvml_driver_version",
    "driver.nvml_cuda_version", "driver.nvml_gpu_count", "driver.libcuda_path", "driver.libcuda_version",
    "driver.libcuda_stub", "driver.libcuda_candidates", "driver.cuda_version", "gpus",
)  # fmt: skip
_KERNEL = (
    "driver.kernel_version", "driver.kernel_flavour", "driver.modules", "driver.nouveau_loaded", "driver.device_nodes",
    "driver.proc_gpus", "driver.pci_devices", "driver.unlisted_gpus",
)  # fmt: skip


def cuda_changes(**known_now: Any) -> dict[str, Any]:
    """CUDA is to be asked again; `known_now`: facts that the step sets, dots written as two underscores."""
    return _changes(_CUDA, known_now)


def library_changes(**known_now: Any) -> dict[str, Any]:
    """The driver's libraries, and all that they answer, are to be looked at again."""
    return _changes((*_CUDA, *_LIBRARIES), known_now)


def driver_changes(**known_now: Any) -> dict[str, Any]:
    """Everything about the driver is to be looked at again: after an install, a reboot, on another machine."""
    return _changes((*_CUDA, *_LIBRARIES, *_KERNEL), {"driver__faults": (), **known_now})


def start_changes(**known_now: Any) -> dict[str, Any]:
    """After a container is restarted: its libraries, nodes and variables have to be read again."""
    paths = (*_CUDA, *_LIBRARIES, "driver.device_nodes", "container.visible_devices", "container.driver_capabilities",
             "container.compat")  # fmt: skip
    return _changes(paths, known_now)


def _changes(paths: tuple[str, ...], known_now: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = dict.fromkeys(paths, RECHECK)
    changes.update({name.replace("__", "."): value for name, value in known_now.items()})
    return changes


_BATCH = ("slurm", "pbs", "sge", "uge", "lsf", "htcondor", "torque", "cluster")
NOTEBOOKS = ("colab", "kaggle")
"""Providers of notebooks: what is installed lasts as long as the session, and commands are typed in cells."""
MANAGED = ("runpod", "vast", "modal", "paperspace", *NOTEBOOKS)
"""Providers that start the container themselves: their users type no engine command."""


def container_kind(s: Snapshot) -> str:
    """docker, podman, kubernetes ...; empty on a host or where it is not known."""
    kind = known(s.container.kind)
    if kind is None:  # a text may name the provider or the cluster alone
        provider, cluster = known(s.host.provider) or "", known(s.host.scheduler)
        kind = "kubernetes" if cluster == "kubernetes" else "other" if provider in MANAGED else "none"
    if kind in ("docker", "containerd", "other") and known(s.host.scheduler) == "kubernetes":
        return "kubernetes"
    return "" if kind == "none" else kind


def notebook(s: Snapshot) -> str:
    """`Colab`, `Kaggle`; empty elsewhere."""
    name = known(s.host.provider) or ""
    return PROVIDERS[name].name if name in NOTEBOOKS else ""


def batch_job(s: Snapshot) -> bool:
    """In a job of a batch system, whose nodes belong to others."""
    return (known(s.host.scheduler) or "") in _BATCH and not known(s.host.user_is_root) and not container_kind(s)


def guest(s: Snapshot) -> bool:
    """Whether this user cannot change the host: inside a container, or in a job of a batch system."""
    return bool(container_kind(s)) or batch_job(s)


def sudo(s: Snapshot) -> str:
    """`sudo ` for a user who is not root (or may not be); containers seldom have it, and their user is usually root."""
    root = known(s.host.user_is_root)
    if root is None:
        root = container_kind(s) not in ("", "apptainer")
    return "" if root else "sudo "


def host_sudo(s: Snapshot) -> str:
    """As `sudo`, for a command on the host: root in a container is not root there."""
    return "sudo " if container_kind(s) else sudo(s)


class Provider(NamedTuple):
    """Where a cloud user chooses a different host."""

    name: str
    where: str
    """Where a host is chosen."""
    of_driver: str = ""
    """Where one is chosen by its driver, if there is such a filter; it names the CUDA version that the driver has."""


PROVIDERS = {
    "runpod": Provider("RunPod", "in Pods > Deploy", "in Deploy > filter, set 'CUDA Versions'"),
    "vast": Provider(
        "Vast.ai", "in the search", "in the search filter, set 'CUDA version' (cuda_max_good on the command line)"
    ),
    "lambda": Provider("Lambda", "launch a new instance with the newest image"),
    "paperspace": Provider("Paperspace", "start the machine again with the newest template"),
    "colab": Provider("Colab", "Runtime > Disconnect and delete runtime, then Runtime > Change runtime type > a GPU"),
    "kaggle": Provider("Kaggle", "Settings > Accelerator > a GPU; this starts a new session"),
    "modal": Provider("Modal", "in the function's decorator, set gpu="),
}


def another_machine(s: Snapshot, what: str, changes: dict[str, Any], by_driver: bool = False) -> Step:
    """Take another machine: `what` completes 'choose a host ...'; `by_driver`: it asks for a version of the driver."""
    provider = PROVIDERS.get(known(s.host.provider) or "", Provider("", ""))
    name, where = provider.name, (provider.of_driver if by_driver else "") or provider.where
    text, command = f"Choose a host {what}", ""
    if notebook(s):
        text = f"On {name}: start a new session, which may run on a host {what} ({where})"
    elif name:
        text = f"On {name}: choose a host {what} ({where})"
    elif container_kind(s) == "kubernetes":
        text = f"Schedule the pod on a node {what} (nodeSelector or node affinity)"
    elif batch_job(s):
        text = f"Submit the job to a node {what}, and tell the administrators about this one"
        command = "sbatch --exclude=NODE JOB" if known(s.host.scheduler) == "slurm" else ""
    text += ", start there, and run gpudoctor check again."
    own = not name and (container_kind(s) == "kubernetes" or batch_job(s))
    return Step(text=text, command=command, where="container-start" if own else "provider", changes=changes)


def get_a_gpu(s: Snapshot) -> Fix:
    """There is no GPU here, so there is nothing to repair. In a notebook session it is a setting."""
    facts = ("host.system", "driver.pci_devices", "driver.cu_init", "driver.kernel_version", "driver.device_nodes",
             "driver.modules", "gpus")  # fmt: skip
    text = "Start the pod, instance or virtual machine again with a plan that includes an NVIDIA GPU "
    text += "(or pass the GPU through to this virtual machine)"
    if notebook(s):
        provider = PROVIDERS[str(known(s.host.provider))]
        text = f"On {provider.name}: {provider.where}"
    step = Step(
        text=f"{text}, then run gpudoctor check there.",
        where="provider",
        possible_here=bool(notebook(s)),
        changes=dict.fromkeys(facts, RECHECK),
    )
    note = "There is no GPU here, so there is nothing to repair. "
    note += "If the CPU is enough, run: gpudoctor check --expect any"
    return Fix(id="get-a-gpu", title="Run this on a machine that has an NVIDIA GPU", steps=(step,), note=note)


def lasting(s: Snapshot, line: str) -> list[str]:
    """How an install that is made inside a container or session lasts; `line`: the command, as in a Dockerfile."""
    if notebook(s):
        return ["In a cell, put ! before the command; then restart the session so that Python loads the new files."]
    if container_kind(s):
        return ["This is lost with the container. To keep it, add to the Dockerfile:", f"  RUN {line}"]
    return []


def start_again(s: Snapshot) -> tuple[str, str]:
    """How this user stops and starts the container, pod or session: words and command."""
    name, kind = known(s.host.provider) or "", container_kind(s)
    if name == "colab":
        return "Runtime > Disconnect and delete runtime, then connect again.", ""
    if name == "kaggle":
        return "Stop the session (power button), then start it again.", ""
    if name in MANAGED:
        return f"On {PROVIDERS[name].name}: stop this pod or instance and start it (or a new one) again.", ""
    if kind == "kubernetes":
        return "Delete the pod: its controller creates a new one.", "kubectl delete pod POD"
    if kind in ("docker", "podman"):
        return "Stop and start the container.", f"{kind} restart CONTAINER"
    return "Stop and start the container or pod.", ""


def on_host(s: Snapshot, text: str, command: str = "", changes: dict[str, Any] | None = None, **more: Any) -> Step:
    """A step on the host: not possible from inside a container, nor for a user of a batch system."""
    return Step(
        text=text,
        command=command,
        where="host",
        possible_here=not guest(s),
        changes=changes or {},
        **{"needs_root": True, **more},
    )


def reboot_step(s: Snapshot, why: str = "", changes: dict[str, Any] | None = None) -> Step:
    """Reboot the host, with its condition; `why` goes on after 'reboot'."""
    own = known(s.host.chassis) in ("desktop", "laptop")
    when = "Save your work" if own else "Once the jobs on this host are no longer needed"
    text = f"{when}{', then' if own else ','} reboot{f' {why}' if why else '.'}"
    return on_host(s, text, f"{host_sudo(s)}reboot", changes)


def recheck_run(s: Snapshot) -> dict[str, Any]:
    """torch's own answers, all to be asked again."""
    fields: dict[str, Any] = {f"torch_run.{name}": RECHECK for name in s.torch_run.__struct_fields__}
    return {**fields, "torch_run.warnings": ()}
