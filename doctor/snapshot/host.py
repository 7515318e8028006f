"""Facts about the operating system, its limits, and the container (if any) that we are in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section


class EnvVar(Struct, frozen=True):
    """One environment variable that matters to CUDA, torch or the container runtime."""

    name: str
    value: str


class Disk(Struct, frozen=True):
    """Free space where an install step would write. `role`: environment, pip-cache, tmp, home."""

    role: str
    path: str
    free_mib: int
    writable: bool = True


class Host(Section, frozen=True, kw_only=True, omit_defaults=True):
    """Operating system, machine and limits of the place where the patient runs."""

    system: str | Missing = NOT_ASKED
    """linux, windows or darwin."""
    os_name: str | Missing = NOT_ASKED
    """As in os-release PRETTY_NAME: `Ubuntu 22.04.4 LTS`."""
    os_id: str | Missing = NOT_ASKED
    """os-release ID (ubuntu, debian, rhel ...): chooses the package manager of a fix."""
    os_version: str | Missing = NOT_ASKED
    kernel: str | Missing = NOT_ASKED
    """uname -r. The kernel belongs to the host, also inside a container."""
    architecture: str | Missing = NOT_ASKED
    """x86_64 or aarch64."""
    libc: str | Missing = NOT_ASKED
    """`glibc 2.35` or `musl 1.2.4`."""
    wsl: int | Missing = NOT_ASKED
    """0 (no WSL), 1 or 2."""
    virtualization: str | Missing = NOT_ASKED
    """none, kvm, vmware, hyperv, xen, amazon ... from DMI and cpuinfo."""
    chassis: str | Missing = NOT_ASKED
    """desktop, laptop, server or other, by the DMI chassis type; Missing(absent) if there is no DMI."""
    cpu_model: str | Missing = NOT_ASKED
    cpu_cores: int | Missing = NOT_ASKED
    """Logical cores that this process may run on (affinity)."""
    cpu_quota_cores: float | Missing = NOT_ASKED
    """cgroup quota in cores; Missing(absent) if there is no limit."""
    memory_total_mib: int | Missing = NOT_ASKED
    memory_limit_mib: int | Missing = NOT_ASKED
    """cgroup limit; Missing(absent) if there is no limit."""
    shm_mib: int | Missing = NOT_ASKED
    """Size (total) of /dev/shm."""
    disks: tuple[Disk, ...] | Missing = NOT_ASKED
    memlock_kib: int | Missing = NOT_ASKED
    """Locked-memory soft limit; -1 is unlimited."""
    open_files: int | Missing = NOT_ASKED
    """Open-file soft limit; -1 is unlimited."""
    rdma_devices: int | Missing = NOT_ASKED
    """Nodes /dev/infiniband/uverbs* (InfiniBand, RoCE, EFA) that are here; 0 if there is no such folder."""
    provider: str | Missing = NOT_ASKED
    """runpod, vast, lambda, modal, gcp, aws, azure, colab, kaggle ... ; Missing(absent) if nothing shows."""
    scheduler: str | Missing = NOT_ASKED
    """kubernetes, slurm ...: in whose job or pod this runs; Missing(absent) if nothing shows."""
    cluster_node: str | Missing = NOT_ASKED
    """kubernetes or slurm: whose node this host is, by the folder of its agent (kubelet, slurmd); Missing(absent) if
    there is none."""
    user_is_root: bool | Missing = NOT_ASKED
    secure_boot: bool | Missing = NOT_ASKED
    environment: tuple[EnvVar, ...] | Missing = NOT_ASKED
    """The variables of `doctor/patient/env_names.py` that are set (an empty value is kept: it matters)."""

    def env(self, name: str) -> str | Missing | None:
        """The variable's value, None if it is known to be unset, Missing where the environment was not read."""
        if isinstance(self.environment, Missing):
            return self.environment
        return next((v.value for v in self.environment if v.name == name), None)


ContainerKind: TypeAlias = Literal[
    "none", "docker", "podman", "containerd", "kubernetes", "apptainer", "gvisor", "lxc", "systemd-nspawn", "other"
]


class CompatLibrary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A forward-compatibility libcuda (cuda-compat) found on disk, and its allow-list note if it carries one."""

    path: str
    version: str | Missing = NOT_ASKED
    """Driver version in its file name, e.g. 590.44.01."""
    cuda_version: str | Missing = NOT_ASKED
    host_branches: tuple[int, ...] | Missing = NOT_ASKED
    """Host driver branches that its `.note.cuda.fwd_compatibility` allows."""
    brand_ids: tuple[int, ...] | Missing = NOT_ASKED
    """NVML brand numbers that the note allows."""
    loads: bool | Missing = NOT_ASKED
    """Whether the loader would take this file for libcuda.so.1."""


class Container(Section, frozen=True, kw_only=True, omit_defaults=True):
    """What the container was given."""

    kind: ContainerKind | Missing = NOT_ASKED
    evidence: str | Missing = NOT_ASKED
    """Which file or variable shows the kind."""
    visible_devices: str | Missing | None = NOT_ASKED
    """NVIDIA_VISIBLE_DEVICES; None if it is known to be unset."""
    driver_capabilities: str | Missing | None = NOT_ASKED
    """NVIDIA_DRIVER_CAPABILITIES; None if it is known to be unset."""
    requirements: tuple[EnvVar, ...] | Missing = NOT_ASKED
    """NVIDIA_REQUIRE_* variables."""
    require_disabled: bool | Missing = NOT_ASKED
    image_cuda: str | Missing | None = NOT_ASKED
    """CUDA_VERSION of the image; None if unset."""
    image_torch: str | Missing | None = NOT_ASKED
    """torch version that the image's own variables or labels state (PYTORCH_VERSION, NVIDIA_PYTORCH_VERSION ...)."""
    image_torch_source: str | Missing = NOT_ASKED
    compat: tuple[CompatLibrary, ...] | Missing = NOT_ASKED
