"""Evidence of a working driver, as yes, no or None (unknown). Shared by the driver and container checks."""

from __future__ import annotations

import re

from ..findings import Policy, Skip
from ..snapshot import DeviceNode, Gpu, LibraryFile, Missing, NeedsFact, PciDevice, Snapshot, known, need
from ..snapshot.cap import CapOf

DRIVERLESS = (
    "no-nvidia-gpu", "driver-not-installed", "driver-not-loaded", "other-kernel-driver-bound",
    "wsl-version-without-gpu",
)  # fmt: skip
"""Ids that say: there is no driver to talk to."""

NOT_GIVEN = (
    "container-no-gpu-flag", "k8s-runtimeclass-missing", "apptainer-without-nv", "gvisor-without-nvproxy",
    "scheduler-gpu-allocation",
)  # fmt: skip
"""Ids that say: this container or job was given no GPU."""

BROKEN_DRIVER = (
    "driver-not-answering", "container-image-ships-driver-libs", "driver-library-version-mismatch",
    "driver-too-old-for-gpu", "driver-dropped-gpu", "open-kernel-module-required", "wsl-linux-driver-installed",
)  # fmt: skip
"""Ids that say: there is a driver and it cannot drive this GPU."""

NODES = (
    "device-nodes-missing", "uvm-device-missing", "container-device-permission-denied",
    "nvml-unknown-error-container-cgroup",
)  # fmt: skip
"""Ids about device nodes."""

LIBRARIES = (
    "container-driver-capabilities-missing", "driver-libs-not-on-loader-path", "libcuda-stub-loaded",
    "cuda-compat-on-unsupported-gpu", "cuda-compat-conflict",
)  # fmt: skip
"""Ids about which libcuda is loaded, if any."""

STATE = (
    "fabric-manager-not-running", "gpu-fell-off-bus", "uvm-stale-after-suspend", "gpu-hardware-ecc-fault",
    "gpu-recovery-action-needed", "mig-limitations", "vgpu-unlicensed",
)  # fmt: skip
"""Ids about the state that a driver or GPU is in."""

ALL_CAUSES = (
    *DRIVERLESS, *NOT_GIVEN, *BROKEN_DRIVER, *NODES, *LIBRARIES, *STATE, "cuda-visible-devices-wrong",
    "exclusive-compute-mode",
)  # fmt: skip


def is_wsl(s: Snapshot) -> bool:
    """Whether this is known to be WSL 1 or 2."""
    return known(s.host.wsl) in (1, 2)


def nvidia_cards(s: Snapshot) -> list[PciDevice] | None:
    """NVIDIA's display-class PCI devices (no NVSwitch); None if the PCI list is not known."""
    if isinstance(s.driver.pci_devices, Missing):
        return None
    return [d for d in s.driver.pci_devices if d.vendor == "10de" and not d.class_code.startswith("0680")]


def not_on_pci(s: Snapshot) -> Skip:
    """Why a check of PCI cards has none: the GPU is elsewhere (Jetson, some vGPUs), or there is no GPU."""
    if known(s.gpus) or known(s.driver.cuda_devices) or nodes_of(s, "tegra"):
        return Skip("the GPU here is not on the PCI bus")
    return Skip("no NVIDIA GPU on the PCI bus", without="gpu")


def module_loaded(s: Snapshot) -> bool | None:
    """Whether the nvidia kernel module is loaded; False is certain only if the modules could be read."""
    d = s.driver
    if not isinstance(d.kernel_version, Missing) or d.cu_init == 0 or d.nvml_init == 0:
        return True
    gvisor = known(s.container.kind) == "gvisor"  # its own kernel shows none of the host's modules
    if not isinstance(d.modules, Missing) and not gvisor:
        return "nvidia" in d.modules
    cards = nvidia_cards(s)
    if any(card.driver == "nvidia" for card in cards or ()):
        return True
    # a PCI list is a real kernel's sysfs, so its silence about the driver counts
    return False if cards is not None and d.kernel_version.reason == "absent" and not gvisor else None


def need_module_loaded(s: Snapshot) -> bool:
    """Like `module_loaded`, or the check is unknown."""
    loaded = module_loaded(s)
    if loaded is None:
        need("driver.modules", s.driver.modules)
        raise NeedsFact("driver.kernel_version", Missing("absent"))
    return loaded


def nodes_of(s: Snapshot, *kinds: str) -> list[DeviceNode] | None:
    """Device nodes of these kinds; None if /dev was not read."""
    if isinstance(s.driver.device_nodes, Missing):
        return None
    return [node for node in s.driver.device_nodes if node.kind in kinds]


def absent(fact: object) -> bool:
    """Looked for and not there (not: could not look)."""
    return isinstance(fact, Missing) and fact.reason == "absent"


def is_compat(s: Snapshot, path: str) -> bool:
    """Whether this libcuda is a forward-compatibility one."""
    listed = known(s.container.compat) or ()
    return bool(re.search(r"/compat(_\w+)?(/|$)", path)) or any(c.path == path for c in listed)


def compat_in_use(s: Snapshot) -> str:
    """Path of the forward-compatibility libcuda that is loaded or would be; empty if there is none."""
    path = known(s.driver.libcuda_path)
    if path:
        return path if is_compat(s, path) else ""
    return next((c.path for c in known(s.container.compat) or () if c.loads is True), "")


def hidden_on_purpose(s: Snapshot, p: Policy) -> bool:
    """Whether CUDA_VISIBLE_DEVICES hides every GPU and none is asked for (`--expect any`): the CPU is intended."""
    value = known(s.host.env("CUDA_VISIBLE_DEVICES"))
    hides = value is not None and value.partition(",")[0].strip() in ("", "-1", "NoDevFiles")
    return hides and p.expect.kind == "any"


def first_cuda_code(s: Snapshot) -> int | None:
    """The first code that CUDA returned: cuInit's, else the one from torch's first call; None if neither was made."""
    codes = [code for fact in (s.driver.cu_init, s.torch_run.first_call_code) if (code := known(fact)) is not None]
    return next((code for code in codes if code != 0), 0 if codes else None)


def need_cuda_code(s: Snapshot) -> int:
    """Like `first_cuda_code`; skipped if there is no libcuda to ask, unknown if it was not asked."""
    code = first_cuda_code(s)
    if code is None and absent(s.driver.libcuda_path):
        raise Skip("libcuda was not found", without="gpu")
    return need("driver.cu_init", s.driver.cu_init) if code is None else code


def need_gpus(s: Snapshot) -> tuple[Gpu, ...]:
    """NVML's GPUs; skipped if there is no NVML to ask, unknown if its answer is not known."""
    if absent(s.driver.nvml_library_path) and isinstance(s.gpus, Missing):
        raise Skip("libnvidia-ml was not found", without="gpu")
    return need("gpus", s.gpus)


def need_whole(s: Snapshot, *lists: CapOf) -> None:
    """The check is unknown if gpudoctor stopped counting one of these lists, because its length is then not known."""
    for name in lists:
        if cap := s.cap(name):
            fact = {"cuda-devices": "driver.cuda_devices"}.get(name, name)
            raise NeedsFact(fact, Missing("not-asked", f"gpudoctor examined {cap.words}"))


def version_numbers(version: str) -> tuple[int, ...]:
    """`535.261.03` -> (535, 261, 3); empty if it is not a Linux driver version (Tegra's and WSL's are not)."""
    numbers = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:4])
    return numbers if numbers and numbers[0] >= 300 and len(numbers) >= 2 else ()


def same_version(a: str, b: str) -> bool | None:
    """Whether two driver versions are the same; None if one of them is not a full Linux driver version."""
    left, right = version_numbers(a), version_numbers(b)
    if left and right:
        return left == right
    branches = [v for v in (a, b) if len(v) == 3 and v.isdecimal()]  # `367`: a text that tells the branch alone
    return False if branches and a.partition(".")[0] != b.partition(".")[0] and len(branches) == 2 else None


def real_libcudas(s: Snapshot) -> list[LibraryFile]:
    """libcuda files on the loader's path that are neither stubs nor forward-compatibility ones."""
    files = known(s.driver.libcuda_candidates) or ()
    return [f for f in files if not f.stub and f.found_by != "elsewhere" and not is_compat(s, f.real_path or f.path)]
