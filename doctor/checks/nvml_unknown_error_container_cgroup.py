"""A running container has lost its GPUs: the host rewrote the container's device rules.

What is wrong: the device nodes are still in the container's /dev, but its cgroup no longer allows opening them.

Symptoms: `Failed to initialize NVML: Unknown Error` (NVML code 999, or 17) in a container that worked before;
programs that were already running keep working, new ones fail; `docker restart` fixes it for a while.

Why it happens: `systemctl daemon-reload` (also as part of package upgrades) makes systemd rewrite the device rules of
all containers, and systemd does not know about devices that a hook added without telling it.

How to fix it: recreate the container. To prevent it, use CDI, explicit --device options, the /dev/char links, or the
cgroupfs driver.

Source: github.com/NVIDIA/nvidia-docker issue 1730 and its notice.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import recreate_container
from ..fixes.where import container_kind
from ..snapshot import Snapshot, need
from ._seen import BROKEN_DRIVER, DRIVERLESS, absent, nodes_of

CHECK = Check(
    __name__,
    title="The container lost its GPUs",
    sound="The container still has its GPUs",
    severity="critical",
    layer="container",
    tags=("container", "devices"),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, "container-device-permission-denied"),
)

NVML_LOST = (999, 17)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in a container that has GPU device nodes while NVML returns 999 or 17."""
    if not container_kind(s):
        need("container.kind", s.container.kind)
        raise Skip("not in a container")
    if absent(s.driver.nvml_init):
        raise Skip("no libnvidia-ml in this container", without="gpu")
    code = need("driver.nvml_init", s.driver.nvml_init)
    if code not in NVML_LOST:
        return
    need("driver.device_nodes", s.driver.device_nodes)
    if not nodes_of(s, "gpu"):
        raise Skip("no GPU device nodes in this container", without="gpu")
    error = m.nvml_error(code)
    yield CHECK.fail(
        "This container has lost its GPUs: the host rewrote its device rules",
        f"The device nodes are in /dev, but NVML returns {code}{f' ({error.message})' if error else ''}. "
        "A new container on the same host will work; if it does not, look for Xid lines in the host's kernel log.",
        facts={"nvml_init": code, "nodes": [n.path for n in nodes_of(s, "gpu") or []]},
        fixes=recreate_container(s),
        direct=False,
    )
