"""What a pair of nodes printed (`gpudoctor prove --links --format json`), as one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..snapshot import Measured as MeasuredFacts
from ..snapshot import known

FIGURE, UNIT = "all_reduce", "GB/s"
"""Bus bandwidth of the all-reduce over all ranks of both nodes, at its largest size."""
_LONGEST = 300


class Measured(NamedTuple):
    """Of a pair. value: None if there is no number, and then `reason` says why."""

    value: float | None
    reason: str = ""


class _Facts(msgspec.Struct, frozen=True):
    measured: MeasuredFacts


class _Report(msgspec.Struct, frozen=True):
    snapshot: _Facts


def read_measured(lines: Sequence[bytes]) -> Measured | None:
    """What these lines say; other programs may have printed some before the report. None if there is no report."""
    first = next((at for at, line in enumerate(lines) if line.rstrip() == b"{"), None)
    if first is None:
        return None
    try:
        measured = msgspec.json.decode(b"\n".join(lines[first:]), type=_Report).snapshot.measured
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    rates = [one for one in known(measured.collective_rates) or () if one.operation == FIGURE and not one.variant]
    if not rates:
        ended = next((end for end in measured.ended if end.fault != "skipped"), None)
        return Measured(None, f"{ended.step}: {ended.detail}"[:_LONGEST] if ended else "no all-reduce was measured")
    largest = max(rates, key=lambda one: one.bytes)
    if largest.nodes != 2:
        return Measured(None, f"its ranks ran on {largest.nodes} nodes, not on 2")
    if largest.right is not True:
        return Measured(None, "the result of the all-reduce was wrong")
    return Measured(largest.bus_gb_s)
