"""The container's /dev/shm is too small.

What is wrong: /dev/shm is the shared memory through which data loader workers pass tensors to the main process, and in
which NCCL keeps buffers. Containers get 64 MiB unless you ask for more.

Symptoms: `DataLoader worker is killed by signal: Bus error`, `unable to open shared memory object`,
`No space left on device` from NCCL (`/dev/shm/nccl-...`), with num_workers above 0 or several GPUs.

Why it happens: Docker, containerd and Kubernetes provide 64 MiB by default.

How to fix it: use `--shm-size=8g` or `--ipc=host`; in Kubernetes, mount an emptyDir with medium Memory at /dev/shm. The
total size counts, not the free space.

Threshold: shm_warn_mib (64): a size at or below this is a warning.

Source: NCCL user guide, troubleshooting, shared memory; docs.docker.com, docker run --shm-size.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.limits import more_shm
from ..fixes.where import container_kind
from ..snapshot import Snapshot, need
from ._readings import limit
from ._seen import absent

CHECK = Check(
    __name__,
    title="/dev/shm is too small",
    sound="/dev/shm is larger than the warning threshold",
    severity="warning",
    layer="container",
    tags=("container", "limits"),
    source="docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns in a container with torch if the size of /dev/shm is a container's default or less."""
    need("container.kind", s.container.kind)
    if not container_kind(s):
        raise Skip("not in a container")
    if absent(s.torch.version):
        raise Skip("torch is not installed", without="torch")
    size = need("host.shm_mib", s.host.shm_mib)
    if size > limit(p, "shm_warn_mib", 64):
        return
    yield CHECK.warn(
        f"/dev/shm in this container has only {size} MiB",
        "Data loader workers and NCCL keep their buffers in it; when it is full, they crash with a bus error.",
        facts={"shm_mib": size},
        fixes=(more_shm(s),),
    )
