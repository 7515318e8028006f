"""The processor's side (loading, decoding, threads) does not feed the GPU fast enough.

What is wrong: the GPU is idle most of the time; nothing about driver or torch is at fault.

How it shows: the data time of a training log is nearly the whole step time; GPU use jumps between 0 and 100 %; more
threads than cores.

Why it happens: too few loader workers, a slow disk, many small files, decoding on the processor, thread pools of every
process as large as the machine.

How to fix it: more workers, data on a local fast disk, decoded or cached beforehand; OMP_NUM_THREADS set to the cores
of each process.

Judged from the figures in a pasted text.

Source: PyTorch documentation, torch.utils.data; PyTorch performance tuning guide.
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
    title="The GPU waits for data",
    sound="The input pipeline keeps up with the GPU",
    severity="error",
    layer="speed",
    tags=("speed",),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Decided by the words of a text; skipped where no text says anything of it."""
    found = list(told(CHECK, s))
    if not found:
        raise Skip("only the words of a log or error show this")
    yield from found
