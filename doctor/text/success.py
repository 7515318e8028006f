"""Lines in which a tool reports that it did what it was asked to do: no complaint, whatever they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ..formats.lazy import lazy
from ..snapshot import Snapshot, Symptom
from .messages import Hit

_DONE = lazy(
    r"^\s{0,8}(?:"
    r"(?:Enabled|Disabled|Set|Changed|Reset) .{2,80} (?:for|of|on) (?:all GPUs|GPU [0-9A-Fa-f:.]{1,20})\.?$"
    r"|.{3,60} is already (?:set to )?\w{2,30} for GPU [0-9A-Fa-f:.]{1,20}\.?$"
    r"|.{3,60} for GPU [0-9A-Fa-f:.]{1,20} (?:was|were) (?:already )?set to .{1,60}$"
    r"|All done\.?$|Test PASSED$|Result = PASS$"
    r"|.{0,200}\.\.\. ?(?:done|ok|success)[.!]?$"
    r"|.{0,200}\bsuccessfully \w{2,20}ed\b.{0,200}$|Successfully (?:\w{2,20}ed|built|reset|set)\b.{0,200}$"
    r"|.{0,100}\b(?:was|were) successfully (?:\w{2,20}ed|built|reset|set)\b.{0,100}$)",
    re.I,
)
_BUT = lazy(r"(?i)\b(?:not|no|never|cannot|can't|unable|fail\w{0,5}|errors?|warnings?|but|however|denied|pending)\b")


def reports_success(text: str) -> bool:
    """Whether the line says that something was done, and nothing against it."""
    return bool(_DONE.search(text)) and not _BUT.search(text)


def without_success(symptoms: Sequence[Symptom], hits: Iterable[Hit]) -> tuple[Symptom, ...]:
    """The symptoms; those that stand in lines of success alone and decide nothing suggest no cause."""
    elsewhere = {hit.message.id for hit in hits if not reports_success(hit.line.text)}
    return tuple(
        replace(one, suggests=()) if one.suggests and not one.decides and one.id not in elsewhere else one
        for one in symptoms
    )


def is_cleared(s: Snapshot, line: int, text: str) -> bool:
    """Whether a line cannot be a sign of a cause: a message knows it as the program's own or as harmless, and no other
    message suggests one for it; or it reports success in a text that complains of nothing."""
    here = [x for x in s.symptoms if x.line == line]
    complaints = [x for x in s.symptoms if (x.suggests or x.decides or x.unknown) and not x.mention]
    if any(x.of_program for x in here):
        return not any(x.line == line for x in complaints)
    return not complaints and reports_success(text)
