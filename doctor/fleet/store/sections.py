"""A report as the sections that are stored: each decoded and checked once, however many nodes have the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ...findings import Finding, Policy
from ...judge.saved import READING, unreadable
from ...snapshot import Snapshot, Target, known
from ...snapshot.redact import redact
from ..envelope import MeasuredParts, Parts, Report, joined
from .flatten import FLAT, GPUS, alike
from .holes import Cutter, Uuids, stand_ins
from .outside_words import is_masked
from .rates import RatesCutter, device_numbers, layout_of
from .section import (
    DECODERS,
    HEAD,
    NO_MARKS,
    RATES,
    Head,
    Kind,
    Section,
    Targets,
    digest_of,
    ordered,
    packed,
    with_holes,
)

_KEPT = 96
"""Sections of one kind that are kept decoded."""
_KINDS = 512

_POLICY = msgspec.json.Decoder(Policy)
_FINDINGS = msgspec.json.Decoder(tuple[Finding, ...])


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
    """Of the rates: a JSON array, in their order; empty if there are none."""
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
        self._rates_cutter = RatesCutter()
        self._kinds: OrderedDict[tuple[int, ...], Kind] = OrderedDict()

    def read(self, report: Report) -> Sections:
        """The sections of a report; one that is not masked is masked first. Raises Refusal if it is none."""
        try:
            return self._read(report if report.redacted and is_masked(_policy(report)) else self._masked(report))
        except READING as error:
            raise unreadable("it", error) from None

    def _masked(self, report: Report) -> Report:
        whole = {name: DECODERS[name].decode(data) for name, data in _present(report.snapshot)}
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
        for name in Snapshot.__struct_fields__:
            part = getattr(report.snapshot, name)
            if name == "target":
                target = DECODERS[name].decode(part) if bytes(part) else target
                continue
            if isinstance(part, MeasuredParts):
                data, rates = _without_rates(part)
            elif not (data := bytes(part or b"")):
                continue
            section, came[name] = self._section(name, data, uuids)
            found.append(section)
        parts = self._rates_cutter.cut(rates) if rates else None
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
        numbers = [number for one in found for number in ordered(one, came.get(one.name, ()))]
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
            _keep(kept, key, Section(HEAD, content, digest_of(content), None, policy))
        return kept[key]

    def _rates(self, text: bytes) -> Section:
        kept = self._kept.setdefault(RATES, OrderedDict())
        if text not in kept:
            _keep(kept, text, Section(RATES, text, digest_of(text), None, None))
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
        typed = DECODERS[name].decode(data)
        if parts and parts.text != data:
            section = with_holes(name, parts.text, stand_ins(len(uuids), len(parts.numbers)), typed)
            if section is not None:
                _keep(kept, parts.text, section)
                return section, parts.numbers
        content = msgspec.json.encode(typed)
        section = Section(name, content, digest_of(content), alike(name, typed) if name in FLAT else None, typed)
        if parts and parts.text == data:
            _keep(kept, data, section)
        return section, []

    def _kind(self, found: list[Section], report: Report, rates: bytes) -> Kind | None:
        """None if the numbers of the rates cannot be told from their words."""
        key = tuple(map(id, found))
        kind = self._kinds.get(key)
        if kind is not None:
            self._kinds.move_to_end(key)
            return kind
        snapshot = Snapshot(**{one.name: one.typed for one in found if one.name in DECODERS})
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


def _keep(kept: OrderedDict[Any, Section], key: Any, section: Section) -> None:
    kept[key] = section
    if len(kept) > _KEPT:
        kept.popitem(last=False)


def _real(found: Sequence[Section], report: Report) -> Snapshot:
    """The Snapshot of a report, without marks and rates."""
    came = dict(_present(report.snapshot))
    return Snapshot(**{
        one.name: DECODERS[one.name].decode(came[one.name]) if one.marks is not NO_MARKS else one.typed
        for one in found if one.name in DECODERS
    })  # fmt: skip


def real_snapshot(found: Sections) -> Snapshot:
    """The Snapshot of the report, to be judged. What many reports have the same of is the same object."""
    alike = {one.name: one.typed for one in found.kind.stored if one.marks is NO_MARKS and one.name != "measured"}
    present = _present(found.report.snapshot)
    return Snapshot(**{name: alike[name] if name in alike else DECODERS[name].decode(data) for name, data in present})


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
