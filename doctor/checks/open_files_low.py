"""The limit on open files is low.

What is wrong: nothing fails yet. Data loader workers share tensors through open files, and NCCL opens one per
connection, so this shell's limit is quickly reached.

Symptoms: `Too many open files`, `received 0 items of ancdata` from a data loader.

Why it happens: 1024 is the soft limit of most shells; the hard limit is higher.

How to fix it: run `ulimit -n 65536` before you start the program.

Threshold: open_files (1024, or 4096 with several GPUs); a limit below it is only a note.

Source: PyTorch documentation, multiprocessing, sharing strategies.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.limits import more_files
from ..snapshot import Snapshot, known, need
from ._readings import limit

CHECK = Check(
    __name__,
    title="The limit on open files is low",
    sound="The limit on open files is high enough",
    severity="info",
    layer="container",
    tags=("limits",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A note below the threshold."""
    count = need("host.open_files", s.host.open_files)
    several = len(known(s.gpus) or ()) > 1
    if count == -1 or count >= limit(p, "open_files", 4096 if several else 1024):
        return
    yield CHECK.remark(
        f"A process can have only {count} files open", facts={"open_files": count}, fixes=(more_files(s, 65536),)
    )
