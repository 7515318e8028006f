"""What an install has to fit: the GPUs that programs see, the driver's version scheme, the wheel platform."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from compat_matrix.versions import tag_cuda, torch_version

from ..findings import Matrix
from ..snapshot import Gpu, Missing, Snapshot, known
from .where import guest


class SeenGpu(Struct, frozen=True):
    """A GPU with its compute capability ('' if unknown). `hidden`: known not to be visible to programs."""

    key: str
    name: str
    capability: str
    hidden: bool = False


def seen_gpus(s: Snapshot, m: Matrix) -> list[SeenGpu] | None:
    """Every GPU from NVML, else from libcuda, else from torch; None if none of them could list the GPUs."""
    found = known(s.gpus)
    if found:
        return [SeenGpu(g.key, known(g.name) or "GPU", _capability(g, m), is_hidden(s, g)) for g in found]
    devices = known(s.driver.cuda_devices)
    if devices:
        return [
            SeenGpu(known(d.uuid) or f"gpu-{d.ordinal}", known(d.name) or "GPU", known(d.compute_capability) or "")
            for d in devices
        ]
    names, capabilities = known(s.torch_run.device_names) or (), known(s.torch_run.device_capabilities) or ()
    if capabilities:
        return [SeenGpu(f"gpu-{i}", names[i] if i < len(names) else "GPU", cc) for i, cc in enumerate(capabilities)]
    return [] if found == () else None


def _capability(g: Gpu, m: Matrix) -> str:
    if not isinstance(g.compute_capability, Missing):
        return g.compute_capability
    match = m.gpu(known(g.name), known(g.pci_device_id), known(g.pci_subsystem_id), known(g.memory_total_mib))
    return match.capability


def is_hidden(s: Snapshot, g: Gpu) -> bool:
    """Whether this GPU is known not to be given to programs here: CUDA lists it neither by UUID nor by address.

    Where CUDA was not asked, UUIDs in CUDA_VISIBLE_DEVICES tell.
    """
    devices = known(s.driver.cuda_devices)
    mine = known(g.uuid)
    shown = s.host.env("CUDA_VISIBLE_DEVICES")
    if not devices and isinstance(shown, str) and shown.startswith("GPU-") and mine is not None:
        return not any(mine.startswith(part.strip()) for part in shown.split(",") if part.strip())
    if not devices or any(known(d.uuid) is None or str(known(d.uuid)).startswith("MIG") for d in devices):
        return False
    uuids, addresses = {known(d.uuid) for d in devices}, {known(d.pci_address) for d in devices}
    return mine is not None and mine not in uuids and (known(g.pci_address) or "-") not in addresses


def visible_gpus(s: Snapshot, m: Matrix) -> list[SeenGpu]:
    """The GPUs that programs here get; where no driver names one, the NVIDIA boards on the PCI bus that are known."""
    found = [gpu for gpu in seen_gpus(s, m) or () if not gpu.hidden]
    if found:
        return found
    boards = [(d, m.gpu(None, d.device)) for d in known(s.driver.pci_devices) or () if d.vendor == "10de"]
    return [
        SeenGpu(board.address, match.rows[0].name if len(match.rows) == 1 else "GPU", match.capability)
        for board, match in boards
        if match.capability
    ]


def cards(s: Snapshot, m: Matrix) -> dict[str, tuple[str, str]]:
    """Address or key -> (name, compute capability) of every GPU of NVIDIA on the bus, or that NVML lists."""
    found: dict[str, tuple[str, str]] = {}
    for gpu in known(s.gpus) or ():
        row = m.gpu(known(gpu.name), known(gpu.pci_device_id))
        capability = known(gpu.compute_capability) or row.capability
        found[known(gpu.pci_address) or gpu.key] = (known(gpu.name) or "GPU", capability)
    for card in known(s.driver.pci_devices) or ():
        if card.vendor != "10de" or card.class_code.startswith("0680") or card.address in found:
            continue
        if isinstance(card.driver, str) and card.driver != "nvidia":
            continue  # held by another driver, on purpose or not: this one's drivers do not count
        row = m.gpu(pci_device_id=card.device)
        names = {one.name for one in row.rows}
        name = row.rows[0].name if len(names) == 1 else f"PCI device 10de:{card.device}"
        found[card.address] = (name, row.capability)
    return found


def not_listed(s: Snapshot, m: Matrix) -> list[SeenGpu]:
    """Cards on the bus, of another kind than those that NVML lists, that it does not list; none in a container or job,
    which has the cards that it was given, and none where NVML lists no GPU."""
    listed = known(s.gpus)
    if not listed or guest(s):
        return []
    own = {known(gpu.pci_address) or gpu.key for gpu in listed}
    seen = {capability for key, (_, capability) in cards(s, m).items() if key in own}
    return [
        SeenGpu(key, name, capability)
        for key, (name, capability) in cards(s, m).items()
        if key not in own and capability and capability not in seen
    ]


def capabilities(s: Snapshot, m: Matrix) -> list[str]:
    """The different compute capabilities that programs here get, oldest first."""
    return kinds(visible_gpus(s, m))


def kinds(gpus: Iterable[SeenGpu]) -> list[str]:
    """The different compute capabilities of these GPUs, oldest first."""
    found = {g.capability for g in gpus if g.capability}
    return sorted(found, key=lambda cc: tuple(int(part) for part in cc.split(".") if part.isdecimal()))


def without_code(s: Snapshot, m: Matrix, has_code: Callable[[str], bool]) -> list[str]:
    """`NVIDIA GeForce GTX 1080 (sm_61)`: the cards that what is installed here has no code for, whether or not the
    driver or a variable shows them to programs; in a container or job those that it was given."""
    given = [(gpu.name, gpu.capability) for gpu in visible_gpus(s, m)]
    found = given if guest(s) else [*given, *cards(s, m).values()]
    return sorted({f"{name} (sm_{cc.replace('.', '')})" for name, cc in found if cc and not has_code(cc)})


def driver_version(s: Snapshot, m: Matrix) -> str | None:
    """The driver that a build has to fit: the one that runs, else the version of a branch that reports the same CUDA
    (where only the CUDA version is known: a pasted text, a module that is not loaded); None where neither is known."""
    version = known(s.driver.version)
    reported = known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version)
    if version is not None or reported is None:
        return version
    rows = [row.latest_seen for row in m.drivers if row.cuda == reported and row.latest_seen]
    return rows[0] if rows and driver_platform(s) == "linux" else None


def torch_cuda(s: Snapshot, m: Matrix) -> str:
    """The CUDA version that torch was built with: as it says, by its tag, or that of PyPI's wheel; '' unknown."""
    known_cuda = known(s.torch.cuda) or known(s.torch_run.cuda)
    parts = torch_version(known(s.torch.version) or "")
    if known_cuda or parts is None or parts.kind != "release":
        return known_cuda or ""
    tag = parts.tag or (None if parts.local else m.pypi_tag(parts.base, wheel_platform(s)))
    return (tag_cuda(tag) if tag else None) or ""


def jetson(s: Snapshot, m: Matrix) -> str:
    """What shows that this is a Jetson board, whose driver is part of JetPack; '' if nothing does."""
    kernel = known(s.host.kernel) or ""
    if "tegra" in kernel:
        return f"kernel {kernel}"
    if any(node.kind == "tegra" for node in known(s.driver.device_nodes) or ()):
        return "Tegra device nodes"
    for gpu in seen_gpus(s, m) or ():
        row = m.compute_capability(gpu.capability or "")
        if row and row.tegra:
            return gpu.name
    return ""


def driver_platform(s: Snapshot) -> Literal["linux", "windows"]:
    """Whose numbers the driver carries: Windows and WSL use the Windows driver."""
    return "windows" if known(s.host.system) == "windows" or known(s.host.wsl) in (1, 2) else "linux"


def wheel_platform(s: Snapshot) -> str:
    """The matrix's word for the platform of wheels: linux_x86_64, linux_aarch64 or windows."""
    if known(s.host.system) == "windows":
        return "windows"
    return "linux_aarch64" if known(s.host.architecture) in ("aarch64", "arm64") else "linux_x86_64"


def names_no_system(s: Snapshot) -> bool:
    """Whether a text says nothing about its system: a plain install of torch differs between Linux and Windows, where
    it brings the CPU build; one from the index of a CUDA version does not."""
    facts = (s.host.system, s.host.os_id, s.host.wsl, s.host.kernel, s.container.kind, s.host.provider)
    return s.is_text and all(known(fact) is None for fact in facts)


def glibc(s: Snapshot) -> str:
    """'2.35' of a Linux with glibc; '' where that is not known."""
    name, _, version = (known(s.host.libc) or "").partition(" ")
    return version if name == "glibc" else ""


def python_version(s: Snapshot) -> str | None:
    """The patient's Python as the matrix names it (`3.11.9`, `3.13t` for free-threaded); None where unknown."""
    version = known(s.python.patient.version)
    if version and known(s.python.patient.free_threaded):
        return ".".join(version.split(".")[:2]) + "t"
    return version
