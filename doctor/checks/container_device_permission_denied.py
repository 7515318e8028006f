"""The GPU's device nodes exist, but this user cannot open them.

What is wrong: /dev/nvidia0, /dev/nvidiactl or /dev/nvidia-uvm exist, but cannot be opened for reading and writing.

Symptoms: `Failed to initialize NVML: Insufficient Permissions` (NVML code 4); `cuInit` returns 100 or 304; the same
program works as root.

Why it happens: SELinux blocks containers from using device nodes; a rootless engine cannot write device rules; the
nodes belong to a group that this user is not in; or their mode was restricted (NVreg_DeviceFileMode).

How to fix it: allow access on the host (with the SELinux boolean container_use_devices, a group or the file mode), or
start the container in a way that passes the permissions on. This can also happen outside containers.

Source: NVML return code 4 NVML_ERROR_NO_PERMISSION (nvml.h); NVIDIA Container Toolkit documentation.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import allow_access
from ..snapshot import Snapshot, known, need
from ._seen import BROKEN_DRIVER, DRIVERLESS, nodes_of

CHECK = Check(
    __name__,
    title="No permission to open the GPU",
    sound="This user can open a GPU's device nodes",
    severity="critical",
    layer="container",
    tags=("container", "devices"),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, "scheduler-gpu-allocation"),
)

NVML_NO_PERMISSION = 4


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if a needed node refuses reading or writing, or NVML returns 4; not if CUDA works."""
    if known(s.driver.cu_init) == 0:
        return
    refused = known(s.driver.nvml_init) == NVML_NO_PERMISSION
    nodes = nodes_of(s, "gpu", "ctl", "uvm", "dxg")
    if nodes is None:
        if not refused:
            need("driver.device_nodes", s.driver.device_nodes)
        nodes = []
    if not nodes and not refused:
        raise Skip("no device nodes", without="gpu")
    closed = [n for n in nodes if n.readable is False or n.writable is False]
    if any(n.kind == "gpu" and n not in closed for n in nodes):
        closed = [n for n in closed if n.kind != "gpu"]  # one GPU is open to this user: the others belong to others
    if not closed and not refused:
        for node in nodes:
            need(f"driver.device_nodes.{node.path}", node.readable)
            need(f"driver.device_nodes.{node.path}", node.writable)
        return
    paths = [node.path for node in closed]
    detail = f"This user cannot open {', '.join(paths)}." if paths else "The device nodes cannot be opened."
    if closed:
        detail += f" Mode of {closed[0].path}: {closed[0].mode:04o}, owner {closed[0].uid}:{closed[0].gid}."
    if refused:
        detail += " NVML returns 4 (insufficient permissions)."
    yield CHECK.fail(
        "No permission to open the GPU's device nodes",
        detail,
        facts={"denied": paths, "nvml_init": known(s.driver.nvml_init)},
        fixes=allow_access(s, closed),
    )
