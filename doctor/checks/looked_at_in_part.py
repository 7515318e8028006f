"""A list on this machine is longer than gpudoctor reads, so only the first part of it was examined.

What is wrong: nothing, as far as gpudoctor can see. A list on this machine (of GPUs, processes, folders or libraries)
is longer than gpudoctor expects, so gpudoctor stopped counting. Its results apply only to the part that it examined.

Symptoms: `64 of 80 GPUs that torch lists`. The number examined is a limit of gpudoctor, not a count of what the machine
has.

Why it happens: a very large machine, a very full folder, a variable with hundreds of entries, or a damaged file.

How to fix it: nothing has to be fixed. A very long PATH or LD_LIBRARY_PATH also slows down every program that starts,
so shorten it if you can. If the list of GPUs is too long, run gpudoctor in a job or container that has fewer GPUs.

Source: gpudoctor's own limits.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Snapshot

CHECK = Check(
    __name__,
    title="Only part of a list was examined",
    sound="Every list here was short enough to examine in full",
    severity="info",
    layer="hardware",
    tags=("verdict",),
    needs_gpu=False,
)

_SHOWN = 8


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One note for all lists that were cut short."""
    if not s.caps:
        return
    words = [cap.words for cap in s.caps]
    more = f"; and parts of {len(words) - _SHOWN} more lists" if len(words) > _SHOWN else ""
    facts = [{"what": c.what, "looked": c.looked, "listed": c.listed, "place": c.place} for c in s.caps]
    yield CHECK.remark(
        "Only part of a list was examined, so these numbers are limits, not counts",
        f"gpudoctor examined {'; '.join(words[:_SHOWN])}{more}.",
        facts={"caps": facts},
    )
