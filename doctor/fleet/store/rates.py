"""The measured rates of a report in two parts: their text with holes, which nodes share, and the numbers, in one row.

Rates are most of a report's bytes and differ in nothing but numbers. Put together again they are the same, digit by
digit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...snapshot import Driver, Gpu, Measured, Rate, known
from .holes import Mould

HOLE = b"\0"
_VALUE = b'"value":' + HOLE
_NUMBERS = re.compile(rb'"value":\s*(-?\d[\d.eE+-]*)')
_ALL_NUMBERS = re.compile(rb"-?\d[\d.eE+-]*(?:,-?\d[\d.eE+-]*)*")
_RATES = msgspec.json.Decoder(tuple[Rate, ...])
_FLOATS = msgspec.json.Decoder(list[float])
_NO_FIGURES = ("pair",)
"""Kinds of rates that are of no GPU alone."""


class Cut(NamedTuple):
    """Rates taken apart."""

    text: bytes
    """The JSON with a hole for every value."""
    values: bytes
    """The numbers as a JSON array, in their order."""


class Slot(NamedTuple):
    """Which figure a number is."""

    position: int
    """Its place among the numbers."""
    figure: str
    unit: str
    own: bool
    """Of the node, not of a GPU."""
    gpu: int


Layout = tuple[Slot, ...]
"""What the text alone tells, for one way of counting GPUs: the numbers that are figures."""


def device_numbers(gpus: Sequence[Gpu], driver: Driver, measured: Measured) -> tuple[tuple[str, int], ...]:
    """Torch's devices and the GPUs that they are, by the GPU's number (`gpu_numbers`); without those not known."""
    numbers: dict[str, int] = {}
    for gpu, number in zip(gpus, gpu_numbers(gpus), strict=True):
        children = known(gpu.mig_instances) or ()
        for name in (gpu.key, known(gpu.uuid) or "", *(known(child.uuid) or "" for child in children)):
            numbers.setdefault(_plain(name), number)
    numbers.pop("", None)
    found = {f"cuda:{device.ordinal}": _plain(known(device.uuid) or "") for device in known(driver.cuda_devices) or ()}
    found |= {proof.device: _plain(proof.key) for proof in known(measured.torch) or () if proof.key}
    mapped = {device: numbers[uuid] for device, uuid in found.items() if uuid in numbers}
    if len(gpus) == 1:
        mapped.setdefault("cuda:0", gpu_numbers(gpus)[0])
    return tuple(sorted(mapped.items()))


def gpu_numbers(gpus: Sequence[Gpu]) -> list[int]:
    """What the GPUs of a node are called: NVML's indices, else their order."""
    indices = [known(gpu.index) for gpu in gpus]
    whole = [index for index in indices if index is not None and 0 <= index < 256]
    return whole if len(set(whole)) == len(gpus) else list(range(len(gpus)))


def cut_rates(data: bytes) -> Cut | None:
    """The rates of this JSON taken apart; None if they cannot be. Raises DecodeError for what is not a number."""
    if HOLE in data:
        return None
    parts = _NUMBERS.split(data)
    values = b"[%b]" % b",".join(parts[1::2])
    _FLOATS.decode(values)
    return Cut(_VALUE.join(parts[::2]), values)


class RatesCutter:
    """Takes rates apart; by the text of the last ones, which most often fits."""

    def __init__(self) -> None:
        self._mould: Mould | None = None

    def cut(self, data: bytes) -> Cut | None:
        """As `cut_rates` does."""
        values = self._mould.match(data) if self._mould else None
        if self._mould and values:
            joined = b",".join(values)
            if _ALL_NUMBERS.fullmatch(joined):
                array = b"[%b]" % joined
                _FLOATS.decode(array)
                return Cut(self._mould.text, array)
        parts = cut_rates(data)
        if parts:
            self._mould = Mould(parts.text, parts.text.split(HOLE))
        return parts


def join_rates(text: bytes, values: bytes) -> bytes:
    """The JSON that was taken apart. Raises ValueError."""
    first, *pieces = text.split(HOLE)
    numbers = values.strip(b"[]").split(b",") if pieces else ()
    return first + b"".join(number + piece for number, piece in zip(numbers, pieces, strict=True))


def layout_of(text: bytes, devices: tuple[tuple[str, int], ...]) -> Layout | None:
    """Which figure each number is; None if the numbers cannot be told from the words. Raises msgspec.DecodeError
    where they are not rates."""
    rates = _RATES.decode(text.replace(HOLE, b"0"))
    if text.count(HOLE) != len(rates):
        return None
    numbers = dict(devices)
    units: dict[str, tuple[str, bool]] = {}
    taken = set[tuple[str, int]]()
    slots: list[Slot] = []
    for position, rate in enumerate(rates):
        own, name = rate.device == "cpu", f"{rate.kind} {rate.what}"
        gpu = 0 if own else numbers.get(rate.device, -1)
        if gpu < 0 or rate.kind in _NO_FIGURES or (name, gpu) in taken:
            continue
        if units.setdefault(name, (rate.unit, own)) == (rate.unit, own):
            taken.add((name, gpu))
            slots.append(Slot(position, name, rate.unit, own, gpu))
    return tuple(slots)


def _plain(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()
