"""The limit on locked memory is too low for RDMA.

What is wrong: InfiniBand and RoCE register (lock) the memory that they send from. This process's limit is too low for
that.

Symptoms: NCCL reports `Call to ibv_reg_mr failed` or `ibv_create_cq failed with error Cannot allocate memory`.

Why it happens: the default is 8 MiB (64 KiB before Linux 5.16), and a container gets the limit of its engine's service.
Without RDMA that is enough: the driver allocates PyTorch's pinned memory, and that memory does not count toward the
limit.

How to fix it: start the container with `--ulimit memlock=-1`, or raise the limit in limits.conf.

Threshold: memlock_warn_kib (16777216, 16 GiB), for machines with RDMA devices (/dev/infiniband) and several GPUs; with
one GPU, or with a limit below 64 KiB but no RDMA devices, the finding is only a note.

Source: NCCL, ibvwrap.cc; Open MPI FAQ on locked memory; Linux commit 9dcc38e2813e (MLOCK_LIMIT); systemd commit
852b62507b22; the driver's open kernel module, which reads no RLIMIT_MEMLOCK.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.limits import unlimited_memlock
from ..snapshot import Snapshot, known, need
from ._readings import limit

CHECK = Check(
    __name__,
    title="The limit on locked memory is low",
    sound="The limit on locked memory is high enough",
    severity="warning",
    layer="container",
    tags=("limits", "network"),
)

_SMALL_KIB = 64


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if there are RDMA devices and locked memory is limited."""
    size = need("host.memlock_kib", s.host.memlock_kib)
    if size == -1:
        return
    devices = known(s.host.rdma_devices)
    facts = {"memlock_kib": size, "rdma_devices": devices}
    if devices and size < limit(p, "memlock_warn_kib", 16 << 20):
        make = CHECK.warn if len(known(s.gpus) or ()) > 1 else CHECK.remark
        yield make(
            f"Locked memory is limited to {size} KiB, and this machine has RDMA devices",
            "NCCL over InfiniBand or RoCE locks its buffers in memory, which fails at this limit.",
            facts=facts,
            fixes=(unlimited_memlock(s),),
        )
    elif size < _SMALL_KIB:
        yield CHECK.remark(f"Locked memory is limited to {size} KiB", facts=facts, fixes=(unlimited_memlock(s),))
    elif devices is None:
        need("host.rdma_devices", s.host.rdma_devices)
