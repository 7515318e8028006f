"""One section of a report as all reports have it that differ in nothing but numbers and UUIDs, and what a kind of
reports shares."""

from __future__ import annotations

import hashlib
import typing
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from ...findings import Policy
from ...judge.report import Tool
from ...judge.saved import READING
from ...snapshot import Gpu, Snapshot, Target, known
from ..cohorts import cohort_of
from ..kinds import Cohort
from .flatten import FLAT, GPUS, alike
from .holes import Marks, fill, order_of
from .rates import Layout

HEAD, RATES = "head", "rates"
"""Sections in addition to those of the Snapshot: of the report, and of the measured rates."""
_TYPES = typing.get_type_hints(Snapshot)
DECODERS = {name: msgspec.json.Decoder(_TYPES[name]) for name in Snapshot.__struct_fields__}
NO_MARKS = Marks([], [])


class Head(msgspec.Struct, frozen=True):
    """What a report says of itself, as it is judged again."""

    schema_version: int
    tool: Tool
    policy: Policy
    redacted: bool


class Targets(msgspec.Struct, frozen=True):
    report: Target
    snapshot: Target


class Section(NamedTuple):
    """One section of a report, for all reports that have the same."""

    name: str
    content: bytes
    """Its JSON with holes (holes.py)."""
    digest: bytes
    alike: bytes | None
    """What tells its facts from others'; None if it has none."""
    typed: Any
    """With marks where the text has holes."""
    marks: Marks = NO_MARKS
    order: tuple[int, ...] | None = None
    """Which of the numbers as they came stands in each hole; None if the order is the same."""


class Kind:
    """What reports share that differ in nothing but what stands in their holes."""

    def __init__(self, stored: tuple[Section, ...], snapshot: Snapshot, rates: bytes, layout: Layout | None) -> None:
        self.stored, self.snapshot, self.rates, self.layout = stored, snapshot, rates, layout
        self.gpus: tuple[Gpu, ...] = known(snapshot.gpus) or ()
        self.marks = next((one.marks for one in stored if one.name == GPUS), NO_MARKS)
        """Those of the GPUs."""
        self.rows: Any = None
        """Kept by the tables: the numbers of what is stored once."""

    @cached_property
    def cohort(self) -> Cohort | None:
        return cohort_of(self.snapshot)

    @cached_property
    def of_gpus(self) -> tuple[bytes, ...]:
        """Of each GPU what tells its facts from others'."""
        return tuple(alike(GPUS, gpu) for gpu in self.gpus)

    @cached_property
    def boards(self) -> tuple[int | str | None, ...]:
        """Of each GPU the number of its UUID among those of the report, the UUID itself where it has none."""
        positions = {uuid.decode("ascii"): number for number, uuid in enumerate(self.marks.uuids)}
        uuids = (known(gpu.uuid) for gpu in self.gpus)
        return tuple(positions.get(uuid, uuid) if uuid else None for uuid in uuids)


def packed(uuids: list[bytes], numbers: Sequence[bytes], targets: Targets) -> bytes:
    """What a report has of its own."""
    return b"\0".join((b" ".join(uuids), b" ".join(numbers), msgspec.json.encode(targets)))


def unpacked(own: bytes, sections: dict[str, bytes]) -> tuple[dict[str, bytes], Targets]:
    """The sections of a report, by name, with what stood in their holes. Raises ValueError, IndexError, and READING's
    errors."""
    uuids, numbers, targets = own.split(b"\0")
    left, listed = iter(numbers.split()), uuids.split()
    named = [name for name in Snapshot.__struct_fields__ if name in sections]
    whole = {name: fill(sections[name], listed, left) for name in named}
    return whole, msgspec.json.decode(targets, type=Targets)


def ordered(section: Section, numbers: Sequence[bytes]) -> Sequence[bytes]:
    return numbers if section.order is None else [numbers[position] for position in section.order]


def with_holes(name: str, text: bytes, marks: Marks, real: Any) -> Section | None:
    """The section for all reports that have this text; None if a number or UUID in it is more than that."""
    try:
        typed = DECODERS[name].decode(fill(text, marks.uuids, iter(marks.numbers)))
    except READING:
        return None
    found = order_of(name, msgspec.json.encode(typed), marks)
    facts = _facts(name, typed)
    if found is None or facts != _facts(name, real):
        return None
    content, order = found
    as_it_came = len(order) == len(marks.numbers) and all(b == a + 1 for a, b in pairwise((-1, *order)))
    shared = facts[0] if name in FLAT else None
    return Section(name, content, digest_of(content), shared, typed, marks, None if as_it_came else order)


def _facts(name: str, typed: Any) -> list[bytes]:
    """What tells the facts of a section from others'."""
    if name == GPUS:
        return [alike(GPUS, gpu) for gpu in known(typed) or ()]
    return [alike(name, typed)] if name in FLAT else []


def digest_of(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
