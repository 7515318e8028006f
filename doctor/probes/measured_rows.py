"""Rows of measurements of the same thing: which of them counts, and which GPU it belongs to."""

from __future__ import annotations

from msgspec.structs import replace

from ..snapshot.fact import Missing
from ..snapshot.measured import Measured, PairProof, Rate


def measured_last(pairs: list[PairProof]) -> list[PairProof]:
    """A pair that was measured again counts with the later result; once wrong, it stays wrong."""
    found: dict[tuple[str, str], PairProof] = {}
    for pair in pairs:
        before = found.get((pair.source, pair.target))
        if before is None or before.right is not False:
            found[pair.source, pair.target] = pair
    return list(found.values())


def alone_at_last(rates: list[Rate]) -> list[Rate]:
    """A figure that was measured again alone replaces that of all GPUs at once, which is kept in its detail."""
    found: dict[tuple[str, str, str], Rate] = {}
    for rate in rates:
        before = found.get((rate.kind, rate.device, rate.what))
        if before is None:
            found[rate.kind, rate.device, rate.what] = rate
        elif rate.detail.get("at_once") == 1 and before.detail.get("at_once", 0) > 1:
            again = replace(rate, detail={**rate.detail, "before": before.value})
            found[rate.kind, rate.device, rate.what] = again
    return list(found.values())


def with_keys(measured: Measured) -> Measured:
    """Torch's devices with the key of libcuda's device of the same number, where torch itself names none."""
    if isinstance(measured.torch, Missing) or isinstance(measured.driver, Missing):
        return measured
    keys = {f"cuda:{row.device}": row.key for row in measured.driver}
    rows = tuple(row if row.key else replace(row, key=keys.get(row.device, "")) for row in measured.torch)
    return replace(measured, torch=rows)
