"""The nvidia-uvm module or its node /dev/nvidia-uvm is missing: nvidia-smi works, but CUDA does not.

What is wrong: CUDA needs a second kernel module, nvidia-uvm (unified memory), and its node. NVML and nvidia-smi do not.

Symptoms: `nvidia-smi` lists the GPU; `cuInit` returns 999 (unknown error), 3 or 304; PyTorch reports `CUDA
unknown error`.

Why it happens: nvidia-uvm was not loaded after boot; the container was given /dev/nvidia0 and /dev/nvidiactl by hand,
but not /dev/nvidia-uvm; a CDI file has an outdated major number for the node.

How to fix it: `modprobe nvidia-uvm` and `nvidia-modprobe -c=0 -u` on the host; for a container, pass /dev/nvidia-uvm
too, or regenerate the CDI file.

Source: nvidia-modprobe(1); NVIDIA driver README.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import give_nodes
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import BROKEN_DRIVER, DRIVERLESS, first_cuda_code, is_wsl, need_cuda_code, nodes_of

CHECK = Check(
    __name__,
    title="nvidia-uvm is missing",
    sound="nvidia-uvm is not missing",
    severity="critical",
    layer="driver",
    tags=("driver", "devices"),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, "device-nodes-missing"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if GPU nodes exist, the uvm node (or on a host its module) does not, and CUDA fails to initialize."""
    if is_wsl(s):
        raise Skip("in WSL, the GPU is /dev/dxg")
    need("driver.device_nodes", s.driver.device_nodes)
    if not nodes_of(s, "gpu"):
        raise Skip("no GPU nodes", without="gpu")
    has_node = bool(nodes_of(s, "uvm"))
    modules = known(s.driver.modules)
    has_module = modules is None or "nvidia_uvm" in modules or "nvidia" not in modules
    if has_node and has_module:
        return
    if not has_node and first_cuda_code(s) is None and known(s.driver.libcuda_path) is None:
        raise Skip("no libcuda that would need it", without="gpu")
    if s.driver.cu_init == 0:
        return
    code = need_cuda_code(s)
    has_control = bool(nodes_of(s, "ctl"))
    lacks = "the node /dev/nvidia-uvm" if not has_node else "the module nvidia-uvm"
    if not has_node and not has_control:
        lacks = "the nodes /dev/nvidiactl and /dev/nvidia-uvm"
    smi = " nvidia-smi does not need it." if has_control else ""
    verb = "are" if lacks.startswith("the nodes") else "is"
    inside = bool(container_kind(s))
    where = "in this container" if inside and not has_node else "on the host" if inside else "on this machine"
    yield CHECK.fail(
        f"CUDA cannot start: {lacks} {verb} missing {where}",
        f"The GPU's own nodes exist, but {lacks} {verb} missing, and CUDA returns {code}.{smi}",
        facts={"has_node": has_node, "has_module": modules and "nvidia_uvm" in modules, "cuda_code": code},
        fixes=give_nodes(s, "uvm" if has_control else "control"),
    )
