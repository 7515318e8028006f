"""A GPU does not give the same result every time for the same matmul.

What is wrong: the same matmul of the same matrices, on one stream and with the same workspace, gave different bits in
some of 20 repeats. All results are within what rounding can explain, so none is wrong.

Symptoms: two training runs with the same seed diverge; checksums of activations differ.

Why it happens: a library that adds in an order that is not fixed (split sums with atomic additions), or a chip that
runs at the edge of its voltage range. NVIDIA promises bitwise identical results from cuBLAS on one stream of one GPU.

How to fix it: run `gpudoctor prove` again. If the same GPU shows differences each time and its siblings never do, keep
an eye on it: run a stress test for several hours and compare. If all GPUs in the machine show them, the library is the
cause.

This finding is only a warning, even though a second process checks again: it is not known whether a healthy GPU ever
shows differences of this kind.

Source: 20 repeats of each product in `gpudoctor prove`; cuBLAS documentation, results reproducibility.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import ProductProof, Snapshot, known
from ._measured import measured
from ._readings import name_of

CHECK = Check(
    __name__,
    title="A GPU's results are not repeatable",
    sound="No repeated matmul gave different bits",
    severity="warning",
    layer="hardware",
    tags=("measured", "gpu", "health"),
    downstream_of=("gpu-wrong-results",),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about each GPU whose repeats of a product differ, all of them within rounding."""
    products = [product for product in known(measured(s).products) or () if known(product.right) is not None]
    if not products:
        raise NotExamined("no matmul was repeated")
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_results import seen_again, unrepeatable
    from ..fixes.speed import here

    by_device: dict[str, list[ProductProof]] = {}
    for product in unrepeatable(s.measured):
        by_device.setdefault(product.device, []).append(product)
    alike = sorted({product.device for product in products} - by_device.keys())
    for device, found in by_device.items():
        gpu = gpu_of(s, device)
        runs = [
            f"{p.what} ({p.m} x {p.n} x {p.k}): {p.differing_repeats} of {p.repeats} repeats differ, in up to "
            f"{p.differing_elements:,} of {p.m * p.n:,} elements{AGAIN[seen_again(s.measured, p, _differs)]}"
            for p in found
        ]
        others = f" The bits were the same each time on {', '.join(alike)}." if alike else ""
        yield CHECK.warn(
            f"Results from {name_of(gpu) if gpu else device} are not repeatable",
            f"{'; '.join(runs)}. Rounding can explain all of the differences.{others}",
            facts={"device": device, "products": [p.what for p in found]},
            subject=gpu.key if gpu else device,
            fixes=(
                here(
                    "prove-again",
                    "Run gpudoctor prove again",
                    "If the results differ again on this GPU only, run a stress test on it for several hours.",
                ),
            ),
        )


AGAIN = {True: "; a second process saw this too", False: "; a second process did not see this", None: ""}


def _differs(product: ProductProof) -> bool:
    return bool(product.differing_repeats)
