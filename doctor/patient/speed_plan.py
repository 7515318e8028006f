"""Part of the agent torch_speed: what is measured, and the arithmetic of it."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Sequence, Tuple

MIB = 1 << 20
NO_TIME = "no time left"
TENSOR_CORES_FROM = {"fp16": (7, 0), "int8": (7, 2), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9), "fp4": (10, 0)}
"""Compute capability from which a type has tensor cores (CUDA C++ Programming Guide, arithmetic throughput)."""
NEEDS = {"fp16": (5, 3), "int8": (6, 1), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9), "fp4": (10, 0)}
"""Compute capability below which there is no such arithmetic; int8 is DP4A on CUDA cores at first."""
WITHOUT_TENSOR_CORES = re.compile(r"GTX 16\d\d|CMP 30HX|\bMX[45]50\b|\bT(400|500|550|600|1000|1200|2000)\b")
"""Names of GPUs of capability 7.5 without tensor cores (TU116, TU117)."""
ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1, "fp4": 1}
"""Rounded up for fp4."""
TILE_ROWS, TILE_COLUMNS = 128, 256
"""The large tile of cuBLAS's tensor core kernels."""


class Model(NamedTuple):
    """A transformer encoder and its input. On a GPU `batch` is multiplied by batch_factor."""

    batch: int
    sequence: int
    width: int
    heads: int
    layers: int


class Plan(NamedTuple):
    """Sizes and times of a level. Seconds; MiB; edges of matrices in elements."""

    budget_s: float
    each_s: float
    """Timed work of a measure; a third of it for the smaller ones."""
    training_s: float
    product_ms: float
    """Wanted time of one matrix product: long beside a launch, short beside the budget."""
    edge_probe: int
    edge_least: int
    edge_most: int
    edge_step: int
    memory_mib: int
    copy_mib: int
    model: Model


PLANS = {
    ("cuda", "quick"): Plan(14.0, 0.3, 1.2, 4.0, 2048, 1024, 8192, 256, 1024, 128, Model(4, 256, 512, 8, 6)),
    ("cuda", "full"): Plan(85.0, 2.0, 8.0, 10.0, 2048, 1024, 16384, 256, 2048, 256, Model(2, 512, 1024, 16, 8)),
    ("cpu", "quick"): Plan(7.0, 0.3, 0.8, 30.0, 256, 128, 1024, 64, 64, 0, Model(8, 64, 128, 4, 2)),
    ("cpu", "full"): Plan(30.0, 1.0, 4.0, 100.0, 256, 128, 2048, 64, 256, 0, Model(16, 128, 256, 4, 4)),
}


def units_of(what: str, capability: Sequence[int] | None, name: str) -> str:
    """Where a product of this type runs: cuda-cores, tensor-cores; cpu where there is no capability."""
    if capability is None:
        return "cpu"
    if what == "fp32" or (tuple(capability) == (7, 5) and WITHOUT_TENSOR_CORES.search(name)):
        return "cuda-cores"
    return "tensor-cores" if tuple(capability) >= TENSOR_CORES_FROM[what] else "cuda-cores"


def lacking(what: str, capability: Sequence[int] | None) -> str:
    """Why a GPU has no such arithmetic; empty where it has."""
    needed = NEEDS.get(what, (0, 0))
    if capability is None or tuple(capability) >= needed:
        return ""
    return what + " needs compute capability %d.%d, " % needed + "this GPU has %d.%d" % (capability[0], capability[1])


def mixed_type(capability: Sequence[int] | None) -> str:
    """Type that mixed precision works in here: bf16, fp16; fp32 where neither gains anything."""
    if capability is None or tuple(capability) < (7, 0):
        return "fp32"
    return "bf16" if tuple(capability) >= (8, 0) else "fp16"


def edge_for(flops_per_ms: float, wanted_ms: float, least: int, most: int, step: int) -> int:
    """Edge of a square product that takes the wanted time at this rate, a multiple of `step` within the bounds."""
    edge = float((flops_per_ms * wanted_ms / 2.0) ** (1 / 3.0))
    return max(least, min(most, round(edge / step) * step))


def largest_edge(free_bytes: float, element_bytes: int, step: int) -> int:
    """Largest edge whose two sets of operands and one result of 4 bytes an element take 40 % of the free memory."""
    if math.isinf(free_bytes):
        return 1 << 20
    return int(math.sqrt(0.4 * free_bytes / (4 * element_bytes + 4)) / step) * step


def wave_shape(sms: int, edge: int) -> Tuple[int, int]:
    """(m, n) closest to (edge, edge) whose tiles fill every SM in whole waves; the square where none comes near."""
    best, chosen = 1.0, (edge, edge)
    for rows in range(1, 2 * edge // TILE_ROWS + 1):
        for columns in range(1, 2 * edge // TILE_COLUMNS + 1):
            if rows * columns % sms == 0:
                off = abs(math.log(rows * TILE_ROWS / edge)) + abs(math.log(columns * TILE_COLUMNS / edge))
                if off < best:
                    best, chosen = off, (rows * TILE_ROWS, columns * TILE_COLUMNS)
    return chosen


def batch_factor(sms: int) -> int:
    """A power of two that grows with the chip: 1 to 4 SMs give 1, 40 give 8, 132 give 32."""
    return 1 << max(0, min(6, round(math.log(max(sms, 1) / 4.0, 2))))


def operation_costs(batch: int, sequence: int, width: int, heads: int, size: int) -> Dict[str, Tuple[str, int, int]]:
    """Operations of a transformer layer: name to group, floating point operations, and the least bytes moved.

    `size`: bytes of an element. Every operand is read once and every result written once. Softmax counts 5 operations
    an element (maximum, subtract, exponential, sum, divide), a layer norm 7 (two for the mean and the difference, two
    for the variance, three for scale, weight and bias), GELU 5, an addition 1.
    """
    tokens, head = batch * sequence, width // heads
    rows, wide = batch * heads * sequence, tokens * 4 * width
    return {
        "linear": (
            "contraction",
            2 * wide * width,
            size * (tokens * width + 4 * width * width + wide),
        ),
        "attention-scores": (
            "contraction",
            2 * rows * sequence * head,
            size * (2 * tokens * width + rows * sequence),
        ),
        "attention": ("contraction", 4 * rows * sequence * head, size * 4 * tokens * width),
        "softmax": ("normalisation", 5 * rows * sequence, size * 2 * rows * sequence),
        "layer-norm": ("normalisation", 7 * wide, size * (2 * wide + 2 * 4 * width)),
        "gelu": ("element-wise", 5 * wide, size * 2 * wide),
        "residual-add": ("element-wise", wide, size * 3 * wide),
    }
