"""Where the user is, and what he can do from there: shared by all fix builders."""

from __future__ import annotations

from typing import Any

from ..findings import Step
from ..snapshot import Missing, Snapshot, known

RECHECK = Missing("recheck", "only a new look can tell")

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
    "driver.proc_gpus", "driver.pci_devices",
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
    """A container started anew: its libraries, nodes and variables are to be looked at again."""
    paths = (*_CUDA, *_LIBRARIES, "driver.device_nodes", "container.visible_devices", "container.driver_capabilities",
             "container.compat")  # fmt: skip
    return _changes(paths, known_now)


def _changes(paths: tuple[str, ...], known_now: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = dict.fromkeys(paths, RECHECK)
    changes.update({name.replace("__", "."): value for name, value in known_now.items()})
    return changes


def container_kind(s: Snapshot) -> str:
    """docker, podman, kubernetes ...; empty on a host or where it is not known."""
    kind = known(s.container.kind) or "none"
    if kind in ("docker", "containerd", "other") and known(s.host.scheduler) == "kubernetes":
        return "kubernetes"
    return "" if kind == "none" else kind


def sudo(s: Snapshot) -> str:
    """`sudo ` for a user who is not root (or may not be)."""
    return "" if known(s.host.user_is_root) else "sudo "


def host_sudo(s: Snapshot) -> str:
    """As `sudo`, for a command on the host: root in a container is not root there."""
    return "sudo " if container_kind(s) else sudo(s)


PROVIDERS = {
    "runpod": ("RunPod", "in Deploy > filter, set 'CUDA Versions'"),
    "vast": ("Vast.ai", "in the search filter, set 'CUDA version' (cuda_max_good on the command line)"),
    "lambda": ("Lambda", "launch a new instance with the newest image"),
    "paperspace": ("Paperspace", "start the machine again with the newest template"),
    "colab": ("Colab", "Runtime > Change runtime type"),
    "kaggle": ("Kaggle", "Settings > Accelerator"),
    "modal": ("Modal", "in the function's decorator, set gpu="),
}
"""Provider: its name, and where a host is chosen there."""


def another_machine(s: Snapshot, what: str, changes: dict[str, Any]) -> Step:
    """Take another machine: `what` completes 'choose a host ...'."""
    name, where = PROVIDERS.get(known(s.host.provider) or "", ("", ""))
    text = f"Choose a host {what}"
    if name:
        text = f"On {name}: choose a host {what} ({where})"
    elif container_kind(s) == "kubernetes":
        text = f"Schedule the pod on a node {what} (nodeSelector or node affinity)"
    return Step(text=text + ", start there, and run gpudoctor check again.", where="provider", changes=changes)


def on_host(s: Snapshot, text: str, command: str = "", changes: dict[str, Any] | None = None, **more: Any) -> Step:
    """A step on the host: not possible from inside a container."""
    inside = bool(container_kind(s))
    return Step(
        text=text, command=command, where="host", possible_here=not inside, changes=changes or {},
        **{"needs_root": True, **more},
    )  # fmt: skip
