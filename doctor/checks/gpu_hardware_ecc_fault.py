"""A GPU's memory has faults that ECC could not correct.

What is wrong: there were memory errors that ECC detects but cannot correct, or the board can no longer replace bad rows
(row remapping failed, or too many rows or pages were replaced).

Symptoms: `uncorrectable ECC error encountered` (CUDA error 214), Xid 48, 63, 64, 94, 95 in the kernel log; programs
that crash at random. With ECC off, the same faults silently give wrong numbers.

Why it happens: memory cells age or are hit by radiation; heat; a defective board. Isolated errors happen on healthy
boards too; a reset clears them. A failed remapping is permanent.

How to fix it: after uncorrected errors, stop the programs and reset the GPU (or reboot). If remapping failed, 512 rows
or 63 pages have been replaced, or the driver (590 and later) flags memory that it cannot repair, the board must be
replaced. In a container or on a rented machine, use another host.

Thresholds: retired_pages (63), remapped_rows (512). Corrected errors are not a fault.

Source: NVIDIA GPU Memory Error Management, docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt; nvidia-smi(1), ECC; for the
limits of 512 rows and 63 pages, DCGM (DcgmGPUHardwareLimits.h).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import replace_board, reset
from ..snapshot import Snapshot, known
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="A GPU's memory has uncorrectable faults",
    sound="No GPU reports memory faults that it could not repair",
    severity="critical",
    layer="hardware",
    tags=("gpu", "health"),
    downstream_of=("gpu-fell-off-bus",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for row remapping, retired pages and volatile uncorrected errors, on each GPU that reports them."""
    seen = Readings()
    for gpu in listed(s):
        failed = seen.of("row_remap_failed", gpu.row_remap_failed)
        rows = seen.of("remapped_rows_uncorrectable", gpu.remapped_rows_uncorrectable) or 0
        pages = seen.of("retired_pages", gpu.retired_pages) or 0
        errors = seen.of("ecc_uncorrected_volatile", gpu.ecc_uncorrected_volatile) or 0
        lost = known(gpu.memory_unrepairable)  # newer drivers only: the others above decide without it
        facts = {"row_remap_failed": failed, "memory_unrepairable": lost, "remapped_rows": rows, "retired_pages": pages,
                 "uncorrected": errors}  # fmt: skip
        if failed:
            title = "could not replace a bad memory row: the board must be replaced"
            fixes = replace_board(s, gpu.key)
        elif lost:
            title = "has memory that cannot be repaired: the board must be replaced"
            fixes = replace_board(s, gpu.key)
        elif rows >= limit(p, "remapped_rows", 512):
            title = f"has replaced {rows} bad memory rows, the limit for a board"
            fixes = replace_board(s, gpu.key)
        elif pages >= limit(p, "retired_pages", 63):
            title = f"has retired {pages} bad memory pages; it can retire at most 64"
            fixes = replace_board(s, gpu.key)
        elif errors > 0:
            title = f"has seen {errors} uncorrectable memory error{'s' * (errors > 1)} since it was last reset"
            fixes = reset(s, gpu.key)
        else:
            continue
        detail = "Programs on this GPU may crash with ECC errors or use corrupted data."
        yield CHECK.fail(f"{name_of(gpu)} {title}", detail, facts=facts, subject=gpu.key, fixes=fixes)
    seen.end("memory errors (ECC, row remapping)")
