"""The measured rates of a report in three parts: their text with holes, which nodes share; the figures, one row each
for all GPUs; and the numbers that are left.

Rates are most of a report's bytes and differ in nothing but numbers. Put together again they are the same, digit by
digit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ...snapshot import Driver, Gpu, Measured, Rate, known

HOLE = b"\0"
_VALUE = b'"value":' + HOLE
_NUMBERS = re.compile(rb'"value":\s*(-?\d[\d.eE+-]*)')
_RATES = msgspec.json.Decoder(tuple[Rate, ...])
_FLOATS = msgspec.json.Decoder(list[float])
_NO_FIGURES = ("pair",)
"""Kinds of rates that are of no GPU alone."""


class Figure(NamedTuple):
    """One figure of a node: the numbers by GPU as they stand in the report; `own`: the node's, one number."""

    name: str
    unit: str
    own: bool
    numbers: tuple[bytes, ...]
    """`null` where it was not measured."""

    def json(self) -> str:
        return f"[{b','.join(self.numbers).decode('ascii')}]"


class Cut(NamedTuple):
    """Rates taken apart."""

    text: bytes
    """The JSON with a hole for every value."""
    figures: tuple[Figure, ...]
    rest: bytes
    """The numbers that are in no figure, in their order, with commas between them."""


class _Slot(NamedTuple):
    """Where a number goes: which figure and GPU."""

    figure: int
    gpu: int


class _Layout(NamedTuple):
    """What the text alone tells, for one way of counting GPUs."""

    names: tuple[tuple[str, str, bool], ...]
    slots: tuple[_Slot | None, ...]
    """Of each hole; None where its number is left."""
    rows: tuple[tuple[int, ...], ...]
    """Of each figure the holes by GPU; -1 for none."""
    left: tuple[int, ...]
    """Holes of the numbers that are in no figure."""


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


def cut_rates(data: bytes, devices: tuple[tuple[str, int], ...]) -> Cut | None:
    """The rates of this JSON taken apart; None where their numbers cannot be told from their words.

    Raises msgspec.DecodeError where they are no rates.
    """
    parts = _NUMBERS.split(data)
    text, numbers = _VALUE.join(parts[::2]), parts[1::2]
    layout = _layout(text, devices)
    if layout is None or HOLE in data:
        return None
    _FLOATS.decode(b"[%b]" % b",".join(numbers))
    numbers.append(b"null")
    figures = tuple(
        Figure(*about, tuple(map(numbers.__getitem__, row)))
        for about, row in zip(layout.names, layout.rows, strict=True)
    )
    return Cut(text, figures, b",".join(map(numbers.__getitem__, layout.left)))


def join_rates(text: bytes, rest: bytes, figures: Mapping[str, str], devices: tuple[tuple[str, int], ...]) -> bytes:
    """The JSON that was taken apart. `figures`: name to the array of its numbers. Raises ValueError, KeyError."""
    layout = _layout(text, devices)
    if layout is None:
        raise ValueError("the text of the rates is none")
    rows = [figures[name].strip("[]").split(",") for name, _, _ in layout.names]
    left = iter(rest.decode("ascii").split(","))
    pieces = text.decode("utf-8").split("\0")
    out = [pieces[0]]
    for slot, piece in zip(layout.slots, pieces[1:], strict=True):
        out += [next(left) if slot is None else rows[slot.figure][slot.gpu], piece]
    return "".join(out).encode("utf-8")


@lru_cache(maxsize=256)
def _layout(text: bytes, devices: tuple[tuple[str, int], ...]) -> _Layout | None:
    rates = _RATES.decode(text.replace(HOLE, b"0"))
    if text.count(HOLE) != len(rates):
        return None
    numbers = dict(devices)
    names: dict[tuple[str, str, bool], int] = {}
    slots: list[_Slot | None] = []
    taken = set()
    for rate in rates:
        own = rate.device == "cpu"
        about = (f"{rate.kind} {rate.what}", rate.unit, own)
        gpu = 0 if own else numbers.get(rate.device, -1)
        of_gpu = gpu >= 0 and rate.kind not in _NO_FIGURES
        one_unit = next((other == about for other in names if other[0] == about[0]), True)
        if of_gpu and one_unit and (about[0], gpu) not in taken:
            taken.add((about[0], gpu))
            slots.append(_Slot(names.setdefault(about, len(names)), gpu))
        else:
            slots.append(None)
    width = max(numbers.values(), default=-1) + 1
    rows = [[-1] * (1 if own else width) for _, _, own in names]
    for hole, slot in enumerate(slots):
        if slot is not None:
            rows[slot.figure][slot.gpu] = hole
    left = tuple(hole for hole, slot in enumerate(slots) if slot is None)
    return _Layout(tuple(names), tuple(slots), tuple(map(tuple, rows)), left)


def _plain(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()
