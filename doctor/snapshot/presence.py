"""Whether there is an NVIDIA GPU at all, by every witness that was asked, and what they call it."""

from __future__ import annotations

from .fact import Missing, known
from .snapshot import Snapshot


def reported_names(s: Snapshot) -> list[str]:
    """What NVML and CUDA call the GPUs and MIG instances here; empty if neither gives an answer."""
    names: list[str | Missing] = []
    for gpu in known(s.gpus) or ():
        names += [gpu.name, *(instance.name for instance in known(gpu.mig_instances) or ())]
    names += [device.name for device in known(s.driver.cuda_devices) or ()]
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and name]


def no_card(s: Snapshot) -> bool:
    """Whether the PCI list was read and rules a GPU out, and no other witness saw one (as no-nvidia-gpu judges).

    A driver call that hung or crashed saw none and rules none out: programs hang in it all the same.
    """
    devices = known(s.driver.pci_devices)
    if devices is None or known(s.host.wsl) in (1, 2) or s.driver.faults:
        return False
    seen = (known(s.gpus), known(s.driver.cuda_devices), known(s.driver.device_nodes))
    return not any(seen) and not any(device.vendor == "10de" for device in devices)


def no_sign(s: Snapshot) -> bool:
    """Whether somebody looked for a GPU, and nothing at all speaks of one: no card, node, module, library or answer."""
    d = s.driver
    facts = (s.gpus, d.pci_devices, d.device_nodes, d.modules, d.libcuda_path, d.nvml_library_path, d.cu_init)
    looked = any(not isinstance(fact, Missing) or fact.reason == "absent" for fact in facts)
    return looked and not _sign(s)


def _sign(s: Snapshot) -> bool:
    d = s.driver
    cards = any(x.vendor == "10de" and not x.class_code.startswith("0680") for x in known(d.pci_devices) or ())
    libraries = (d.nvml_library_path, d.libcuda_path)
    library = d.libcuda_stub is not True and any(not isinstance(path, Missing) for path in libraries)
    answers = d.cu_init == 0 or d.nvml_init == 0 or bool(known(s.gpus)) or bool(known(d.cuda_devices))
    module = not isinstance(d.kernel_version, Missing) or "nvidia" in (known(d.modules) or ())
    return bool(cards or known(d.device_nodes) or module or library or answers)
