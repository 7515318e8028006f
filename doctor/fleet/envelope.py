"""One answer as it comes: the envelope that the collector wrote around a report, or a report by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ..guard import Refusal
from ..judge.report import MatrixInfo, Tool
from ..judge.saved import READING, refuse_version, text_bytes, unreadable
from ..snapshot import Measured, Snapshot, Target
from .kinds import MOST_QUOTED
from .names import is_name

_LATEST = 4_102_444_800.0
"""The year 2100: what is later is not a collector's time."""
MOST_REPEATS = 100

if TYPE_CHECKING:

    class MeasuredParts(msgspec.Struct, frozen=True):
        """The fields of what was measured, each as it stands there; empty if it is omitted."""

        rates: msgspec.Raw = msgspec.Raw()

    class Parts(msgspec.Struct, frozen=True):
        """The sections of a Snapshot, each as it stands there; empty if it is omitted."""

        gpus: msgspec.Raw = msgspec.Raw()
        measured: MeasuredParts | None = None
else:
    _RAW = (msgspec.Raw, msgspec.Raw())
    MeasuredParts = msgspec.defstruct("MeasuredParts", [(name, *_RAW) for name in Measured.__struct_fields__])
    Parts = msgspec.defstruct("Parts", [
        (name, *(_RAW if name != "measured" else (MeasuredParts | None, None))) for name in Snapshot.__struct_fields__
    ])  # fmt: skip


def joined(parts: MeasuredParts, without: str = "") -> bytes:
    """The JSON of what was measured; without one field."""
    fields = ((name, bytes(getattr(parts, name))) for name in Measured.__struct_fields__ if name != without)
    return b"{%b}" % b",".join([b'"%b":%b' % (name.encode(), data) for name, data in fields if data])


class Report(msgspec.Struct, frozen=True):
    """What is read of a report; the sections of its Snapshot are left as they stand."""

    schema_version: int | None = None
    tool: Tool = Tool("", "")
    matrix: MatrixInfo = MatrixInfo("", 0)
    generated_at: str = ""
    target: Target = Target()
    policy: msgspec.Raw = msgspec.Raw()
    redacted: bool = False
    verdict: str = ""
    findings: msgspec.Raw = msgspec.Raw()
    snapshot: Parts | None = None


class _Line(Report, frozen=True):
    node: str = ""
    received: float = 0.0
    repeat: int = 1
    reason: str = ""
    report: Report | None = None


class Answer(msgspec.Struct, frozen=True):
    """An answer of a node."""

    node: str
    received: float
    """By the collector's clock, seconds since 1970 UTC; 0 if it wrote none."""
    repeat: int
    reason: str
    """Why the node was not examined; the report is None then."""
    report: Report | None
    hinted: bool = False
    """The file's name is all that names it."""


_DECODER = msgspec.json.Decoder(_Line)
_IT = "it"


def open_envelope(data: bytes, hint: str) -> Answer:
    """The answer that these bytes are. `hint`: the file's name, for a report without an envelope.

    Raises Refusal with the reason where they are none.
    """
    if data[:1] != b"{":
        data = text_bytes(data)
    if not data or data.isspace():
        raise Refusal("it is empty")
    try:
        line = _DECODER.decode(data)
    except READING as error:
        raise unreadable(_IT, error) from None
    inner = line.report is not None
    report = line.report or line
    name = line.node or hint if inner or line.reason else hint or line.node
    if not name:
        raise Refusal(
            "it names no node: there is no envelope, no node in the file's name, and no `node` field in the line"
        )
    if not is_name(name):
        raise Refusal(f"it is not a valid node name: {name[:MOST_QUOTED]!a}")
    if not 0 <= line.received < _LATEST or not 1 <= line.repeat <= MOST_REPEATS:
        raise Refusal("its envelope has no collector time, or its repeat count is not a number")
    if line.reason and not inner and line.snapshot is None:
        return Answer(name, line.received, line.repeat, line.reason, None)
    refuse_version(report.schema_version, report.snapshot is not None, _IT)
    if report.target.kind in ("text", "image"):
        raise Refusal(f"it is a report on {_KINDS[report.target.kind]}, not on a machine")
    hinted = bool(hint) and not (line.node and (inner or line.reason))
    return Answer(name, line.received, line.repeat, "", report, hinted)


def name_in(data: bytes) -> str:
    """The node that an envelope names first, whatever follows; empty if it names none."""
    found = _NODE.match(data)
    name = found[1].decode("ascii") if found else ""
    return name if is_name(name) else ""


_NODE = re.compile(rb'\s*\{\s*"node"\s*:\s*"([A-Za-z0-9._-]{1,253})"')
_KINDS = {"text": "pasted text", "image": "an image"}
