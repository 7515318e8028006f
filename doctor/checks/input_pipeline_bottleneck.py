"""The CPU side (loading, decoding, threads) does not feed the GPU fast enough.

What is wrong: the GPU is idle most of the time; neither the driver nor PyTorch is at fault.

How it shows: in the training log, data time is nearly the whole step time; GPU utilization jumps between 0 and 100 %;
there are more threads than cores.

Why it happens: too few loader workers, a slow disk, many small files, decoding on the CPU, or every process running one
thread for each core of the machine.

How to fix it: use more workers; keep the data on a fast local disk, decoded or cached beforehand; set OMP_NUM_THREADS
to the number of cores that each process has.

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
