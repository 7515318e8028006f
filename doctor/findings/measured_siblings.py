"""GPUs of one model in one machine beside each other: which of them is slower than the others. Needs no table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..snapshot import Gpu, Rate, Snapshot, known
from ..snapshot.siblings import BELOW, below_siblings
from .measured_gpu import gpu_of
from .measured_rates import mig_slice

COPY_SHARE = 0.6
"""Of the siblings' copies: the way to the host differs by the node and the switch that a GPU is on."""
_KINDS = {"matmul": BELOW, "memory": BELOW, "copy": COPY_SHARE}


class Slower(NamedTuple):
    """A figure of a device that is below its siblings', and their median."""

    rate: Rate
    median: float

    @property
    def percent(self) -> int:
        return round(100 * self.rate.value / self.median)


def alike(s: Snapshot, link: bool = False) -> list[list[str]]:
    """torch's names of the GPUs that were measured, those of one model and power limit together (`link`: and of one
    PCIe link, by which copies are compared); two or more."""
    return _groups(_measured(s), link)


class _Device(NamedTuple):
    device: str
    gpu: Gpu | None
    name: str


def _measured(s: Snapshot) -> list[_Device]:
    """The whole GPUs that were measured."""
    found = []
    for device in dict.fromkeys([r.device for r in known(s.measured.rates) or ()]):
        if not device.startswith("cuda:") or ">" in device:
            continue
        gpu = gpu_of(s, device)
        name = name_of(s, device, gpu)
        if name and not mig_slice(gpu, name):
            found.append(_Device(device, gpu, name))
    return found


def _groups(devices: Iterable[_Device], link: bool) -> list[list[str]]:
    groups: dict[tuple[object, ...], list[str]] = {}
    for device, gpu, name in devices:
        groups.setdefault((name, *_about(gpu, link)), []).append(device)
    return [group for group in groups.values() if len(group) > 1]


def name_of(s: Snapshot, device: str, gpu: Gpu | None = None) -> str:
    """The GPU's name by torch, else by NVML. gpu: which it is, where that is known."""
    proof = next((p for p in known(s.measured.torch) or () if p.device == device), None)
    gpu = gpu or gpu_of(s, device)
    return (proof.name if proof else "") or (known(gpu.name) if gpu else None) or ""


def _about(gpu: Gpu | None, link: bool) -> tuple[object, ...]:
    if gpu is None:
        return ()
    return (known(gpu.power_limit_w), *((known(gpu.pcie_gen_max), known(gpu.pcie_width_max)) if link else ()))


def slower(s: Snapshot) -> dict[str, list[Slower]]:
    """Device to its figures that are below the siblings'. Pageable copies say nothing of a GPU."""
    found: dict[str, list[Slower]] = {}
    rates = [r for r in known(s.measured.rates) or () if r.kind in _KINDS and not r.what.endswith(("pageable", "far"))]
    figures: dict[tuple[str, str], dict[str, Rate]] = {}
    for rate in rates:
        of_device = figures.setdefault((rate.kind, rate.what), {})
        if rate.value > 0:
            of_device[rate.device] = rate
    devices = _measured(s) if rates else []
    groups = {link: _groups(devices, link) for link in (False, True)}
    for (kind, _), of_device in figures.items():
        for group in groups[kind == "copy"]:
            own = {device: rate for device, rate in of_device.items() if device in group}
            for device, median in below_siblings({d: r.value for d, r in own.items()}, _KINDS[kind]).items():
                found.setdefault(device, []).append(Slower(own[device], median))
    return found


def at_once(rates: Iterable[Rate]) -> int:
    """How many GPUs worked at the same time while these were measured; 0 if that was not so."""
    return int(max((r.detail.get("at_once", 0) for r in rates if r.kind == "matmul"), default=0))
