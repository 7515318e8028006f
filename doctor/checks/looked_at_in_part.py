"""Something here is longer than gpudoctor reads, so only its first part was looked at.

What is wrong: nothing, as far as can be told. A list on this machine (of GPUs, processes, folders or libraries) is
longer than any that gpudoctor expects, and it stopped counting. What it says holds for the part that it looked at.

Symptoms: `64 of 80 GPUs that torch lists`. The number that was looked at is a limit of gpudoctor and no count of
what the machine has.

Why it happens: a very large machine, a very full folder, a variable with hundreds of entries, or a damaged file.

How to fix it: nothing has to be fixed. A very long PATH or LD_LIBRARY_PATH also slows down every program that starts,
so shorten it where you can. For GPUs, run gpudoctor in a job or container that is given fewer of them.

Source: gpudoctor's own limits.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot

CHECK = Check(
    __name__,
    title="Only a part was looked at",
    sound="No list here was too long to be looked at as a whole",
    severity="info",
    layer="hardware",
    tags=("verdict",),
    needs_gpu=False,
)

_SHOWN = 8


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One remark for all lists that were cut."""
    if not s.caps:
        return
    words = [cap.words for cap in s.caps]
    more = f"; and {len(words) - _SHOWN} more lists" if len(words) > _SHOWN else ""
    facts = [{"what": c.what, "looked": c.looked, "listed": c.listed, "place": c.place} for c in s.caps]
    yield CHECK.remark(
        "Only a part was looked at, so these numbers are limits and no counts",
        f"gpudoctor looked at {'; '.join(words[:_SHOWN])}{more}.",
        facts={"caps": facts},
    )
