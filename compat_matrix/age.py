"""How old the tables are: days since each was compared with its publisher, and the usual days between releases."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .rows_more import Publisher
    from .store import Store


class Age(msgspec.Struct, frozen=True):
    """days: since the row's `read_date`, or since the matrix's own date if that is earlier."""

    row: Publisher
    days: int

    @property
    def name(self) -> str:
        """'extensions vllm'"""
        return f"{self.row.table} {self.row.package}".rstrip()

    @property
    def is_old(self) -> bool:
        """Whether a release is usually published within that time."""
        return self.days > self.row.every_days


def ages(m: Store, day: date, tables: Collection[str] = ()) -> tuple[Age, ...]:
    """Every table with a publisher (or those of `tables`), on a day; the most overdue first."""
    own = date.fromisoformat(m.version.replace(".", "-"))
    found = [
        Age(row, (day - min(date.fromisoformat(row.read_date), own)).days)
        for row in m.publishers
        if not tables or row.table in tables
    ]
    return tuple(sorted(found, key=lambda one: one.days / one.row.every_days, reverse=True))
