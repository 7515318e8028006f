"""The codes that the kernel module logs (Xid): meaning, severity, who must act, and what to do."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pkgutil import get_data
from typing import NamedTuple

from ..snapshot import Symptom
from .search import Haystack


class Xid(NamedTuple):
    """What one code, or a family of codes, means."""

    meaning: str
    severity: str
    """critical, warning or info."""
    who: str
    do: str


@lru_cache(maxsize=1)
def table() -> dict[int, Xid]:
    """All known codes."""
    rows = json.loads(get_data(__package__, "xids.json") or b"[]")
    return {code: Xid(row["meaning"], row["severity"], row["who"], row["do"]) for row in rows for code in row["codes"]}


def xid(code: int) -> Xid | None:
    """The code's meaning; None if it is not in the table."""
    return table().get(code)


def is_xid(symptom: Symptom) -> bool:
    """Whether it is what `xid_symptoms` says of a code: its meaning and its fix are NVIDIA's, whatever the cause."""
    return bool(_ID.fullmatch(symptom.id))


_ID = re.compile(r"(?:program|harmless)-xid-\d+|xid-\d+-logged")
_SPOKEN = r"(?<![a-z])xid\b(?: ?\([^)]{0,40}\))?(?:[:=]|,? (?:error|code|event|number))?[ :=]{0,3}#?(\d{1,3})\b(?![:.])"
_MOST = 8
"""Codes of one text that are reported."""
_OF_PROGRAM = "the program's author"


def xid_symptoms(haystack: Haystack, decided: set[int]) -> tuple[Symptom, ...]:
    """What the codes of a kernel log mean, each at its first line; not those of `decided` lines.

    A code of the program, or one that asks for nothing, suggests no cause; one of the host asks to look at the card.
    """
    found: dict[int, Symptom] = {}
    for line, groups in haystack.lines_with(("xid",), _SPOKEN):
        code = int(groups[0])
        row = xid(code)
        if row is None or code in found or line.number in decided:
            continue
        harmless = row.who == _OF_PROGRAM or row.severity == "info"
        kind = "program" if row.who == _OF_PROGRAM else "harmless"
        found[code] = Symptom(
            id=f"{kind}-xid-{code}" if harmless else f"xid-{code}-logged",
            line=line.number,
            text=line.text.strip()[:300],
            means=f"Xid {code}: {row.meaning} (who must act: {row.who})",
            fix=row.do,
            suggests=() if harmless else ("gpu-recovery-action-needed", "gpu-hardware-ecc-fault", "gpu-fell-off-bus"),
        )
        if len(found) == _MOST:
            break
    return tuple(found[code] for code in sorted(found, key=lambda code: found[code].line))
