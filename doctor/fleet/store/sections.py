"""A report as the sections that are stored: each decoded and checked once, however many nodes have the same."""

from __future__ import annotations

import hashlib
import typing
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from ...findings import Finding, Policy
from ...judge.report import Tool
from ...judge.saved import READING, unreadable
from ...snapshot import Gpu, Snapshot, Target, known
from ...snapshot.redact import redact
from ..cohorts import cohort_of
from ..envelope import MeasuredParts, Parts, Report, joined
from ..kinds import Cohort
from .flatten import FLAT, GPUS, alike
from .holes import Cutter, Marks, Mould, Uuids, fill, order_of, stand_ins
from .rates import HOLE, Layout, cut_rates, device_numbers, layout_of
from .said import is_masked

HEAD, RATES = "head", "rates"
"""Sections beside those of the Snapshot: of the report, and of the measured rates."""
_KEPT = 96
"""Sections of one kind that are kept decoded."""
_KINDS = 512

_TYPES = typing.get_type_hints(Snapshot)
_DECODERS = {name: msgspec.json.Decoder(_TYPES[name]) for name in Snapshot.__struct_fields__}
_POLICY = msgspec.json.Decoder(Policy)
_FINDINGS = msgspec.json.Decoder(tuple[Finding, ...])
_NO_MARKS = Marks([], [])


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
    """What tells its facts from others'; None where it has none."""
    typed: Any
    """With marks where the text has holes."""
    marks: Marks = _NO_MARKS
    order: tuple[int, ...] | None = None
    """Which of the numbers as they came stands in each hole; None where the order is the same."""


class Kind:
    """What reports share that differ in nothing but what stands in their holes."""

    def __init__(self, stored: tuple[Section, ...], snapshot: Snapshot, rates: bytes, layout: Layout | None) -> None:
        self.stored, self.snapshot, self.rates, self.layout = stored, snapshot, rates, layout
        self.gpus: tuple[Gpu, ...] = known(snapshot.gpus) or ()
        self.marks = next((one.marks for one in stored if one.name == GPUS), _NO_MARKS)
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
        places = {uuid.decode("ascii"): number for number, uuid in enumerate(self.marks.uuids)}
        uuids = (known(gpu.uuid) for gpu in self.gpus)
        return tuple(places.get(uuid, uuid) if uuid else None for uuid in uuids)


class Sections(NamedTuple):
    """A report, checked, as it is stored."""

    kind: Kind
    policy: Policy
    findings: tuple[Finding, ...]
    verdict: str
    own: bytes
    """What stands in the holes of its sections, and its targets (`packed`)."""
    of_gpus: tuple[bytes, ...]
    """The numbers of the GPUs' section as they came."""
    uuids: tuple[str | None, ...]
    """Of each GPU."""
    values: bytes
    """Of the rates: a JSON array, in their order; empty where there are none."""
    report: Report


class _Masked(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept of a report, to be masked together."""

    snapshot: Snapshot
    target: Target
    policy: Policy
    findings: tuple[Finding, ...]


class Reader:
    """Reads reports, and keeps what it has decoded."""

    def __init__(self) -> None:
        self._kept: dict[str, OrderedDict[Any, Section]] = {}
        self._cutters: dict[str, Cutter] = {}
        self._mould: Mould | None = None
        """Of the last rates."""
        self._kinds: OrderedDict[tuple[int, ...], Kind] = OrderedDict()

    def read(self, report: Report) -> Sections:
        """The sections of a report; one that is not masked is masked first. Raises Refusal where it is none."""
        try:
            return self._read(report if report.redacted and is_masked(_policy(report)) else self._masked(report))
        except READING as error:
            raise unreadable("it", error) from None

    def _masked(self, report: Report) -> Report:
        whole = {name: _DECODERS[name].decode(data) for name, data in _present(report.snapshot)}
        masked = redact(_Masked(
            snapshot=Snapshot(**whole), target=report.target, policy=_policy(report), findings=_findings(report),
        ))  # fmt: skip
        return msgspec.structs.replace(
            report,
            redacted=True,
            target=masked.target,
            policy=msgspec.Raw(msgspec.json.encode(masked.policy)),
            findings=msgspec.Raw(msgspec.json.encode(masked.findings)),
            snapshot=msgspec.json.decode(msgspec.json.encode(masked.snapshot), type=Parts),
        )

    def _read(self, report: Report) -> Sections:
        head = self._head(report)
        uuids = Uuids()
        came: dict[str, list[bytes]] = {}
        found: list[Section] = [head]
        rates, target = b"", Target()
        for name, data in _present(report.snapshot):
            if name == "target":
                target = _DECODERS[name].decode(data)
                continue
            if name == "measured" and report.snapshot and report.snapshot.measured:
                data, rates = _without_rates(report.snapshot.measured)
            section, came[name] = self._section(name, data, uuids)
            found.append(section)
        parts = cut_rates(rates, self._mould) if rates else None
        if parts:
            kind = self._kind([*found, self._rates(parts.text)], report, parts.text)
        if rates and (parts is None or kind is None):  # they stay where they were
            data = bytes(dict(_present(report.snapshot))["measured"])
            at = next(n for n, one in enumerate(found) if one.name == "measured")
            found[at], came["measured"] = self._section("measured", data, uuids)
            parts = None
        if not parts:
            kind = self._kind(found, report, b"")
        assert kind is not None  # without rates there is one
        numbers = [number for one in found for number in _ordered(one, came.get(one.name, ()))]
        listed = list(uuids)
        own = packed(listed, numbers, Targets(report.target, target))
        boards = tuple(listed[one].decode("ascii") if isinstance(one, int) else one for one in kind.boards)
        return Sections(
            kind, head.typed, _findings(report), report.verdict, own, tuple(came.get(GPUS, ())), boards,
            parts.values if parts else b"", report,
        )  # fmt: skip

    def _head(self, report: Report) -> Section:
        key = (report.schema_version, report.tool, bytes(report.policy))
        kept = self._kept.setdefault(HEAD, OrderedDict())
        if key not in kept:
            policy = _policy(report)
            content = msgspec.json.encode(Head(report.schema_version or 1, report.tool, policy, True))
            _keep(kept, key, Section(HEAD, content, _digest(content), None, policy))
        return kept[key]

    def _rates(self, text: bytes) -> Section:
        kept = self._kept.setdefault(RATES, OrderedDict())
        if self._mould is None or self._mould.text is not text:
            self._mould = Mould(text, text.split(HOLE))
        if text not in kept:
            _keep(kept, text, Section(RATES, text, _digest(text), None, None))
        return kept[text]

    def _section(self, name: str, data: bytes, uuids: Uuids) -> tuple[Section, list[bytes]]:
        """The section, and the numbers in its holes as they came. Raises READING's errors where the bytes are none."""
        cutter = self._cutters.get(name)
        if cutter is None:
            cutter = self._cutters[name] = Cutter(name)
        parts = cutter.cut(data, uuids)
        kept = self._kept.setdefault(name, OrderedDict())
        section = kept.get(parts.text) if parts else None
        if section is not None and parts:
            kept.move_to_end(parts.text)
            return section, parts.numbers
        typed = _DECODERS[name].decode(data)
        if parts and parts.text != data:
            section = _with_holes(name, parts.text, stand_ins(len(uuids), len(parts.numbers)), typed)
            if section is not None:
                _keep(kept, parts.text, section)
                return section, parts.numbers
        content = msgspec.json.encode(typed)
        section = Section(name, content, _digest(content), alike(name, typed) if name in FLAT else None, typed)
        if parts and parts.text == data:
            _keep(kept, data, section)
        return section, []

    def _kind(self, found: list[Section], report: Report, rates: bytes) -> Kind | None:
        """None where the numbers of the rates cannot be told from their words."""
        key = tuple(map(id, found))
        kind = self._kinds.get(key)
        if kind is not None:
            self._kinds.move_to_end(key)
            return kind
        snapshot = Snapshot(**{one.name: one.typed for one in found if one.name in _DECODERS})
        own, layout = True, None
        if rates:
            devices = devices_of(_real(found, report))
            own = devices == devices_of(snapshot)
            layout = layout_of(rates, devices)
            if layout is None:
                return None
        kind = Kind(tuple(found), snapshot, rates, layout)
        if own:  # else it is of this report alone
            self._kinds[key] = kind
            if len(self._kinds) > _KINDS:
                self._kinds.popitem(last=False)
        return kind


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


def _ordered(section: Section, numbers: Sequence[bytes]) -> Sequence[bytes]:
    return numbers if section.order is None else [numbers[place] for place in section.order]


def _with_holes(name: str, text: bytes, marks: Marks, real: Any) -> Section | None:
    """The section for all reports that have this text; None where a number or UUID in it is more than that."""
    try:
        typed = _DECODERS[name].decode(fill(text, marks.uuids, iter(marks.numbers)))
    except READING:
        return None
    found = order_of(name, msgspec.json.encode(typed), marks)
    facts = _facts(name, typed)
    if found is None or facts != _facts(name, real):
        return None
    content, order = found
    as_it_came = len(order) == len(marks.numbers) and all(b == a + 1 for a, b in pairwise((-1, *order)))
    shared = facts[0] if name in FLAT else None
    return Section(name, content, _digest(content), shared, typed, marks, None if as_it_came else order)


def _facts(name: str, typed: Any) -> list[bytes]:
    """What tells the facts of a section from others'."""
    if name == GPUS:
        return [alike(GPUS, gpu) for gpu in known(typed) or ()]
    return [alike(name, typed)] if name in FLAT else []


def _keep(kept: OrderedDict[Any, Section], key: Any, section: Section) -> None:
    kept[key] = section
    if len(kept) > _KEPT:
        kept.popitem(last=False)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _real(found: Sequence[Section], report: Report) -> Snapshot:
    """The Snapshot of a report, without marks and rates."""
    came = dict(_present(report.snapshot))
    return Snapshot(**{
        one.name: _DECODERS[one.name].decode(came[one.name]) if one.marks is not _NO_MARKS else one.typed
        for one in found if one.name in _DECODERS
    })  # fmt: skip


def whole_snapshot(found: Sections) -> Snapshot:
    """The Snapshot with its rates, to be judged."""
    return Snapshot(**{name: _DECODERS[name].decode(data) for name, data in _present(found.report.snapshot)})


def _without_rates(parts: MeasuredParts) -> tuple[bytes, bytes]:
    """(the section without its rates, the rates), both as JSON."""
    rates = bytes(parts.rates)
    if rates[:1] != b"[":
        return joined(parts), b""
    return joined(parts, "rates"), rates


def _present(parts: Parts | None) -> list[tuple[str, bytes]]:
    """The sections that a report has, by name."""
    found = [(name, getattr(parts, name)) for name in Snapshot.__struct_fields__]
    whole = ((name, joined(data) if isinstance(data, MeasuredParts) else bytes(data or b"")) for name, data in found)
    return [(name, data) for name, data in whole if data]


def _policy(report: Report) -> Policy:
    return _policy_of(bytes(report.policy))


@lru_cache(maxsize=_KEPT)
def _policy_of(data: bytes) -> Policy:
    return _POLICY.decode(data) if data else Policy()


def _findings(report: Report) -> tuple[Finding, ...]:
    data = bytes(report.findings)
    return _FINDINGS.decode(data) if data not in (b"", b"[]") else ()


def devices_of(s: Snapshot) -> tuple[tuple[str, int], ...]:
    """Torch's devices of a Snapshot and the numbers of their GPUs: by these its rates are taken apart."""
    return device_numbers(known(s.gpus) or (), s.driver, s.measured)
