"""The device plugin cannot see GPUs, so the node offers none and pods that ask for one stay pending.

What is wrong: the plugin's own pod has no NVML, because its container was started without the NVIDIA runtime; or the
plugin does not run on the node at all.

How it shows: `0/1 nodes are available: 1 Insufficient nvidia.com/gpu`, and in the plugin's log `could not load NVML
library`, `Failed to initialize NVML`, `No devices found. Waiting indefinitely`.

Why it happens: the node's container engine has runc as its default runtime and the plugin's pod has no runtime class;
the toolkit is not installed; the driver does not work on the node.

How to fix it: make the NVIDIA runtime the engine's default, or give the plugin's pod runtimeClassName: nvidia; then
restart the engine and the plugin.

Judged from events and the plugin's log in a pasted text.

Source: github.com/NVIDIA/k8s-device-plugin, README.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip, told
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="The node offers no GPU to Kubernetes",
    sound="The node offers its GPU to Kubernetes",
    severity="critical",
    layer="container",
    tags=("container", "kubernetes"),
    downstream_of=("no-nvidia-gpu", "driver-not-installed", "container-runtime-not-configured"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
