"""ECC is off on a data-center GPU, or will be off after a reset.

What is wrong: nothing fails. With ECC off, a flipped bit in the GPU's memory goes unnoticed.

Symptoms: `nvidia-smi -q -d ECC` says `Current: Disabled`. The GPU shows a little more memory.

Why it happens: an administrator turned ECC off to gain memory or speed; the change takes effect after a reset or
reboot.

How to fix it: run `nvidia-smi -e 1` as root and reboot. This is only a note, because some administrators turn ECC off
on purpose.

Source: nvidia-smi(1), ECC mode.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import ecc_on
from ..snapshot import Snapshot, known
from ._boards import every, is_vgpu, rows_of
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="ECC is off on a data-center GPU",
    sound="ECC is on for every data-center GPU that supports it",
    severity="info",
    layer="hardware",
    tags=("gpu", "health"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A remark for each data-center board that has ECC but does not use it, or will not after a reset."""
    seen = Readings()
    for gpu in listed(s):
        rows = rows_of(m, gpu)
        if is_vgpu(gpu) or not (every(rows, "segment", "datacenter") and every(rows, "ecc", "yes")):
            continue
        on, pending = seen.of("ecc_enabled", gpu.ecc_enabled), known(gpu.ecc_pending)
        if on is None or (on and pending is not False):
            continue
        waits = on is not pending and pending is not None
        title = f"ECC is {'on' if on else 'off'} for {name_of(gpu)}"
        if waits:
            title += f" and will be {'on' if pending else 'off'} after the next reset"
        facts = {"ecc_enabled": on, "ecc_pending": pending}
        yield CHECK.remark(title, facts=facts, subject=gpu.key, fixes=(ecc_on(s, gpu.key),))
    seen.end("ECC the way a data-center board does")
