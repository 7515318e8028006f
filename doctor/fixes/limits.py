"""Fixes for the limits of a container or process: shared memory, locked memory, files, cores, memory."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .where import MANAGED, PROVIDERS, container_kind, host_sudo, on_host

SHM_MIB = 8192
_KUBERNETES_SHM = (
    "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n"
    "containers: [{volumeMounts: [{name: shm, mountPath: /dev/shm}]}]"
)
_DOCKER = "Start the container again with this option (in compose: the key of the same name under the service)."


def _start(s: Snapshot, fix_id: str, title: str, text: str, command: str, changes: dict[str, Any]) -> Fix:
    name = known(s.host.provider) or ""
    if name in PROVIDERS and container_kind(s) != "kubernetes":
        text += f" On {PROVIDERS[name].name}: set it in the template or instance options, or choose a larger instance."
        command = "" if name in MANAGED else command
    return Fix(
        id=fix_id, title=title, steps=(Step(text=text, command=command, where="container-start", changes=changes),)
    )


def less_shm(s: Snapshot) -> Fix:
    """The program with less shared memory: where /dev/shm cannot be made larger."""
    step = Step(
        text="Pass tensors between workers as files, or load data in the main process (num_workers=0).",
        command='torch.multiprocessing.set_sharing_strategy("file_system")',
        where="code",
        changes={"host.shm_mib": SHM_MIB},
    )
    return Fix(id="less-shared-memory", title="Use less shared memory", steps=(step,))


def more_shm(s: Snapshot) -> Fix:
    """A larger /dev/shm."""
    kind = container_kind(s)
    command = _KUBERNETES_SHM if kind == "kubernetes" else "docker run --shm-size=8g ..."
    if kind == "podman":
        command = command.replace("docker", "podman")
    return _start(
        s,
        "more-shared-memory",
        "Start the container with a larger /dev/shm",
        _DOCKER,
        command,
        {"host.shm_mib": SHM_MIB},
    )


def unlimited_memlock(s: Snapshot) -> Fix:
    """No limit on locked memory."""
    changes = {"host.memlock_kib": -1}
    kind = container_kind(s)
    if kind:
        text, command = _DOCKER, f"{'podman' if kind == 'podman' else 'docker'} run --ulimit memlock=-1:-1 ..."
        if kind == "kubernetes":
            text = "With IPC_LOCK there is no limit; otherwise, set LimitMEMLOCK=infinity in the service of the node's "
            text += "container engine."
            command = "securityContext: {capabilities: {add: [IPC_LOCK]}}"
        elif kind == "apptainer":
            text = "The container inherits the limit of the shell that starts it; if you cannot raise it, ask the "
            text += "administrator."
            command = "ulimit -l unlimited"
        return _start(
            s, "unlimited-memlock", "Start the container without a limit on locked memory", text, command, changes
        )
    line = r'"$USER soft memlock unlimited\n$USER hard memlock unlimited\n"'
    return Fix(
        id="unlimited-memlock",
        title="Lift the limit on locked memory",
        steps=(
            on_host(
                s,
                "This applies to the current user; log in again afterwards. For a service, set LimitMEMLOCK=infinity "
                "in its unit.",
                f"printf {line} | {host_sudo(s)}tee /etc/security/limits.d/memlock.conf",
                changes,
            ),
        ),
    )


def more_files(s: Snapshot, count: int) -> Fix:
    """A higher limit of open files, for this shell."""
    step = Step(
        text="To make it permanent: limits.conf, LimitNOFILE= in the service's unit, or docker run --ulimit nofile=...",
        command=f"ulimit -n {count}",
        where="shell",
        changes={"host.open_files": count},
    )
    return Fix(id="more-open-files", title="Allow more open files", steps=(step,))


def more_cores(s: Snapshot, cores: int) -> Fix:
    """More processor cores for the container or job."""
    changes = {"host.cpu_quota_cores": float(cores), "host.cpu_cores": max(cores, known(s.host.cpu_cores) or 0)}
    kind = container_kind(s)
    command = f"resources: {{limits: {{cpu: '{cores}'}}}}" if kind == "kubernetes" else f"docker run --cpus={cores} ..."
    if not kind:
        command = f"systemctl set-property UNIT CPUQuota={cores}00%   # Slurm: --cpus-per-task={cores}"
    return _start(
        s,
        "more-cores",
        f"Start with {cores} or more processor cores",
        "Each GPU needs several cores for its process and for loading data.",
        command,
        changes,
    )


def more_memory(s: Snapshot, mib: int) -> Fix:
    """A higher memory limit of the container or job."""
    gib = max(1, -(-mib // 1024))
    kind = container_kind(s)
    command = f"docker run --memory={gib}g ..."
    if kind == "kubernetes":
        command = f"resources: {{limits: {{memory: {gib}Gi}}}}"
    elif not kind:
        command = f"systemctl set-property UNIT MemoryMax={gib}G   # Slurm: --mem={gib}G"
    return _start(
        s,
        "more-memory",
        f"Start with {gib} GiB of memory or more",
        "A process above the limit is killed without a Python error.",
        command,
        {"host.memory_limit_mib": gib * 1024},
    )
