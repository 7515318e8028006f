"""Kubernetes allocated a GPU to this pod, but a plain runtime started it: the NVIDIA runtime class is missing.

What is wrong: the device plugin set NVIDIA_VISIBLE_DEVICES to the allocated GPU's identifier, but the runtime that
started the container ignores it, so the container has no device nodes and no driver libraries.

Symptoms: the pod was scheduled with nvidia.com/gpu: 1, and inside it `nvidia-smi` is not found and PyTorch says
`Found no NVIDIA driver on your system`.

Why it happens: the cluster's default runtime is plain runc (usual with k3s, k0s, RKE2) and the pod does not set
runtimeClassName; or containerd was not configured for the NVIDIA runtime on one node.

How to fix it: set `runtimeClassName: nvidia` in the pod's spec, or make the NVIDIA runtime the node's default.

Source: github.com/NVIDIA/k8s-device-plugin; kubernetes.io/docs/concepts/containers/runtime-class.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.cluster import runtime_class
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._given import given, not_there
from ._seen import DRIVERLESS

CHECK = Check(
    __name__,
    title="No NVIDIA runtime class in Kubernetes",
    sound="The pod received the GPU that was allocated to it",
    severity="critical",
    layer="container",
    tags=("container", "kubernetes"),
    downstream_of=DRIVERLESS,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Can be decided if NVIDIA_VISIBLE_DEVICES shows the device plugin's allocation and there are no device nodes."""
    if container_kind(s) != "kubernetes":
        need("container.kind", s.container.kind)
        raise Skip("not in Kubernetes")
    if known(s.driver.cu_init) == 0:
        return
    allocated = need("container.visible_devices", s.container.visible_devices) or ""
    if not re.match(r"(GPU|MIG)-", allocated):
        raise Skip("NVIDIA_VISIBLE_DEVICES shows no allocation by a device plugin")
    found = given(s)
    if found.nodes:
        return
    if found.host is False:
        raise Skip("the node has no NVIDIA kernel driver", without="gpu")
    yield CHECK.fail(
        "A GPU was allocated to this pod, but the container runtime did not add it",
        "NVIDIA_VISIBLE_DEVICES names the allocated GPU, but these are missing from the container: "
        f"{not_there(found)}.",
        facts={"visible_devices": allocated, "missing": not_there(found)},
        fixes=runtime_class(s),
    )
