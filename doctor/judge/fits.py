"""Which causes and which commands fit the place that a pasted text comes from."""

from __future__ import annotations

from msgspec.structs import replace

from ..snapshot import Missing, Snapshot, known
from .report import Need

_CONTAINERS = ("container-", "k8s-", "apptainer-", "nvml-unknown-error-container")
_HOST_MODULES = ("uvm-", "kernel-module-", "secure-boot-", "open-kernel-", "other-kernel-", "driver-not-loaded",
                 "device-nodes-", "dgpu-hidden-", "fabric-manager-")  # fmt: skip
_LINUX_ONLY = (*_CONTAINERS, *_HOST_MODULES, "driver-libs-not-on-", "libcuda-stub-", "ld-library-path-", "libc-",
               "shm-", "memlock-", "p2p-blocked-", "wsl-", "jetson-", "triton-libcuda-")  # fmt: skip
_OWN_MEMORY = ("program-fills-gpu", "program-fills-gpu-newer")
_LARGE_SHM = 4096
_WINDOWS = {
    "env | grep -E 'CUDA|NVIDIA|SLURM|NCCL'": "cmd /c \"set CUDA & set NVIDIA\"",
    "echo \"$LD_LIBRARY_PATH\"; ldconfig -p | grep -E 'libcuda|cudnn|nccl|nvJitLink'":
        "where.exe nvcuda.dll cudart64_*.dll cublas64_*.dll cudnn64_*.dll",
    "nvcc --version; gcc --version; echo $CUDA_HOME": "nvcc --version; where.exe nvcc cl; cmd /c \"set CUDA\"",
}  # fmt: skip
"""The same question in a Windows shell."""


def cannot_be(s: Snapshot, name: str) -> bool:
    """Whether the place rules a cause out."""
    wsl = known(s.host.wsl) in (1, 2)
    kernel = known(s.host.kernel) or ""
    if known(s.host.system) == "darwin":
        return True  # there is no CUDA for macOS
    if known(s.torch.build) in ("rocm", "xpu"):
        return name != "no-nvidia-gpu"
    if known(s.torch.build) == "cpu" and any(symptom.id == "no-driver-in-report" for symptom in s.symptoms):
        return name not in ("cpu-only-torch", "driver-not-installed", "no-nvidia-gpu", "wsl-version-without-gpu")
    if name in ("wsl-version-without-gpu", "driver-not-installed") and s.driver.nvml_init == 0:
        return True
    if name == "jetson-generic-wheel" and known(s.torch_run.cuda_available):
        return all(symptom.id == "jetpack-told" for symptom in s.symptoms if name in symptom.suggests)
    if known(s.host.system) == "windows" and not wsl:
        return name.startswith(_LINUX_ONLY)
    if name == "wsl-pinned-memory-limit" and "allocator-spoke" in {symptom.id for symptom in s.symptoms}:
        return True
    if name == "shm-too-small":
        return (known(s.host.shm_mib) or 0) > _LARGE_SHM
    if name.startswith("wsl-"):
        return not wsl and (bool(kernel) or known(s.host.wsl) == 0)
    if name.startswith(_HOST_MODULES):
        return wsl
    if name.startswith("jetson-"):
        return known(s.host.architecture) == "x86_64"
    if name == "gpu-memory-held-by-stale-process":
        return any(symptom.id in _OWN_MEMORY for symptom in s.symptoms)
    return False


def hardly(s: Snapshot, name: str) -> bool:
    """Whether the place makes a cause unlikely: a container of which nothing is said."""
    outside = isinstance(s.container.kind, Missing) and isinstance(s.host.scheduler, Missing)
    return outside and known(s.host.wsl) in (1, 2) and name.startswith(_CONTAINERS)


def told_already(s: Snapshot, command: str) -> bool:
    """Whether the text holds what this command prints."""
    if command == "nvidia-smi":
        return s.driver.nvml_init == 0 and any(known(g.memory_used_mib) is not None for g in known(s.gpus) or ())
    if command.endswith("torch.utils.collect_env"):
        facts = (s.torch.version, s.torch.cuda, s.driver.version, s.host.os_name, s.torch_run.cuda_available, s.gpus)
        return not any(isinstance(fact, Missing) for fact in facts)
    return False


def in_its_shell(s: Snapshot, need: Need) -> Need:
    """The command as it is typed there."""
    command = need.command
    if known(s.host.system) == "windows" and known(s.host.wsl) not in (1, 2):
        command = _WINDOWS.get(command, command)
    if known(s.container.kind) == "podman" and command.startswith("docker "):
        command = "podman inspect CONTAINER | grep -i nvidia; nvidia-ctk cdi list"
    return replace(need, command=command)
