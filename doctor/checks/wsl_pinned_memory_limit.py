"""WSL lets only part of the memory be pinned, and CUDA reports 'out of memory'.

What is wrong: inside WSL the amount of page-locked system memory is limited. A large pinned buffer fails although the
GPU and the system have memory left.

How it shows: `cudaHostAlloc` or a data loader with pin_memory fails with `out of memory` while nvidia-smi shows free
memory.

Why it happens: Windows' memory manager caps what one virtual machine may pin.

How to fix it: do without pin_memory, use smaller pinned buffers, or give WSL more memory in .wslconfig.

Judged from the words of a pasted text.

Source: CUDA on WSL user guide, known limitations.
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
    title="WSL limits pinned memory",
    sound="WSL allows enough pinned memory",
    severity="error",
    layer="libraries",
    tags=("wsl",),
    downstream_of=("wsl-version-without-gpu",),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
