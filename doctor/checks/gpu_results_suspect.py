"""A GPU's matmul is off by more than rounding usually explains, but not by more than it can explain.

What is wrong: some sums over a matmul's result differ from float64 by more than eight standard deviations of the
expected rounding error. All are within the proven bound, so nothing is certainly wrong: that bound holds for the worst
case, and is up to a thousand times wider.

Symptoms: usually none. A stuck bit in one result, a tile that is one percent off or a lost step of a matmul changes the
loss too little to be noticed, but the model learns slightly less well.

Why it happens: a defective chip, memory that runs at the edge of its clock or voltage range, or a library that sums in
a different way than gpudoctor expects, for instance one that builds float32 results from lower-precision products.

How to fix it: run `gpudoctor prove` again. If a second process and a second run see the error on this GPU and never on
its siblings, set clocks and voltages to their defaults, run `gpudoctor prove` under load for several minutes (`--soak
600`), and have the board replaced if the problem persists. If all GPUs in the machine show the error, the library is
the cause.

This finding is a warning only if the expected error was measured on a healthy GPU of this architecture for this format;
otherwise it is a note, because tensor cores truncate instead of rounding, each generation in its own way.

Source: products in `gpudoctor prove`; doctor/patient/speed_freivalds.py derives the expected error, and
benchmarks/product_check.py measures what the check finds.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Missing, ProductProof, Snapshot, known
from ._measured import measured
from ._readings import name_of

CHECK = Check(
    __name__,
    title="A GPU's results are suspect",
    sound="No error is larger than rounding usually explains",
    severity="warning",
    layer="hardware",
    tags=("measured", "gpu", "health"),
    downstream_of=("gpu-wrong-results",),
    needs_gpu=False,
)

MEASURED = {"9.0": ("fp32", "tf32")}
"""Formats in which healthy GPUs of a compute capability were measured. H100 80GB HBM3, 2026-11-26: the largest of 2.7
million errors was about 0.7 of the expected one for fp32 (k 4608), of 8.4 million about 0.2 for tf32 (k 8192). For its
16-bit products only the ratio to the proven bound was recorded."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about each GPU with a product beyond the expected error of a format that was measured on its model."""
    products = [product for product in known(measured(s).products) or () if known(product.right) is not None]
    if all(isinstance(product.suspect_blocks, Missing) for product in products):
        raise NotExamined("no matmul was compared with the expected rounding error")
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_results import is_suspect, seen_again, suspects
    from ..fixes.speed import here
    from .gpu_results_not_repeatable import AGAIN

    by_device: dict[str, list[ProductProof]] = {}
    for product in suspects(s.measured):
        by_device.setdefault(product.device, []).append(product)
    for device, found in by_device.items():
        gpu = gpu_of(s, device)
        capability = known(gpu.compute_capability) if gpu else None
        usual = [one.what for one in found if one.what in MEASURED.get(capability or "", ())]
        runs = [
            f"{one.what} ({one.m} x {one.n} x {one.k}): {known(one.suspect_blocks):,} of {one.blocks:,} sums are off "
            f"by up to {one.over_expected:.3g} times the expected error{AGAIN[seen_again(s.measured, one, is_suspect)]}"
            for one in found
        ]
        words = [f"{'; '.join(runs)}. All are within the proven bound."]
        if not usual:
            words.append("The usual error on this architecture has not been measured, so this is not a warning.")
        yield (CHECK.warn if usual else CHECK.remark)(
            f"Results from {name_of(gpu) if gpu else device} are suspect",
            " ".join(words),
            facts={"device": device, "products": [one.what for one in found]},
            subject=gpu.key if gpu else device,
            fixes=(
                here(
                    "prove-again-under-load",
                    "Run gpudoctor prove again, under load",
                    "Compare the result with that of a GPU of the same model, if there is one.",
                    "gpudoctor prove --soak 600",
                ),
            ),
        )
