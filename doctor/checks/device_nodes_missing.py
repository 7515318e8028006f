"""The driver runs, but its device nodes (/dev/nvidia0, /dev/nvidiactl) are missing on this host.

What is wrong: programs reach the driver through nodes in /dev. The kernel module is loaded and has found the GPU, but
the nodes are missing.

Symptoms: `cuInit` returns 100 (no device), NVML finds no GPU, but /proc/driver/nvidia/gpus lists one. For root, the
problem fixes itself (the libraries create the nodes); for other users, it may not.

Why it happens: nothing created them after boot: there is no X server and no nvidia-persistenced, and the helper
nvidia-modprobe is not installed or not setuid root.

How to fix it: run nvidia-modprobe as root, and enable nvidia-persistenced to make this permanent.

If CUDA works although the nodes are missing, they were created on demand and nothing is wrong.

Source: NVIDIA driver README, device node section; nvidia-modprobe(1).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import give_nodes
from ..fixes.where import container_kind
from ..snapshot import Snapshot, known, need
from ._seen import BROKEN_DRIVER, DRIVERLESS, absent, is_wsl, need_module_loaded, nodes_of, not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="Device nodes are missing",
    sound="The device nodes exist",
    severity="critical",
    layer="driver",
    tags=("driver", "devices"),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails on a host with a loaded module, a known GPU, too few nodes, and CUDA or NVML that does not work."""
    if is_wsl(s):
        raise Skip("WSL: the GPU is /dev/dxg")
    if container_kind(s):
        raise Skip("a container has only the nodes that it was given: see container-no-gpu-flag")
    if not need_module_loaded(s):
        raise Skip("the kernel module is not loaded", without="gpu")
    nodes = need("driver.device_nodes", s.driver.device_nodes)
    if any(node.kind == "tegra" for node in nodes):
        raise Skip("Jetson boards use different device nodes")
    bound = [card for card in nvidia_cards(s) or () if card.driver in (None, "nvidia")]
    count = known(s.driver.proc_gpus)
    count = len(bound) if count is None else count
    if not count:
        raise not_on_pci(s)
    gpus, control = nodes_of(s, "gpu") or [], nodes_of(s, "ctl") or []
    if control and gpus:
        return  # if only some GPUs have nodes, somebody chose them: see gpu-expectation-unmet
    if s.driver.cu_init == 0:
        return  # the libraries created the nodes themselves
    if not absent(s.driver.cu_init):
        need("driver.cu_init", s.driver.cu_init)
    lacks = [*([] if control else ["/dev/nvidiactl"]), *([] if gpus else ["/dev/nvidia0"])]
    lacks += [] if nodes_of(s, "uvm") else ["/dev/nvidia-uvm"]
    yield CHECK.fail(
        f"The driver's device nodes are missing: {', '.join(lacks)}",
        f"The kernel module is loaded for {count} GPU{'s' * (count != 1)}, but {' and '.join(lacks)} "
        f"{'is' if len(lacks) == 1 else 'are'} not in /dev.",
        facts={"missing": lacks, "gpus_known_to_driver": count},
        fixes=give_nodes(s, "all"),
    )
