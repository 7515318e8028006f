"""The board's firmware or the kernel gave the GPU no usable memory windows (BARs).

What is wrong: the driver reaches the card through windows in the address space. Firmware that keeps them below 4 GB has
no room for those of a large GPU, and the kernel leaves them unassigned.

How it shows: `This PCI I/O region assigned to your NVIDIA device is invalid`, `BAR1 is 0M`, `BAR 1: no space for`,
`RmInitAdapter failed`; nvidia-smi prints `No devices were found`.

Why it happens: 'Above 4G decoding' is off, the firmware is old, several large GPUs are in one machine, or a virtual
machine was given too small a window.

How to fix it: turn 'Above 4G decoding' on in the firmware, update the firmware, or start the kernel with pci=realloc.

Judged from the kernel log in a pasted text.

Source: NVIDIA driver README, chapter on common problems; kernel log of the PCI subsystem.
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
    title="The GPU has no usable memory window",
    sound="The GPU's memory windows are usable",
    severity="critical",
    layer="hardware",
    tags=("gpu", "firmware"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
