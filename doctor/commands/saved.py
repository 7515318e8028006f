"""Reading a saved report (`--from`): bounded, and every way to be wrong is one line."""

from __future__ import annotations

import msgspec

from ..findings import Policy
from ..guard import Refusal
from ..judge.report import REPORT_SCHEMA_VERSION, Tool
from ..snapshot import Snapshot, Target
from .read import read_bounded

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


def read_report(path: str) -> Saved:
    """The saved report at `path` (`-`: standard input). Raises Refusal with one line where it is none."""
    name = "standard input" if path == "-" else path
    return parse_report(read_bounded(path, MAX_BYTES, "is over 64 MiB: not a gpudoctor report"), name)


def parse_report(data: bytes, name: str) -> Saved:
    """The saved report that these bytes are. Raises Refusal with one line where they are none."""
    data = _text(data)
    if not data.strip():
        raise Refusal(f"{name} is empty: not a gpudoctor report")
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.ValidationError as error:
        raise Refusal(f"{name} is not a gpudoctor report: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refusal(f"{name} is not a gpudoctor report: {_plain(error)}") from None
    if head.schema_version is None or not bytes(head.snapshot):
        raise Refusal(f"{name} is JSON, but not a gpudoctor report (no schema_version and snapshot)")
    if head.schema_version > REPORT_SCHEMA_VERSION:
        raise Refusal(
            f"{name} has report schema {head.schema_version}, newer than this gpudoctor reads "
            f"({REPORT_SCHEMA_VERSION}): update gpudoctor"
        )
    if head.schema_version < 1:
        raise Refusal(f"{name} has report schema {head.schema_version}, which does not exist")
    try:
        return msgspec.json.decode(data, type=Saved)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refusal(f"{name} is not a gpudoctor report: {_plain(error)}") from None


def _text(data: bytes) -> bytes:
    """As UTF-8 without a byte-order mark: what PowerShell's `>` writes is UTF-16."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data[3:] if data[:3] == b"\xef\xbb\xbf" else data


def _plain(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
