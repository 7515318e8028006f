"""A report as the sections that are stored: each decoded and checked once, however many nodes have the same."""

from __future__ import annotations

import hashlib
import typing
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...findings import Finding, Policy
from ...judge.report import Tool
from ...judge.saved import READING, unreadable
from ...snapshot import Measured, Rate, Snapshot, Target, known
from ...snapshot.redact import redact
from ..envelope import Parts, Report
from .flatten import FLAT, GPUS, alike
from .rates import Figure, cut_rates, device_numbers

HEAD, TARGETS, RATES, NUMBERS = "head", "targets", "rates", "numbers"
"""Sections beside those of the Snapshot: of the report, of both targets, and of the measured rates."""
_KEPT = 96
"""Sections of one kind that are kept decoded."""

if TYPE_CHECKING:

    class _MeasuredParts(msgspec.Struct):
        rates: msgspec.Raw = msgspec.Raw()
else:
    _MeasuredParts = msgspec.defstruct(
        "_MeasuredParts", [(name, msgspec.Raw, msgspec.Raw()) for name in Measured.__struct_fields__]
    )
_TYPES = typing.get_type_hints(Snapshot)
_DECODERS = {name: msgspec.json.Decoder(_TYPES[name]) for name in Snapshot.__struct_fields__}
_POLICY = msgspec.json.Decoder(Policy)
_FINDINGS = msgspec.json.Decoder(tuple[Finding, ...])
_RATES = msgspec.json.Decoder(tuple[Rate, ...])
_MEASURED = msgspec.json.Decoder(_MeasuredParts)


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
    """One section of a report. `alike`: what tells its facts from others', None where it has none."""

    name: str
    content: bytes
    digest: bytes
    alike: bytes | None
    typed: Any


class Sections(NamedTuple):
    """A report, checked, as it is stored."""

    snapshot: Snapshot
    """Without the rates."""
    policy: Policy
    findings: tuple[Finding, ...]
    verdict: str
    stored: tuple[Section, ...]
    of_gpus: tuple[bytes, ...]
    """Of each GPU what tells its facts from others'."""
    figures: tuple[Figure, ...]
    rates: bytes
    """As they stood in the report; empty where there are none."""


class _Masked(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept of a report, to be masked together."""

    snapshot: Snapshot
    target: Target
    policy: Policy
    findings: tuple[Finding, ...]


class Reader:
    """Reads reports, and keeps what it has decoded."""

    def __init__(self) -> None:
        self._kept: dict[str, OrderedDict[bytes, Section]] = {}

    def read(self, report: Report) -> Sections:
        """The sections of a report; one that is not masked is masked first. Raises Refusal where it is none."""
        try:
            return self._read(report if report.redacted else self._masked(report))
        except READING as error:
            raise unreadable("it", error) from None

    def _masked(self, report: Report) -> Report:
        raw = report.snapshot
        whole = {name: _DECODERS[name].decode(data) for name, data in _present(raw)}
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
        policy, findings = _policy(report), _findings(report)
        found: dict[str, Section] = {}
        rates = b""
        for name, data in _present(report.snapshot):
            if name == "measured":
                data, rates = _without_rates(data)
            found[name] = self._section(name, data)
        snapshot = Snapshot(**{name: section.typed for name, section in found.items()})
        gpus = known(snapshot.gpus) or ()
        cut = cut_rates(rates, devices_of(snapshot)) if rates else None
        if rates and cut is None:  # they stay where they were
            data = bytes(dict(_present(report.snapshot))["measured"])
            found["measured"] = self._section("measured", data)
            snapshot, rates = snapshot.replace({"measured": found["measured"].typed}), b""
        head = Head(report.schema_version or 1, report.tool, policy, True)
        targets = Targets(report.target, snapshot.target)
        stored = [_plain(HEAD, msgspec.json.encode(head)), _plain(TARGETS, msgspec.json.encode(targets))]
        stored += [section for name, section in found.items() if name != "target"]
        if cut:
            stored.append(_plain(RATES, cut.text))
            if cut.rest:
                stored.append(_plain(NUMBERS, cut.rest))
        return Sections(
            snapshot=snapshot,
            policy=policy,
            findings=findings,
            verdict=report.verdict,
            stored=tuple(stored),
            of_gpus=tuple(alike(GPUS, gpu) for gpu in gpus),
            figures=cut.figures if cut else (),
            rates=rates,
        )

    def _section(self, name: str, data: bytes) -> Section:
        """Raises READING's errors where the bytes are no such section."""
        key = _digest(data)
        kept = self._kept.setdefault(name, OrderedDict())
        section = kept.get(key)
        if section is None:
            typed = _DECODERS[name].decode(data)
            content = msgspec.json.encode(typed)
            section = Section(name, content, _digest(content), alike(name, typed) if name in FLAT else None, typed)
            kept[key] = section
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        else:
            kept.move_to_end(key)
        return section


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _plain(name: str, content: bytes) -> Section:
    return Section(name, content, _digest(content), None, None)


def whole_snapshot(found: Sections) -> Snapshot:
    """The Snapshot with its rates, to be judged."""
    if not found.rates:
        return found.snapshot
    return found.snapshot.replace({"measured.rates": _RATES.decode(found.rates)})


def _without_rates(data: bytes) -> tuple[bytes, bytes]:
    """(the section without its rates, the rates), both as JSON."""
    parts = _MEASURED.decode(data)
    if bytes(parts.rates)[:1] != b"[":
        return data, b""
    others = ((name, bytes(getattr(parts, name))) for name in Measured.__struct_fields__ if name != "rates")
    rest = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in others if value)
    return b"{%b}" % rest, bytes(parts.rates)


def _present(parts: Parts | None) -> list[tuple[str, bytes]]:
    pairs = ((name, bytes(getattr(parts, name))) for name in Snapshot.__struct_fields__)
    return [(name, data) for name, data in pairs if data]


def _policy(report: Report) -> Policy:
    data = bytes(report.policy)
    return _POLICY.decode(data) if data else Policy()


def _findings(report: Report) -> tuple[Finding, ...]:
    data = bytes(report.findings)
    return _FINDINGS.decode(data) if data else ()


def devices_of(s: Snapshot) -> tuple[tuple[str, int], ...]:
    """Torch's devices of a Snapshot and the numbers of their GPUs: by these its rates are taken apart."""
    return device_numbers(known(s.gpus) or (), s.driver, s.measured)
