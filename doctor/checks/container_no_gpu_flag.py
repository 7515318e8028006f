"""The host has a GPU and a driver, but this container was not given them.

What is wrong: containers get GPUs only on request. The host's kernel module and PCI bus are visible, but this container
has no device nodes or no driver libraries.

Symptoms: `nvidia-smi: command not found`, `Found no NVIDIA driver on your system`, `is_available()` is False, while
`nvidia-smi` works on the host.

Why it happens: `docker run` without `--gpus all`; a compose file without a device reservation; a pod that requests no
nvidia.com/gpu; an empty NVIDIA_VISIBLE_DEVICES; an engine whose NVIDIA runtime or CDI is not set up.

How to fix it: start the container again with the GPU. Installing a driver inside the container does not help and makes
things worse.

Source: NVIDIA Container Toolkit documentation, docs.nvidia.com/datacenter/cloud-native/container-toolkit.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import start_with_gpu
from ..fixes.where import container_kind
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ._given import given, not_there
from ._seen import DRIVERLESS, is_wsl, nvidia_cards

CHECK = Check(
    __name__,
    title="The container was not given the GPU",
    sound="The container was given a GPU",
    severity="critical",
    layer="container",
    tags=("container",),
    downstream_of=(*DRIVERLESS, "scheduler-gpu-allocation", "k8s-runtimeclass-missing", "apptainer-without-nv"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in a container on a host with a driver if the nodes, or both libraries, are missing."""
    if not container_kind(s):
        need("container.kind", s.container.kind)
        raise Skip("not in a container")
    if known(s.driver.cu_init) == 0:
        return
    found = given(s)
    if found.nodes and (found.libcuda or found.nvml):
        return
    if found.host is False:
        raise Skip("the host has no NVIDIA kernel driver", without="gpu")
    if not is_wsl(s) and not nvidia_cards(s) and not isinstance(s.driver.pci_devices, Missing):
        raise Skip("the host has no NVIDIA GPU", without="gpu")
    if found.host is None:
        need("driver.pci_devices", s.driver.pci_devices)
        raise NeedsFact("driver.kernel_version", Missing("absent", "cannot tell whether the host has a driver"))
    version = known(s.driver.kernel_version)
    driver = f" and driver {version}" if version else ""
    detail = f"The host has an NVIDIA GPU{driver}, but this container lacks: {not_there(found)}."
    visible = known(s.container.visible_devices)
    causes: tuple[str, ...] = CHECK.downstream_of
    if visible is None and not isinstance(s.container.visible_devices, Missing):
        detail += " NVIDIA_VISIBLE_DEVICES is not set."
    elif visible is not None:
        detail += f" NVIDIA_VISIBLE_DEVICES is '{visible}'."
        if visible.strip() in ("", "none", "void") and container_kind(s) != "kubernetes":
            causes = (*causes, "cuda-visible-devices-wrong")
    yield CHECK.fail(
        "This container was not given the GPU",
        detail,
        facts={
            "container": container_kind(s),
            "visible_devices": visible,
            "kernel_version": version,
            "missing": not_there(found),
        },
        downstream_of=causes,
        fixes=start_with_gpu(s),
    )
