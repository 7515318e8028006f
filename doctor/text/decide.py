"""Which message decides which cause, alone or with other facts of the same text (the conditions are data)."""

from __future__ import annotations

from collections.abc import Iterable

from ..snapshot import Snapshot, Symptom
from .messages import Hit
from .operators import Facts, holds


def symptoms(hits: list[Hit], s: Snapshot, more: Iterable[str] = ()) -> tuple[Symptom, ...]:
    """One Symptom for each entry that was hit, at its first line; deciding ones first, else in the text's order."""
    message_ids = {hit.message.id for hit in hits} | set(more)
    found: dict[str, Symptom] = {}
    for hit in hits:
        if hit.message.id in found:
            continue
        message, facts = hit.message, Facts(s, message_ids, hit.groups)
        hinted = tuple(check for check, when in message.hints if holds(when, facts))
        found[message.id] = Symptom(
            id=message.id,
            line=hit.line.number,
            text=hit.line.text.strip()[:300],
            means=message.means,
            decides=next((check for check, when in message.decides if holds(when, facts)), ""),
            suggests=(*message.suggests, *dict.fromkeys(hinted)),
            fix=message.fix,
            command=message.command,
            where=message.where,
            mention=message.mention,
            happened=message.happened,
            exact=message.exact,
            warns=message.warns,
            of_program=message.id.startswith(("program-", "harmless-")) and bool(message.fix),
        )
    return tuple(sorted(found.values(), key=lambda symptom: not symptom.decides))
