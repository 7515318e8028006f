"""An environment variable slows CUDA down or breaks it.

What is wrong: a variable meant for debugging or profiling, or for a different machine, is set for every program.

Symptoms: these depend on the variable. Everything is several times slower (CUDA_LAUNCH_BLOCKING), programs run out of
memory or start slowly (CUDA_MODULE_LOADING=EAGER), hang after an error (CUDA_DEVICE_WAITS_ON_EXCEPTION), or are slow on
several GPUs (NCCL_P2P_DISABLE).

Why it happens: somebody set the variable on advice from a forum to find an error, and then left it in .bashrc, a
notebook or a Dockerfile.

How to fix it: unset the variable, and set it only for the run that needs it. A variable that costs nothing as long as
everything works is only a note. Variables that affect only multi-GPU programs are ignored on a machine with one GPU.

Source: CUDA C++ Programming Guide, environment variables; NCCL user guide, environment variables; PyTorch
documentation, CUDA environment variables.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.selection import unset
from ..snapshot import Snapshot, known, need
from ._bad_variables import ANY, PEER, SEVERAL_GPUS, VARIABLES

CHECK = Check(
    __name__,
    title="An environment variable slows CUDA down or breaks it",
    sound="No variable that is known to slow CUDA down or break it is set",
    severity="warning",
    layer="speed",
    tags=("environment", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Each variable in the table that is set to a value that matters."""
    values = {v.name: v.value.strip() for v in need("host.environment", s.host.environment)}
    gpus = len(known(s.gpus) or ())
    for row in VARIABLES:
        value = values.get(row.name, "")
        if not value or (row.values != ANY and value.lower() not in row.values):
            continue
        if row.name in SEVERAL_GPUS and gpus == 1:
            continue
        harmless = row.level == "remark" or (row.name in PEER and not _can_copy_directly(s))
        make = CHECK.remark if harmless else CHECK.warn
        shown = value if len(value) <= 60 else value[:57] + "..."
        yield make(
            f"{row.name}={shown}: {row.effect}",
            facts={"name": row.name, "value": value},
            subject=row.name,
            fixes=(unset(s, row.name),),
        )


def _can_copy_directly(s: Snapshot) -> bool:
    """Whether any two GPUs can, according to NVML; True if unknown."""
    pairs = known(s.gpu_pairs)
    statuses = [status for pair in pairs or () if (status := known(pair.p2p_read)) is not None]
    return not statuses or 0 in statuses
