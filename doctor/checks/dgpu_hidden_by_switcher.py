"""A hybrid-graphics tool has turned the discrete GPU off.

What is wrong: on laptops with two GPUs, a tool (prime-select, supergfxctl, envycontrol, optimus-manager, a switch in
the firmware) cuts the NVIDIA GPU's power or keeps its driver from loading.

How it shows: the GPU is missing from lspci or nvidia-smi although the driver is installed; the tool says intel,
integrated or on-demand.

Why it happens: the mode was chosen to save power, or a package update set it.

How to fix it: choose the mode nvidia, hybrid or on-demand in that tool, and restart.

Judged from what the tool prints in a pasted text.

Source: manual pages of prime-select, supergfxctl, envycontrol.
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
    title="A tool has switched the discrete GPU off",
    sound="The discrete GPU is switched on",
    severity="critical",
    layer="hardware",
    tags=("gpu", "laptop"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
