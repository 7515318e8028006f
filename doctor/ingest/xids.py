"""The codes that the kernel module logs (Xid): meaning, severity, who must act, and what to do."""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import NamedTuple


class Xid(NamedTuple):
    """What one code, or a family of codes, means."""

    meaning: str
    severity: str
    """critical, warning or info."""
    who: str
    do: str


@lru_cache(maxsize=1)
def table() -> dict[int, Xid]:
    """All codes that are known."""
    rows = json.loads(get_data(__package__, "xids.json") or b"[]")
    return {code: Xid(row["meaning"], row["severity"], row["who"], row["do"]) for row in rows for code in row["codes"]}


def xid(code: int) -> Xid | None:
    """The code's meaning; None where the table does not know it."""
    return table().get(code)
