"""The container engine cannot hand out GPUs: the NVIDIA Container Toolkit is missing, old or not configured for it.

What is wrong: Docker, Podman and containerd need the toolkit's runtime, hook or CDI specification to put the driver
into a container. This engine has none.

How it shows: `could not select device driver "" with capabilities: [[gpu]]`, `unknown or invalid runtime name: nvidia`,
`unresolvable CDI devices nvidia.com/gpu=all`, `stat nvidia.com/gpu=0: no such file or directory`.

Why it happens: the toolkit is not installed, the engine was not restarted afterwards, Docker comes from snap or runs
rootless with another configuration, or the engine is too old for CDI.

How to fix it: install nvidia-container-toolkit, run `nvidia-ctk runtime configure` for the engine (or make the CDI
specification), and restart the engine.

The engine reports this before a container exists, so it is judged from its error in a pasted text.

Source: NVIDIA Container Toolkit, installation guide and troubleshooting.
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
    title="The container engine has no NVIDIA runtime",
    sound="The container engine has an NVIDIA runtime",
    severity="critical",
    layer="container",
    tags=("container",),
    downstream_of=("no-nvidia-gpu", "driver-not-installed"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
