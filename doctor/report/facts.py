"""Short words for the facts that every renderer shows: GPUs, driver, torch, Python, place."""

from __future__ import annotations

from ..snapshot import CudaDevice, Gpu, Missing, PciDevice, Snapshot, known
from .blocks import show


def gpus(s: Snapshot) -> str:
    """`2x NVIDIA L4, NVIDIA T4`, by NVML, else by CUDA, else by the PCI bus; `no NVIDIA GPU`; `GPUs unknown`.

    If not all were counted: `at least 64x NVIDIA L4`.

    MIG shows (`1x NVIDIA A100 (MIG: 7 instances)`), and so does a list of CUDA that is shorter (`CUDA lists 2`).
    """
    given = tuple(gpu for gpu in known(s.gpus) or () if not _kept(gpu))
    found: tuple[Gpu | CudaDevice, ...] | None = given or known(s.driver.cuda_devices)
    if not found and (cards := [d for d in known(s.driver.pci_devices) or () if _is_card(d)]):
        return f"{len(cards)} NVIDIA GPU{'s' if len(cards) > 1 else ''} on the PCI bus"
    if not found and known(s.driver.pci_devices) is not None and not _off_the_bus(s):
        return "no NVIDIA GPU"
    if not found and isinstance(s.gpus, Missing):
        return "no GPU visible" if s.gpus.reason == "absent" else "GPUs unknown"
    if not found:
        return "no GPU"
    counts: dict[str, int] = {}
    for gpu in found:
        failed = isinstance(gpu.name, Missing) and gpu.name.reason == "error"
        name = known(gpu.name) or ("unresponsive GPU" if failed else "unnamed GPU")
        name += _mig(gpu) if isinstance(gpu, Gpu) else ""
        counts[name] = counts.get(name, 0) + 1
    listed = known(s.driver.cuda_devices) if s.driver.cu_init == 0 else None
    fewer = (
        not s.cap("cuda-devices")
        and listed is not None
        and 0 < len(listed) < len(found)
        and not any(" (MIG: " in name for name in counts)
    )
    suffix = f" (CUDA lists {len(listed or ())})" if fewer else ""
    cap = s.cap("text-gpus") or s.cap("gpus" if given else "cuda-devices")
    suffix += f" (the first {cap.looked} of {cap.listed})" if cap and cap.listed else ""
    least = "at least " if cap and not cap.listed else ""
    return least + ", ".join(f"{count}x {name}" for name, count in counts.items()) + suffix


def _kept(gpu: Gpu) -> bool:
    """NVML counts it and may not open it: it was not given to this session."""
    return all(isinstance(fact, Missing) and fact.reason == "denied" for fact in (gpu.name, gpu.uuid))


def _mig(gpu: Gpu) -> str:
    instances = known(gpu.mig_instances)
    if gpu.mig_enabled is not True or instances is None:
        return ""
    return f" (MIG: {len(instances) or 'no'} instance{'s' * (len(instances) != 1)})"


def _is_card(device: PciDevice) -> bool:
    """Whether it is a GPU of NVIDIA (no NVSwitch)."""
    return device.vendor == "10de" and not device.class_code.startswith("0680")


def _off_the_bus(s: Snapshot) -> bool:
    """Whether a GPU here need not be on the PCI bus: WSL shows /dev/dxg, a Jetson's is part of the chip."""
    return bool(known(s.host.wsl)) or any(node.kind == "tegra" for node in known(s.driver.device_nodes) or ())


def driver(s: Snapshot) -> str:
    """`driver 580.82.07`; `no driver`; `driver unknown`."""
    version = s.driver.version
    if isinstance(version, Missing):
        return "no driver" if version.reason == "absent" else "driver unknown"
    return f"driver {version}"


def torch(s: Snapshot) -> str:
    """`torch 2.8.0+cu128`; `no torch`; `torch unknown`."""
    version = s.torch.version
    if isinstance(version, Missing):
        return "no torch" if version.reason == "absent" else "torch unknown"
    return f"torch {version}"


def cuda(s: Snapshot) -> str:
    """The highest CUDA that the driver supports, such as `13.0`, or an empty string."""
    return known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version) or ""


def python(s: Snapshot) -> str:
    """`Python 3.11.9 (venv /opt/venv)`, or `Python unknown`."""
    patient = s.python.patient
    version, kind, prefix = known(patient.version), known(patient.kind), known(patient.prefix)
    if not version and not prefix:
        return "Python unknown"
    environment = " ".join(word for word in (kind, prefix) if word)
    return f"Python {version or 'of unknown version'}" + (f" ({environment})" if environment else "")


def system_name(s: Snapshot) -> str:
    """`Ubuntu 22.04.4 LTS in docker on runpod`, from what is known."""
    words = [known(s.host.os_name) or known(s.host.system) or "unknown system"]
    if known(s.host.wsl):
        words.append(f"(WSL{known(s.host.wsl)})")
    kind = known(s.container.kind)
    if kind and kind != "none":
        words.append("in a container" if kind == "other" else f"in {kind}")
    if provider := known(s.host.provider):
        words.append(f"on {provider}")
    return " ".join(words)


def table(s: Snapshot, only_known: bool) -> list[tuple[str, str]]:
    """Name and value of what a reader wants to know about a machine first; `only_known`: without unknown values."""
    rows = [
        ("System", system_name(s)),
        ("GPUs", gpus(s)),
        ("Driver", driver(s).removeprefix("driver ")),
        ("Highest CUDA the driver supports", cuda(s) or "unknown"),
        ("torch", torch(s).removeprefix("torch ")),
        ("torch's CUDA", show(s.torch.cuda)),
        ("Python", python(s).removeprefix("Python ")),
    ]
    return [row for row in rows if not only_known or not row[1].startswith("unknown")]
