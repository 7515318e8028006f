"""gVisor does not pass a GPU to this sandbox: runsc is running without --nvproxy.

What is wrong: gVisor (runsc) handles a container's system calls itself. It passes the NVIDIA driver through only if
runsc was started with --nvproxy and the container was started with a GPU; otherwise the sandbox has neither device
nodes nor a driver, whatever the host has.

Symptoms: /dev/nvidia* is missing, `nvidia-smi` is missing or finds no driver, and `torch.cuda.is_available()` is
False. /proc/version names gVisor, or dmesg begins with `Starting gVisor`.

Why it happens: nvproxy is off in a default runsc installation; or the container was started without --gpus, or the pod
requests no GPU.

How to fix it: install the runtime with `runsc install -- --nvproxy=true` on the host (with containerd: nvproxy =
"true" in runsc.toml), then start the container again with the GPU. The host's driver must be one that this runsc
supports: see `runsc nvproxy list-supported-drivers`. If the provider runs gVisor, request a GPU from the provider.

Source: gvisor.dev/docs/user_guide/gpu.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import turn_nvproxy_on
from ..snapshot import Snapshot, known, need
from ._seen import absent, nodes_of

CHECK = Check(
    __name__,
    title="gVisor does not pass a GPU to this sandbox",
    sound="gVisor passes the NVIDIA driver through",
    severity="critical",
    layer="container",
    tags=("container", "devices"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Unknown in gVisor if there is no device node and no driver, a failure if torch found no GPU either; its own
    kernel says nothing about the host's."""
    if need("container.kind", s.container.kind) != "gvisor":
        raise Skip("not in gVisor")
    nodes = nodes_of(s, "gpu", "ctl", "uvm")
    if nodes is None:
        need("driver.device_nodes", s.driver.device_nodes)
    if nodes or known(s.driver.cu_init) == 0 or known(s.driver.nvml_init) == 0:
        return
    if not absent(s.driver.kernel_version):
        need("driver.kernel_version", s.driver.kernel_version)
        return
    if p.expect.kind == "any":
        raise Skip("there is no sign of a GPU, and none is required")
    # The host's GPUs are not visible: only a torch that found no GPU makes it a failure.
    make = CHECK.fail if known(s.torch_run.cuda_available) is False else CHECK.unknown
    yield make(
        "gVisor does not pass a GPU to this sandbox: runsc runs without --nvproxy, or the container was given no GPU",
        "The sandbox has no device nodes and no NVIDIA driver; gVisor passes them through only with --nvproxy. Whether "
        "the host has a GPU cannot be seen from inside.",
        facts={"container": "gvisor", "device_nodes": 0},
        fixes=turn_nvproxy_on(s),
    )
