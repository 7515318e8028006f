"""`gpudoctor what-if`: a Snapshot with its driver, GPUs, Python or torch replaced.

What follows from the change is set; what only a new check could find out is Missing('recheck'); all else stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..fixes.machine import driver_platform
from ..fixes.where import RECHECK, cuda_changes, driver_changes, recheck_run
from ..snapshot import ABSENT, Container, Gpu, Host, Measured, Missing, Python, Snapshot, Target, known
from .machine import Card

if TYPE_CHECKING:
    from compat_matrix import Matrix

_OF_A_BOARD = (
    "key", "index", "name", "uuid", "serial", "vbios", "brand_id", "architecture_id", "pci_address", "pci_device_id",
    "pci_subsystem_id", "compute_capability", "memory_total_mib", "ecc_enabled", "ecc_uncorrected_aggregate",
    "remapped_rows_correctable", "remapped_rows_uncorrectable", "row_remap_failed", "retired_pages",
    "power_default_w", "power_min_w", "power_max_w", "pcie_gen_device_max", "integrated", "mig_enabled",
    "mig_instances",
)  # fmt: skip
"""What a GPU keeps across a reboot. The rest is its state, or depends on the driver."""
_ANSWERS = ("device_names", "device_capabilities", "first_call_error", "kernel_error")


def in_words(os: str, arch: str) -> Snapshot:
    """A machine of which only the operating system is known: `os` is linux, wsl or windows."""
    return Snapshot(
        target=Target(name="a machine you describe"),
        host=Host(
            system="windows" if os == "windows" else "linux",
            architecture=arch,
            wsl=2 if os == "wsl" else 0,
            environment=(),
        ),
        container=Container(kind="none"),
        python=Python(distributions=(), extensions=()),
    )


def with_driver(s: Snapshot, m: Matrix, version: str) -> dict[str, Any]:
    """The facts that change if this driver is fully installed and running."""
    branch = m.driver_branch(version, driver_platform(s)).row
    cuda = branch.cuda if branch and branch.cuda else RECHECK
    changes = driver_changes(
        driver__nvml_driver_version=version,
        driver__nvml_cuda_version=cuda,
        driver__nvml_library_version=version,
        driver__libcuda_version=version,
        driver__cuda_version=cuda,
        driver__module_built=RECHECK,
        driver__nvml_init_text=RECHECK,
        driver__cu_init_name=RECHECK,
        gpus=_kept_gpus(s, m),
        torch_run__warnings=(),
        **{f"torch_run__{name}": RECHECK for name in _ANSWERS},
        measured=_measured(s),
    )
    if driver_platform(s) == "linux":
        changes["driver.kernel_version"] = version
    else:  # its module is Windows' own
        changes["driver.kernel_version"] = s.driver.kernel_version
    return {**changes, **_stays(s), **_stale_import(s)}


def _stays(s: Snapshot) -> dict[str, Any]:
    """What a different driver does not change: the bus, a libcuda that is not the driver's own, a container's nodes."""
    d = s.driver
    kept: dict[str, Any] = {}
    cards = known(d.pci_devices)
    bound = [known(card.driver) for card in cards or () if card.vendor == "10de" and card.class_code.startswith("03")]
    ran = known(d.kernel_version) is not None
    if ran or not cards or all(name in ("nvidia", None) for name in bound):
        kept["driver.pci_devices"] = d.pci_devices
    if ran:  # the same module, nodes and number of GPUs, in a newer version
        for name in ("kernel_flavour", "modules", "nouveau_loaded", "device_nodes", "proc_gpus"):
            kept[f"driver.{name}"] = getattr(d, name)
    compat = any(known(library.loads) for library in known(s.container.compat) or ())
    if compat or known(d.libcuda_stub):
        for name in ("libcuda_path", "libcuda_version", "libcuda_stub", "libcuda_candidates", "cuda_version"):
            kept[f"driver.{name}"] = getattr(d, name)
    elif _own_libraries(s):
        for name in ("nvml_driver_version", "nvml_cuda_version", "nvml_library_version", "libcuda_version",
                     "cuda_version"):  # fmt: skip
            kept[f"driver.{name}"] = RECHECK
    return kept


def _own_libraries(s: Snapshot) -> bool:
    """Whether a container has driver libraries from its image, with a version other than the host's module."""
    module, library = known(s.driver.kernel_version), known(s.driver.libcuda_version)
    inside = known(s.container.kind) not in (None, "none")
    return inside and bool(module and library) and module != library


def _stale_import(s: Snapshot) -> dict[str, Any]:
    """A failed import may succeed with a different driver's libraries; a successful one stays successful."""
    if known(s.torch_run.imported) is False:
        return recheck_run(s)
    return {"torch_run.arch_list": RECHECK} if known(s.torch_run.arch_list) == () else {}


def _kept_gpus(s: Snapshot, m: Matrix) -> tuple[Gpu, ...] | Missing:
    """The GPUs present, according to NVML, else the PCI bus; Missing if neither names them all."""
    found = known(s.gpus)
    if found:
        return tuple(_rested(gpu) for gpu in found)
    cards = [c for c in known(s.driver.pci_devices) or () if c.vendor == "10de" and c.class_code.startswith("03")]
    boards = []
    for i, card in enumerate(cards):
        match = m.gpu(None, card.device)
        if not match.capability:
            return RECHECK
        name = match.rows[0].name if len(match.rows) == 1 else RECHECK
        boards.append(
            Gpu(
                key=card.address,
                index=i,
                name=name,
                pci_address=card.address,
                pci_device_id=card.device,
                compute_capability=match.capability,
            )
        )
    return tuple(_rested(gpu) for gpu in boards) or RECHECK


def _rested(gpu: Gpu) -> Gpu:
    """The GPU with its state to be checked again; what it lacks, it still lacks."""
    changes = {
        name: RECHECK for name in gpu.__struct_fields__ if name not in _OF_A_BOARD and not _lacks(getattr(gpu, name))
    }
    return cast(Gpu, gpu.with_(**changes))


def _lacks(value: Any) -> bool:
    return isinstance(value, Missing) and value.reason == "absent"


def _measured(s: Snapshot) -> Measured:
    """Measurements belong to the old machine: those that were made have to be repeated."""
    if s.measured == Measured():
        return s.measured
    fresh = Measured()
    again = {name: RECHECK for name in fresh.__struct_fields__ if isinstance(getattr(fresh, name), Missing)}
    return cast(Measured, fresh.with_(**again))


def with_gpus(s: Snapshot, m: Matrix, cards: Sequence[Card]) -> dict[str, Any]:
    """The facts that change if these GPUs replace the present ones."""
    gpus: list[Gpu] = []
    for one in cards:
        rows = m.gpu(one.name).rows or m.gpus_like(one.name).rows
        row = rows[0] if len(rows) == 1 else None
        for _ in range(one.count):
            index = len(gpus)
            facts: dict[str, Any] = dict.fromkeys(Gpu.__struct_fields__, RECHECK)
            facts.update(key=f"gpu-{index}", index=index, compute_capability=one.capability, integrated=one.tegra)
            if not one.name.startswith("compute capability"):
                facts["name"] = row.name if row else one.name
            if row and len(row.device_ids) == 1:
                facts["pci_device_id"] = row.device_ids[0].lower()
            if row and len(row.memory_mib) == 1:
                facts["memory_total_mib"] = row.memory_mib[0]
            if row and not row.mig:
                facts.update(mig_enabled=ABSENT, mig_instances=())
            gpus.append(Gpu(**facts))
    changes: dict[str, Any] = {
        "gpus": tuple(gpus),
        "gpu_pairs": () if len(gpus) == 1 else RECHECK,
        "driver.pci_devices": RECHECK,
        "measured": _measured(s),
    }
    if s.driver.kernel_version == ABSENT and known(s.driver.version) is None:
        return changes  # there is no driver whose answers could change
    return {
        **changes,
        **cuda_changes(
            driver__faults=(),
            torch_run__warnings=(),
            **{f"torch_run__{name}": RECHECK for name in _ANSWERS},
            **{f"driver__{name}": RECHECK for name in _OF_THE_CARDS},
        ),
        **_stale_import(s),
    }


_OF_THE_CARDS = (
    "device_nodes", "proc_gpus", "unlisted_gpus", "nvml_init", "nvml_init_text", "nvml_gpu_count",
    "cu_init_name",
)  # fmt: skip


def with_python(s: Snapshot, version: str) -> dict[str, Any]:
    """The facts that change if the same packages are in an environment with this Python ('3.12', '3.13t')."""
    from msgspec.structs import replace

    packages = known(s.python.distributions)
    again = {"writable", "headers", "ensurepip", "executable", "prefix"}
    patient = {f"python.patient.{name}": RECHECK for name in again}
    return {
        **recheck_run(s),
        **patient,
        "python.patient.version": version.rstrip("t"),
        "python.patient.free_threaded": version.endswith("t"),
        "python.patient.externally_managed": False,
        "python.distributions": s.python.distributions
        if packages is None
        else tuple(replace(d, wheel="") for d in packages),
        "measured": _measured(s),
    }
