"""How rows about GPUs and boards must agree: chips, compute capabilities, names and PCI devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code import compute_capability

if TYPE_CHECKING:
    from .rows_gpu import Board
    from .store import Store


def _gpus(m: Store) -> list[str]:
    problems = []
    specs = {row.id for row in m.gpu_specs}
    chips: dict[str, str] = {}
    rule = {"datacenter": ("yes",), "consumer": ("no",), "workstation": ("selected",)}
    for row in m.gpus:
        if row.id not in specs:
            problems.append(f"gpus {row.id}: no gpu_specs row")
        listed = compute_capability(m, row.cc)
        if row.cc and listed is None:
            problems.append(f"gpus {row.id}: compute capability {row.cc} is not listed")
        elif listed and not listed.architecture.startswith(row.architecture):
            problems.append(f"gpus {row.id}: {row.cc} is not {row.architecture}")
        if chips.setdefault(row.chip, row.cc) != row.cc:
            problems.append(f"gpus {row.id}: other {row.chip} GPUs have compute capability {chips[row.chip]}")
        if row.forward_compat not in rule.get(row.segment, ("jetson", "unknown")):
            problems.append(f"gpus {row.id}: forward_compat {row.forward_compat} for a {row.segment} GPU")
    return problems + [f"gpu_specs {key}: no gpus row" for key in sorted(specs - {row.id for row in m.gpus})]


def _bare(name: str) -> str:
    """A board's name without the vendor's, which some tables have and others do not."""
    return name.casefold().removeprefix("nvidia ")


def _boards(m: Store) -> list[str]:
    problems = []
    names = {_bare(row.name) for row in m.gpus}
    chips = {row.chip: row.cc for row in m.gpus if row.cc}
    seen: dict[tuple[str, str], str] = {}
    for row in m.boards:
        if (first := seen.setdefault((_bare(row.name), row.cc), row.name)) != row.name:
            problems.append(f"boards {row.name}: the same board as {first}")
        if compute_capability(m, row.cc) is None:
            problems.append(f"boards {row.name}: compute capability {row.cc} is not listed")
        if _bare(row.name) in names:
            problems.append(f"boards {row.name}: listed among gpus")
        problems += [
            f"boards {row.name}: another {chip} has compute capability {chips[chip]}"
            for chip in row.chips
            if chips.setdefault(chip, row.cc) != row.cc
        ]
    return problems


def _shared_devices(m: Store) -> list[str]:
    """A PCI device that boards share, told apart by their subsystems, has one chip: so one compute capability. One that
    GPUs share has one compute capability too (laptop GPUs of one name are made with two chips)."""
    capabilities: dict[str, dict[str, str]] = {}
    for gpu in m.gpus:
        for device in gpu.device_ids:
            capabilities.setdefault(device, {})[gpu.cc] = gpu.id
    problems = [
        f"gpus {' and '.join(found.values())}: PCI device {device} is in both, but they differ in compute capability"
        for device, found in capabilities.items()
        if len(found) > 1
    ]
    by_device: dict[str, list[Board]] = {}
    for row in m.boards:
        for device in row.device_ids:
            by_device.setdefault(device, []).append(row)
    for device, rows in by_device.items():
        names = " and ".join(row.name for row in rows)
        if len(rows) > 1 and not (
            len({row.cc for row in rows}) == 1 and set.intersection(*(set(r.chips) for r in rows))
        ):
            problems.append(f"boards {names}: PCI device {device} is in both, but they have no chip in common")
    return problems


GPU_RULES = (_gpus, _boards, _shared_devices)
