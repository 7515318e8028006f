"""Measured rates compared with what the matrix expects of that GPU, its power limit and its MIG slice."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from ..snapshot import Gpu, Load, Measured, Rate, Snapshot, known
from .measured_gpu import gpu_of

H2D = "h2d-pinned"
"""The copy that a link can be judged by; pageable copies are the CPU's."""
D2H = "d2h-pinned"
_BACK = 0.8
"""Copies to the host are a little slower on sound links too; no source tells a range of their own."""
_WORDS = {H2D: "from pinned host memory", D2H: "to pinned host memory"}
THERMAL = ("sw-thermal", "hw-thermal")


class Knows(Protocol):
    """The questions that are asked of the Matrix, which this room does not import."""

    def gpu(self, *about: Any, **more: Any) -> Any: ...
    def expected(self, *about: Any, **more: Any) -> Any: ...
    def peer_expected(self, *about: Any, **more: Any) -> Any: ...
    def code_for_gpu(self, *about: Any, **more: Any) -> Any: ...


class Ranged(NamedTuple):
    """A rate and its band (`compat_matrix.expectation.Expectation`). `name`: the GPU's; `slice`: a MIG profile.

    at_work: another program kept the GPU busy before the proof; busy: that, or one has a context on it.
    """

    rate: Rate
    band: Any
    name: str
    gpu: Gpu | None
    load: Load | None
    at_work: bool
    slice: str = ""

    @property
    def busy(self) -> bool:
        return self.at_work or bool(self.load and known(self.load.others))

    @property
    def low(self) -> bool:
        """Below the band."""
        return bool(self.band.basis != "unknown" and self.rate.value < self.band.low)

    @property
    def far_too_low(self) -> bool:
        """Below what only a fault explains; never by a share of a peak alone."""
        return bool(self.band.floor and self.rate.value < self.band.floor)

    @property
    def percent(self) -> int:
        """Of what is typical."""
        return round(100 * self.rate.value / self.band.typical) if self.band.typical else 0

    @property
    def subject(self) -> str:
        return self.gpu.key if self.gpu else self.rate.device

    def figures(self) -> str:
        """`bf16 742 TFLOP/s (normal: 632 to 790)`; if this model was not measured, its share of the peak."""
        words = f"{_WORDS.get(self.rate.what, self.rate.what)} {number(self.rate.value)} {self.rate.unit}"
        if self.band.basis == "unknown":
            return words
        if self.band.basis == "peak" and self.band.peak:
            share, least = (100 * part / self.band.peak for part in (self.rate.value, self.band.low))
            return f"{words} ({share:.0f} % of peak; similar boards reach {least:.0f} % or more)"
        return f"{words} (normal: {number(self.band.low)} to {number(max(self.band.high, self.band.typical))})"

    def facts(self) -> dict[str, Any]:
        """Stable names for a finding."""
        return {
            "what": self.rate.what,
            "value": self.rate.value,
            "unit": self.rate.unit,
            "basis": self.band.basis,
            "low": round(self.band.low, 2),
            "typical": round(self.band.typical, 2),
            "percent": self.percent,
        }


def number(value: float) -> str:
    """Three figures, no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ranged(s: Snapshot, m: Knows, kind: str) -> list[Ranged]:
    """Rates of one kind on GPUs: matmul, memory, or copy (pinned host memory alone)."""
    found, devices, alike = [], dict[str, _Device](), dict[tuple[Any, ...], dict[str, Any]]()
    for rate in known(s.measured.rates) or ():
        if rate.kind == kind and rate.device.startswith("cuda") and (kind != "copy" or rate.what in (H2D, D2H)):
            device = devices.get(rate.device)
            if device is None:
                device = devices[rate.device] = _device(s, m, rate.device, kind, alike)
            band = device.bands.get(rate.what)
            if band is None:
                band = device.bands[rate.what] = _band(m, device, kind, rate.what)
            found.append(Ranged(rate, band, *device.about))
    return found


class _Device(NamedTuple):
    """What is the same for all rates of a kind on a device."""

    about: tuple[str, Gpu | None, Load | None, bool, str]
    """The last fields of Ranged."""
    rows: tuple[Any, ...]
    more: dict[str, Any]
    bands: dict[str, Any]
    """By what was measured: those of all devices that are alike."""


def _device(s: Snapshot, m: Knows, device: str, kind: str, alike: dict[tuple[Any, ...], dict[str, Any]]) -> _Device:
    gpu = gpu_of(s, device)
    proof = next((p for p in known(s.measured.torch) or () if p.device == device), None)
    name = (known(gpu.name) if gpu else None) or (proof.name if proof else "")
    profile = mig_slice(gpu, proof.name if proof else "")
    more: dict[str, Any] = {"mig_profile": profile}
    if gpu:
        match = m.gpu(name, known(gpu.pci_device_id), known(gpu.pci_subsystem_id), known(gpu.memory_total_mib))
        more |= {
            "power_limit_w": known(gpu.power_limit_w),
            "power_default_w": known(gpu.power_default_w),
            "pcie_gen": known(gpu.pcie_gen_max),
            "pcie_width": known(gpu.pcie_width_max),
        }
    else:
        match = m.gpu(name or None, None, None, None)
    load = load_of(s.measured, gpu.key if gpu else "", kind)
    about = (name or device, gpu, load, bool(proof and proof.busy), profile)
    return _Device(about, match.rows, more, alike.setdefault((*map(id, match.rows), *more.values()), {}))


def _band(m: Knows, device: _Device, kind: str, what: str) -> Any:
    band = m.expected(device.rows, "h2d" if kind == "copy" else kind, what, **device.more)
    return replace(band, low=_BACK * band.low, floor=_BACK * band.floor) if what == D2H else band


def mig_slice(gpu: Gpu | None, torch_name: str) -> str:
    """`1g.10gb`, `1c.3g.40gb`: by torch's name, else by the only instance of a GPU in MIG mode; '' without MIG."""
    children = known(gpu.mig_instances) or () if gpu and known(gpu.mig_enabled) else ()
    names = [torch_name] + ([known(children[0].name) or ""] if len(children) == 1 else [])
    return next((found[0] for name in names if (found := re.search(r"(\d+c\.)?\d+g\.\d+gb\S*", name))), "")


def load_of(m: Measured, key: str, phase: str) -> Load | None:
    """What NVML showed of a GPU in a phase."""
    return next((load for load in known(m.loads) or () if load.phase == phase and key in ("", load.key)), None)


def share(load: Load | None, *reasons: str) -> float:
    """Percent of the samples with the most frequent of these reasons."""
    return max((load.reasons_percent.get(reason, 0.0) for reason in reasons), default=0.0) if load else 0.0


def below_default(gpu: Gpu | None, load: Load | None, percent: float = 98) -> bool:
    """Whether the power limit is lower than the board's default."""
    now = (known(load.power_limit_w) if load else None) or (known(gpu.power_limit_w) if gpu else None)
    default = known(gpu.power_default_w) if gpu else None
    return bool(now and default and now * 100 < default * percent)
