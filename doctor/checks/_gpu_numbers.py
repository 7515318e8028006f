"""Three numbers that are easily confused: the machine's GPUs, this session's GPUs, and the GPUs in CUDA's list.

The machine's GPUs are those that the driver holds (/proc/driver/nvidia/gpus), or else those on the PCI bus. The
session's GPUs are those that NVML lists and is allowed to open: a container, cgroup or job may be given only some.
CUDA's list has those of them that CUDA_VISIBLE_DEVICES leaves visible. A GPU in MIG mode counts as its instances, and
CUDA shows a process at most one of them.

Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, device enumeration; CUDA C++ Programming Guide, environment
variables; nvmlDeviceGetCount_v2 in nvml.h, which counts GPUs that may not be opened.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..fixes.where import container_kind
from ..snapshot import CudaDevice, Gpu, Missing, Snapshot, known
from ..snapshot.cap import CapOf
from ._seen import is_wsl, nvidia_cards

MASK = "CUDA_VISIBLE_DEVICES"
_EVERY = ("all", "none", "void", "")


def machine(s: Snapshot) -> int | None:
    """GPUs of the machine, from the driver (on a host) or the PCI bus; None if neither reports it."""
    held = known(s.driver.proc_gpus)
    if held and not container_kind(s):
        return held
    cards = None if is_wsl(s) or s.cap("pci-devices") else nvidia_cards(s)
    return len(cards) if cards else None


def session(s: Snapshot) -> list[Gpu] | None:
    """GPUs that NVML lists and this session may open; None if NVML lists nothing."""
    return None if isinstance(s.gpus, Missing) else [gpu for gpu in s.gpus if not denied(gpu)]


def cuda(s: Snapshot) -> tuple[CudaDevice, ...] | None:
    """CUDA's devices; None if it does not start or was not asked."""
    return known(s.driver.cuda_devices) if s.driver.cu_init == 0 else None


def denied(gpu: Gpu) -> bool:
    """NVML counts it and may not open it: it was not given to this session."""
    return all(isinstance(fact, Missing) and fact.reason == "denied" for fact in (gpu.name, gpu.uuid, gpu.pci_address))


def in_mig_mode(gpus: Iterable[Gpu]) -> bool:
    """Whether any of them is in MIG mode: CUDA's number of devices then says nothing about theirs."""
    return any(gpu.mig_enabled is True for gpu in gpus)


def usable(gpus: Iterable[Gpu]) -> list[str] | None:
    """Names of what programs can use, with instances for each GPU in MIG mode; None if those are not known."""
    names: list[str] = []
    for gpu in gpus:
        name = known(gpu.name) or ""
        if gpu.mig_enabled is not True:
            names.append(name)
        elif isinstance(gpu.mig_instances, Missing):
            return None
        else:
            names += [known(instance.name) or f"{name} MIG instance" for instance in gpu.mig_instances]
    return names


def unlisted(gpus: Iterable[Gpu], devices: Iterable[CudaDevice]) -> list[Gpu]:
    """The GPUs that CUDA does not list, by UUID or PCI address."""
    identifiers = {identifier for d in devices for identifier in (known(d.uuid), known(d.pci_address)) if identifier}
    return [gpu for gpu in gpus if not identifiers & {known(gpu.uuid), known(gpu.pci_address)}]


def cuda_names(gpus: Iterable[Gpu], devices: Iterable[CudaDevice]) -> list[str]:
    """Names of CUDA's devices, as NVML calls them if it lists them."""
    by_identifier = {
        identifier: known(gpu.name) for gpu in gpus for identifier in (gpu.uuid, gpu.pci_address) if known(identifier)
    }
    found = ((by_identifier.get(d.uuid) or by_identifier.get(d.pci_address), known(d.name)) for d in devices)
    return [by_nvml or own or "" for by_nvml, own in found]


def cuda_mask(s: Snapshot) -> str:
    """`CUDA_VISIBLE_DEVICES=0,1`, empty if it is not set."""
    value = known(s.host.env(MASK))
    return "" if value is None else f"{MASK}={value}"


def container_mask(s: Snapshot) -> str:
    """`NVIDIA_VISIBLE_DEVICES=0,1`, empty if the container was given all or the variable decides nothing."""
    value = known(s.container.visible_devices)
    if not container_kind(s) or value is None or value.strip() in _EVERY:
        return ""
    return f"NVIDIA_VISIBLE_DEVICES={value}"


def facts(s: Snapshot) -> dict[str, int]:
    """The three numbers as a finding's facts, as far as they are known."""
    given, listed = session(s), cuda(s)
    numbers = {
        "gpus_of_machine": machine(s),
        "gpus_of_session": None if given is None else _counted(s, "gpus", len(given)),
        "gpus_of_cuda": None if listed is None else _counted(s, "cuda-devices", len(listed)),
    }
    return {name: number for name, number in numbers.items() if number is not None}


def _counted(s: Snapshot, what: CapOf, looked: int) -> int | None:
    """The count itself, even if gpudoctor looked at only some of them."""
    cap = s.cap(what)
    return cap.listed if cap else looked


def words(s: Snapshot) -> str:
    """`This machine has 8 GPUs, NVML lists 8 GPUs for this session, CUDA lists 2 GPUs.`"""
    numbers = facts(s)
    clauses = (
        ("this machine has {} GPU{}", numbers.get("gpus_of_machine")),
        ("NVML lists {} GPU{} for this session", numbers.get("gpus_of_session")),
        ("CUDA lists {} GPU{}", numbers.get("gpus_of_cuda")),
    )
    sentence = ", ".join(text.format(count, "s" * (count != 1)) for text, count in clauses if count is not None)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
