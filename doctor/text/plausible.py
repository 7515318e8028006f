"""Which causes are plausible in the place a text comes from, and how a command is typed there."""

from __future__ import annotations

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..formats.lazy import lazy
from ..judge.report import Need
from ..snapshot import Missing, Snapshot, known

_CONTAINERS = (
    "container-",
    "engine-lacks-",
    "cdi-spec-",
    "rootless-engine-",
    "k8s-",
    "apptainer-",
    "nvml-unknown-error-container",
)
_HOST_MODULES = ("uvm-", "kernel-module-", "secure-boot-", "open-kernel-", "other-kernel-", "driver-not-loaded",
                 "device-nodes-", "dgpu-hidden-", "fabric-manager-")  # fmt: skip
_LINUX_ONLY = (*_CONTAINERS, *_HOST_MODULES, "driver-libs-not-on-", "libcuda-stub-", "ld-library-path-", "libc-",
               "shm-", "memlock-", "acs-redirects-", "wsl-", "jetson-", "triton-libcuda-")  # fmt: skip
AT_A_KERNEL = frozenset(("no-kernel-image", "torch-not-compatible", "torch-gpu-too-old", "kernel-image-in-extension"))
"""Messages of a CUDA that has started: it found the GPU and had no code for it."""
_BEFORE_A_KERNEL = frozenset(
    ("cpu-only-torch", "driver-too-old-for-cuda-build", "driver-not-loaded", "driver-not-installed",
     "bundled-cuda-libs-missing", "container-no-gpu-flag", "cuda-visible-devices-wrong", "uvm-device-missing")
)  # fmt: skip
_JETSON = ("jetson", "orin", "xavier", "tegra", "thor", "nano")
_NEVER_DROPPED = (8, 0)
"""The lowest compute capability that every torch build since holds code for."""
_ALWAYS_HELD = (6, 1)
"""The highest compute capability that every torch build of 1.0 or newer held code for when it came out."""
_GSP, _OPEN_ONLY = (7, 5), (10, 0)
"""The open kernel module drives GPUs from Turing on; from Blackwell on no other does."""
_OWN_MEMORY = frozenset(("program-fills-gpu", "program-fills-gpu-newer", "smi-process-listed"))
_GIVEN_NO_GPU = ("container-no-gpu-flag", "engine-lacks-gpu-support", "k8s-runtimeclass-missing",
                 "k8s-gpu-not-advertised", "apptainer-without-nv", "container-device-permission-denied")  # fmt: skip
_OWN_HEADER = lazy(r"fatal error: \S{1,200}\.(?:hpp|hxx|hh): No such file")
"""Of a C++ project: neither the C library, Python nor CUDA's compiler brings headers of such names."""
_EXCLUDES = {
    "program-cli-proc-denied": ("container-device-permission-denied",),
    "program-inforom-corrupted": ("gpu-hardware-ecc-fault",),
    "program-other-device-lost": ("gpu-fell-off-bus",),
    "vfio-in-use": ("other-kernel-driver-bound",),
    "gpu-held-by-stub": ("other-kernel-driver-bound",),
    "smi-none": ("driver-not-loaded", "driver-not-installed"),
    "shared-memory-no-descriptor": ("shm-too-small",),
    "program-shared-memory-maps": ("shm-too-small",),
}
"""A message, and the causes that it is no sign of, though it is worded like their messages."""
_FLOORS = {"xformers-operator-capability": (7, 5), "sglang-below-floor": (7, 5)}
"""A message, and the lowest compute capability of a GPU of which its program never says this."""
_DENIED = lazy(r"(?i)permission denied|\(13\)|\bEACCES\b")
_ITS_PATH = lazy(r"(?<![\w.])/[\w.+-]{2,60}(?:/[\w.+-]{1,80}){1,12}|</torch_\w{1,60}>")
_NODE = lazy(r"/dev/(?:nvidia|dxg|nv(?:host|map|gpu)|dri\b|vfio\b|char\b|kfd\b)")
_LARGE_SHM = 4096
_OF_NOBODY_MIB = 1000
_WINDOWS = {
    "env | grep -E 'CUDA|NVIDIA|SLURM|NCCL'": 'cmd /c "set CUDA & set NVIDIA"',
    "echo \"$LD_LIBRARY_PATH\"; ldconfig -p | grep -E 'libcuda|cudnn|nccl|nvJitLink'": (
        "where.exe nvcuda.dll cudart64_*.dll cublas64_*.dll cudnn64_*.dll"
    ),
    "nvcc --version; gcc --version; echo $CUDA_HOME": 'nvcc --version; where.exe nvcc cl; cmd /c "set CUDA"',
}
"""The same question in a Windows shell."""


def is_ruled_out(s: Snapshot, name: str) -> bool:
    """Whether the text rules out a cause, even if no check could judge it."""
    named = {name for x in s.symptoms if not x.mention for name in (x.decides, *x.suggests)}
    if name not in named and (any(name in _EXCLUDES.get(one, ()) for one in _message_ids(s)) or _of_a_file(s, name)):
        return True
    return _by_build(s, name) or _by_environment(s, name) or _by_gpus(s, name) or _by_messages(s, name)


def _of_a_file(s: Snapshot, name: str) -> bool:
    """Whether the line for which a cause is suspected denies the access to a file: the GPU's nodes are suspected, and
    the file is none of them, or /dev/shm is suspected to be too small."""
    if name not in ("container-device-permission-denied", "shm-too-small"):
        return False
    line = next((one.text for one in s.ranked if one.cause == name), "")
    denied = bool(_DENIED.search(line) and _ITS_PATH.search(line))
    return denied and (name == "shm-too-small" or not _NODE.search(line))


def _by_build(s: Snapshot, name: str) -> bool:
    if known(s.host.system) == "darwin":
        return True  # there is no CUDA for macOS
    if known(s.torch.build) in ("rocm", "xpu") or "amd-gpu" in _message_ids(s):
        return name != "no-nvidia-gpu"
    if known(s.torch.build) == "cpu" and "no-driver-in-report" in _message_ids(s):
        return name not in ("cpu-only-torch", "driver-not-installed", "no-nvidia-gpu", "wsl-version-without-gpu")
    return name == "cpu-only-torch" and known(s.torch.build) == "cuda"


def _by_environment(s: Snapshot, name: str) -> bool:
    wsl = known(s.host.wsl) in (1, 2)
    if known(s.host.system) == "windows" and not wsl:
        return name.startswith(_LINUX_ONLY)
    if name.startswith("wsl-"):
        return not wsl and (bool(known(s.host.kernel)) or known(s.host.wsl) == 0)
    if name.startswith("jetson-") and known(s.host.architecture) == "x86_64":
        return True
    if name == "shm-too-small":
        return (known(s.host.shm_mib) or 0) > _LARGE_SHM
    if name == "container-image-ships-driver-libs" and wsl and known(s.container.kind) is None:
        return True  # no image is spoken of
    if name == "apptainer-without-nv":
        return known(s.container.kind) not in (None, "apptainer")
    return wsl and name.startswith(_HOST_MODULES)


def _by_gpus(s: Snapshot, name: str) -> bool:
    gpus = known(s.gpus) or ()
    if name == "jetson-generic-wheel":
        names = [text.lower() for gpu in gpus if (text := known(gpu.name))]
        return bool(names) and not any(word in text for text in names for word in _JETSON)
    levels = [tuple(map(int, cc.split("."))) for gpu in gpus if (cc := known(gpu.compute_capability))]
    if not levels or len(levels) < len(gpus):
        return False
    if name in ("torch-dropped-old-gpu-sm", "cudnn-dropped-old-gpu"):
        return min(levels) >= _NEVER_DROPPED
    if name == "torch-lacks-new-gpu-sm":
        return max(levels) <= _ALWAYS_HELD
    if name == "open-kernel-module-required" and (flavour := known(s.driver.kernel_flavour)):
        return min(levels) >= _GSP if flavour == "open" else max(levels) < _OPEN_ONLY
    return False


def _by_messages(s: Snapshot, name: str) -> bool:
    message_ids = _message_ids(s)
    if name in _BEFORE_A_KERNEL and message_ids & AT_A_KERNEL:
        return True
    if name == "jetson-generic-wheel" and known(s.torch_run.cuda_available):
        suggesting = {symptom.id for symptom in s.symptoms if name in symptom.suggests}
        return not message_ids & AT_A_KERNEL or suggesting <= {"jetpack-told"}
    if name in ("wsl-version-without-gpu", "driver-not-installed", "driver-not-loaded"):
        return s.driver.nvml_init == 0 or (
            "nvidia-smi-works" in message_ids and known(s.container.kind) in (None, "none")
        )
    if name in _GIVEN_NO_GPU and "smi-in-container" in message_ids:
        return True
    if name == "ptx-newer-than-driver":
        return "ptxas-older-than-ptx" in message_ids
    if name == "extension-lacks-gpu-arch":
        return _about_another_gpu(s, name)
    if name == "wsl-pinned-memory-limit":
        return "allocator-spoke" in message_ids
    if name == "k8s-gpu-not-advertised":
        return "k8s-node-offers-gpu" in message_ids
    if name == "jit-build-toolchain-missing":
        return any(symptom.unknown and _OWN_HEADER.search(symptom.text) for symptom in s.symptoms)
    if name == "uvm-device-missing":
        return "nvidia_uvm" in (known(s.driver.modules) or ())
    return name == "gpu-memory-held-by-stale-process" and bool(message_ids & _OWN_MEMORY or _little_memory(s))


def _about_another_gpu(s: Snapshot, name: str) -> bool:
    """Whether every message that suggests this names the lowest GPU that it takes, and the text's GPUs are no lower."""
    floors = [_FLOORS.get(symptom.id) for symptom in s.symptoms if name in symptom.suggests]
    have = [numbers(known(gpu.compute_capability) or "") for gpu in known(s.gpus) or ()]
    return bool(floors and have) and all(floor and all(cap >= floor for cap in have) for floor in floors)


def _little_memory(s: Snapshot) -> bool:
    """Whether each GPU's memory is told, and none has more in use than its driver and a desktop take."""
    used = [known(gpu.memory_used_mib) for gpu in known(s.gpus) or ()]
    return bool(used) and all(mib is not None and mib < _OF_NOBODY_MIB for mib in used)


def _message_ids(s: Snapshot) -> set[str]:
    return {symptom.id for symptom in s.symptoms}


def is_answered(s: Snapshot, command: str) -> bool:
    """Whether the text contains what this command prints."""
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
