"""From statements to a Snapshot: agreement is a fact, contradiction is a conflict, silence is Missing('not-asked')."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..formats.lazy import lazy
from ..snapshot import (
    ABSENT,
    NOT_ASKED,
    Distribution,
    EnvVar,
    Gpu,
    GpuPair,
    Missing,
    PciDevice,
    Python,
    Snapshot,
    Target,
    Toolkit,
)
from .agree import agree, finer
from .merge_gpus import merge_gpus
from .statement import Statement

Witnesses = dict[str, tuple[str, ...]]
_MIXED = ("gpu", "pair", "package", "variable", "variable.unset", "toolkit", "jetson", "torch.cuda.none",
          "host.system.windows", "dkms")  # fmt: skip
_ARM = lazy(r"DGX Spark|\bGB10\b|\bG[HB][23]00\b|Jetson|\bOrin\b|\bXavier\b|\bThor\b|\bTegra", re.I)
_FAMILIES = ("gpu.", "installed.", "raised.")
"""Paths that are no facts of their own: they are put together here, or are conditions of messages."""


_OF_A_DRIVER = ("driver.nvml_driver_version", "driver.kernel_version", "driver.kernel_flavour", "installed.driver")
"""Where an NVIDIA driver is told, another maker's board is one of two (a laptop): it proves no absence."""


def merge(statements: Iterable[Statement], name: str) -> Snapshot:
    """One Snapshot of all statements of a text."""
    groups: dict[str, list[Statement]] = {}
    for statement in statements:
        rows = groups.setdefault(statement.path, [])
        if len(rows) < 50_000:
            rows.append(statement)
    s = Snapshot(target=Target(kind="text", name=name), python=Python(distributions_partial=True))
    changes: dict[str, Any] = {}
    witnesses: dict[str, tuple[str, ...]] = {}
    for path, rows in groups.items():
        if path in _MIXED or path.startswith(_FAMILIES):
            continue
        changes[path] = agree(path, rows)
        witnesses[path] = _lines(rows)
    if rows := groups.get("host.system.windows", []):
        # a WSL ticket names both systems: the program runs in the Linux one
        inside = any(path in groups for path in ("host.wsl",)) or "linux" in str(changes.get("host.kernel", ""))
        changes["host.system"] = "linux" if inside else "windows"
        witnesses["host.system"] = _lines(rows)
        if inside and "Windows" in str(changes.get("host.os_name", "")):
            changes.pop("host.os_name")
    gpus, cards = merge_gpus(groups)
    if gpus is not None:
        changes["gpus"] = gpus
        witnesses["gpus"] = _lines(groups.get("gpu", []) or groups.get("gpu.prose", []))
    if cards is not None and "driver.pci_devices" not in changes and not any(path in groups for path in _OF_A_DRIVER):
        changes["driver.pci_devices"] = cards
        witnesses["driver.pci_devices"] = _lines(groups["gpu"])
    if isinstance(gpus, tuple) and "host.architecture" not in changes and all(_ARM.search(str(g.name)) for g in gpus):
        changes["host.architecture"] = "aarch64"  # these boards sit beside an Arm processor only
        witnesses["host.architecture"] = witnesses["gpus"]
    if changes.get("host.system") == "darwin" and gpus is None:  # Apple's machines have no NVIDIA GPU
        changes["driver.pci_devices"] = (PciDevice(address="", vendor="106b", device=""),)
    if isinstance(gpus, tuple):
        _pairs(groups, gpus, changes, witnesses)
    _environment(groups, changes, witnesses)
    _packages(groups, changes, witnesses)
    _installed(groups, changes, witnesses)
    _driver(groups, changes)
    _dkms(groups, changes, witnesses)
    _os_by_kernel(changes)
    if "torch.cuda.none" in groups and isinstance(changes.get("torch.version"), str) and "torch.cuda" not in changes:
        hip = changes.get("torch.hip")
        if hip is None and changes.get("torch.build") in (None, "cpu"):
            changes["torch.cuda"] = ABSENT  # collect_env prints this for a build without CUDA
    cuda = changes.get("torch.cuda")
    no_cuda = isinstance(cuda, Missing) and cuda.reason == "absent"
    if no_cuda and "torch.hip" not in changes and isinstance(changes.get("torch.build", ABSENT), Missing):
        changes["torch.build"] = "cpu"
    if isinstance(changes.get("torch.version"), str):
        changes.setdefault("python.patient.torch_version", changes["torch.version"])
    return s.replace({**changes, "witnesses": {path: lines for path, lines in witnesses.items() if lines}})


def _pairs(
    groups: dict[str, list[Statement]], gpus: tuple[Gpu, ...], changes: dict[str, Any], witnesses: Witnesses
) -> None:
    """What lies between two GPUs, by their keys."""
    keys = {gpu.index: gpu.key for gpu in gpus}
    rows = groups.get("pair", [])
    levels = {(row.value[0], row.value[1]): row.value[2:] for row in rows}
    pairs = tuple(
        GpuPair(a=keys[a], b=keys[b], topology=level)
        if level is not None
        else GpuPair(a=keys[a], b=keys[b], nvlinks=links, p2p_nvlink=0)
        for (a, b), (level, links) in levels.items()
        if a in keys and b in keys
    )
    if pairs:
        changes["gpu_pairs"] = pairs
        witnesses["gpu_pairs"] = _lines(rows)


def _installed(groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: Witnesses) -> None:
    """Packages and modules on disk: they tell of the driver where nothing tells what runs."""
    wsl = changes.get("host.wsl") in (1, 2)
    container = changes.get("container.kind", "none") != "none"
    running = any(path in groups for path in ("driver.nvml_driver_version", "driver.kernel_version"))
    answers = any(row.value == 0 for row in groups.get("driver.nvml_init", []))  # so the library fits the module
    for path, source, counts in (
        ("driver.nvml_driver_version", "installed.driver", not wsl and not running),
        ("driver.kernel_flavour", "installed.flavour", not wsl and "driver.kernel_flavour" not in groups),
        (
            "driver.nvml_library_version",
            "installed.library",
            not wsl and not container and not answers and "driver.nvml_library_version" not in groups,
        ),
    ):
        if counts and (rows := groups.get(source, [])):
            changes[path] = agree(path, rows)
            witnesses[path] = _lines(rows)
    if rows := groups.get("toolkit", []):
        parts: dict[str, dict[str, str]] = {}
        for row in rows:
            path, part, version = row.value
            parts.setdefault(path, {})[part] = version
        changes["cuda.toolkits"] = tuple(
            Toolkit(path=path, version=found.get("toolkit", NOT_ASKED), nvcc=found.get("nvcc", NOT_ASKED))
            for path, found in parts.items()
        )
        witnesses["cuda.toolkits"] = _lines(rows)


def _driver(groups: dict[str, list[Statement]], changes: dict[str, Any]) -> None:
    """One driver runs: where NVML and the module are said to have two versions, neither is known.

    A text that tells of a mismatch (NVML's code 18, or the version of a library) is not in contradiction with itself.
    """
    nvml, module = changes.get("driver.nvml_driver_version"), changes.get("driver.kernel_version")
    if isinstance(nvml, Missing) and nvml.reason == "conflict":
        changes.setdefault("driver.kernel_version", nvml)
    library_paths = ("driver.nvml_library_version", "driver.libcuda_version")
    if not isinstance(nvml, str) or not isinstance(module, str) or any(path in changes for path in library_paths):
        return
    mismatch = any(row.value == 18 for row in groups.get("driver.nvml_init", []))
    if finer(nvml, module) is None and not mismatch:
        rows = [*groups.get("driver.kernel_version", []), *groups.get("driver.nvml_driver_version", [])]
        conflict = agree("driver.nvml_driver_version", [row._replace(weak=False) for row in rows])
        changes["driver.kernel_version"] = changes["driver.nvml_driver_version"] = conflict


_KERNELS_OF = (
    (r"-(?:generic|lowlatency)\b|-(?:aws|azure|gcp|oracle|oem|nvidia)$", "ubuntu"), (r"-amd64$|-arm64$", "debian"),
    (r"\.fc\d{2}\b", "fedora"), (r"\.el\d", "rhel"), (r"\.amzn\d", "amzn"), (r"-arch\d|-zen\d", "arch"),
    (r"-default$", "opensuse-leap"),
)  # fmt: skip
"""What the release of a distribution's kernel ends with: enough to name its package manager."""


def _os_by_kernel(changes: dict[str, Any]) -> None:
    kernel = changes.get("host.kernel")
    if "host.os_id" in changes or changes.get("container.kind", "none") != "none" or not isinstance(kernel, str):
        return
    if changes.get("host.wsl", 0) == 0:
        found = next((name for pattern, name in _KERNELS_OF if re.search(pattern, kernel)), None)
        if found:
            changes["host.os_id"] = found


def _dkms(groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: Witnesses) -> None:
    """`dkms status`: whether one of its modules is installed for the kernel that runs."""
    rows, kernel = groups.get("dkms", []), changes.get("host.kernel")
    if not rows or not isinstance(kernel, str) or "microsoft" in kernel.lower():
        return
    changes["driver.module_built"] = ("", "installed") in (row.value for row in rows) or any(
        row.value[0] == kernel and row.value[1] == "installed" for row in rows
    )
    witnesses["driver.module_built"] = _lines(rows)


def _lines(rows: list[Statement]) -> tuple[str, ...]:
    found: dict[int, str] = {}
    for row in rows[:64]:
        found.setdefault(row.line, f"line {row.line}: {row.text[:160]}")
    return tuple(list(found.values())[:8])


def _environment(groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: Witnesses) -> None:
    rows, unset = groups.get("variable", []), groups.get("variable.unset", [])
    found: dict[str, str] = {}
    for row in rows:
        name, value = row.value
        found[name] = value
    if found:
        changes["host.environment"] = tuple(EnvVar(name, value) for name, value in found.items())
        witnesses["host.environment"] = _lines(rows)
    if (value := found.get("NVIDIA_DRIVER_CAPABILITIES")) is not None:
        changes["container.driver_capabilities"] = value
    if (value := found.get("NVIDIA_VISIBLE_DEVICES")) is not None:
        changes["container.visible_devices"] = value
    if (value := found.get("LD_LIBRARY_PATH")) is not None:
        changes["cuda.ld_library_path"] = tuple(part for part in value.split(":") if part.startswith("/"))
    for row in unset:
        path = {
            "NVIDIA_DRIVER_CAPABILITIES": "container.driver_capabilities",
            "NVIDIA_VISIBLE_DEVICES": "container.visible_devices",
            "CUDA_HOME": "cuda.cuda_home",
        }.get(row.value)
        if path:
            changes.setdefault(path, None)
        elif row.value == "LD_LIBRARY_PATH":
            changes.setdefault("cuda.ld_library_path", ())


def _packages(groups: dict[str, list[Statement]], changes: dict[str, Any], witnesses: Witnesses) -> None:
    rows = groups.get("package", [])
    found: dict[str, str] = {}
    for row in rows:
        name, version = row.value
        if version is None:
            continue
        if name in found and finer(found[name], version) is None:
            continue  # two lists of one text: the first is told, torch itself is judged by its own lines
        found[name] = finer(found[name], version) or version if name in found else version
    if found:
        changes["python.distributions"] = tuple(Distribution(name=n, version=v, location="") for n, v in found.items())
        witnesses["python.distributions"] = _lines(rows)
