"""What a rate should be, and the measured rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_more import Performance
    from .store import Store

Kind: TypeAlias = Literal["matmul", "memory", "h2d"]
WARN, FAIL = 0.8, 0.6
"""Shares of a reference below which a rate is low, and below which it is far too low."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What a rate should be. basis: measured (this model), peak (a share of its dense peak), unknown (see reason).

    low: below it the rate is low; floor: below it something is wrong (0: this basis cannot tell).
    """

    basis: Literal["measured", "peak", "unknown"]
    low: float = 0.0
    typical: float = 0.0
    high: float = 0.0
    floor: float = 0.0
    peak: float = 0.0
    """Dense peak, nameplate bandwidth or the link's rate; 0 if not listed."""
    unit: str = ""
    reason: str = ""
    rows: tuple[Row, ...] = ()


def measured_rows(m: Store) -> dict[str, list[Performance]]:
    """Measurements on sound boards, by GPU name."""
    every = rows_of(m)
    return m.memo(
        "measured by gpu", lambda: {name: [r for r in rows if r.kind == "measured"] for name, rows in every.items()}
    )


def rows_of(m: Store) -> dict[str, list[Performance]]:
    """Measurements and thresholds, by GPU name."""

    def make() -> dict[str, list[Performance]]:
        index: dict[str, list[Performance]] = {}
        for row in m.performance:
            if row.gpu_name and not row.gpu_name.startswith("Orin"):  # four modules with one name
                index.setdefault(row.gpu_name, []).append(row)
        return index

    return m.memo("performance by gpu", make)
