"""A saved report as it is judged again: typed, and every way to be wrong is one line."""

from __future__ import annotations

import msgspec

from ..findings import Policy
from ..guard import Refusal
from ..snapshot import Snapshot, Target
from .report import REPORT_SCHEMA_VERSION, Tool

MAX_BYTES = 64 << 20
"""Larger than any report: the largest known are near 1 MiB."""


class Saved(msgspec.Struct, frozen=True):
    """The parts of a report that are judged again; what was concluded from them then is not read."""

    schema_version: int
    tool: Tool
    snapshot: Snapshot
    target: Target = Target()
    policy: Policy = Policy()
    redacted: bool = False


class _Head(msgspec.Struct, frozen=True):
    schema_version: int | None = None
    snapshot: msgspec.Raw = msgspec.Raw()


def parse_report(data: bytes, name: str) -> Saved:
    """The saved report that these bytes are. Raises Refusal with one line if they are none."""
    data = text_bytes(data)
    if not data.strip():
        raise Refusal(f"{name} is empty: not a gpudoctor report")
    try:
        head = msgspec.json.decode(data, type=_Head)
    except READING as error:
        raise unreadable(name, error) from None
    refuse_version(head.schema_version, bool(bytes(head.snapshot)), name)
    try:
        return msgspec.json.decode(data, type=Saved)
    except READING as error:
        raise unreadable(name, error) from None


READING = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding raises where something is not JSON, or not of that type."""


def unreadable(name: str, error: Exception) -> Refusal:
    """What is said of a report that cannot be decoded."""
    plain = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return Refusal(f"{name} is not a gpudoctor report: {plain}")


def refuse_version(version: int | None, has_snapshot: bool, name: str) -> None:
    """Raises Refusal for JSON that is not a report, and for a report of a schema that this gpudoctor does not read."""
    if version is None or not has_snapshot:
        raise Refusal(f"{name} is JSON, but not a gpudoctor report (no schema_version and snapshot)")
    if version > REPORT_SCHEMA_VERSION:
        raise Refusal(
            f"{name} has report schema {version}, newer than this gpudoctor can read ({REPORT_SCHEMA_VERSION}): "
            "update gpudoctor"
        )
    if version < 1:
        raise Refusal(f"{name} has report schema {version}, which does not exist")


def text_bytes(data: bytes) -> bytes:
    """As UTF-8 without a byte-order mark: what PowerShell's `>` writes is UTF-16."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data[3:] if data[:3] == b"\xef\xbb\xbf" else data
