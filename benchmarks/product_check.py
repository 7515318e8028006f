"""What the check of products notices: faults planted in real products on the CPU, and alarms on sound ones.

    PYTHON_WITH_TORCH benchmarks/product_check.py [--sound 10000] [--each 50]

The check is that of `gpudoctor prove` (`doctor/patient/speed_freivalds.py`). `proven`: an error beyond its bound is
`gpu-wrong-results`; `expected`: one beyond eight standard deviations of rounding is `gpu-results-suspect`.

Sound products are of normal numbers in their format, by torch's own product on the CPU; `cut off` are products in the
arithmetic of a tensor core, four products at a time, everything below the 24 bits of the sum dropped. A fault is
planted in a fresh copy of one of several sound products: a bit stuck at one in one element, a tile of 64 x 64 that is
multiplied by 1.01, a step of the inner size that such a tile does not add. Exit 1 where a sound product is an alarm.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from doctor.patient.speed_freivalds import Blocks, Freivalds

if TYPE_CHECKING:
    from torch import Tensor

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
KINDS = (*DTYPES, "tf32 cut off", "bf16 cut off")
MANTISSA = {"fp32": 23, "tf32": 23, "bf16": 7, "fp16": 10}
TILE, EDGE, INNER = 64, 256, 4096
"""Of the products in which faults are planted; the tile, and both sizes of the result."""
SHAPES = ((64, 64, 64), (128, 128, 256), (256, 256, 512), (128, 128, 1024), (128, 128, 2048), (64, 64, 8192))
CHUNK = 64 << 20


class Product:
    """Two matrices, their product, and what it must be."""

    def __init__(self, kind: str, m: int, n: int, k: int) -> None:
        self.what = kind.split()[0]
        self.a, self.b = operand(self.what, m, k), operand(self.what, k, n)
        cut = "cut" in kind
        self.c = (cut_off(self.a, self.b) if cut else torch.mm(self.a, self.b)).to(DTYPES[self.what])
        self.check = Freivalds(torch, self.a, self.b, self.what, CHUNK)

    def judged(self, result: Tensor) -> Blocks:
        return self.check.blocks_outside(result)


def operand(what: str, rows: int, columns: int) -> Tensor:
    """Normal numbers, those of TF32 with the bits cleared that it drops, as the agent's own."""
    found = torch.randn(rows, columns, dtype=DTYPES[what])
    if what == "tf32":
        found.view(torch.int32).bitwise_and_(~0x1FFF)
    return found


def cut_off(a: Tensor, b: Tensor) -> Tensor:
    """Sums of four exact products and the sum so far, cut to 24 bits towards zero."""
    left, right = a.double(), b.double()
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float64)
    for start in range(0, a.shape[1], 4):
        total += left[:, start : start + 4] @ right[start : start + 4]
        total.view(torch.int64).bitwise_and_(-1 << 29)  # float64 has 29 bits more
    return total.float()


def stuck_bit(bit: int) -> Callable[[Product], Tensor]:
    """A bit of one element is one; of an element where it was not. Bit 0 is the last one of the mantissa."""

    def plant(product: Product) -> Tensor:
        found = product.c.clone()
        whole = found.view(torch.int16 if found.element_size() == 2 else torch.int32).flatten()
        while True:
            place = random.randrange(whole.numel())
            value = int(whole[place])
            if not value >> bit & 1:
                whole[place] = value | 1 << bit
                return found

    return plant


def scaled_tile(product: Product) -> Tensor:
    """A tile is one percent too large."""
    found, (rows, columns) = product.c.clone(), tile(product)
    found[rows, columns] = (found[rows, columns].float() * 1.01).to(found.dtype)
    return found


def lost_step(step: int) -> Callable[[Product], Tensor]:
    """A tile lacks `step` of the products that each of its elements is the sum of."""

    def plant(product: Product) -> Tensor:
        found, (rows, columns) = product.c.clone(), tile(product)
        first = random.randrange(product.a.shape[1] // step) * step
        lost = product.a[rows, first : first + step].double() @ product.b[first : first + step, columns].double()
        found[rows, columns] = (found[rows, columns].double() - lost).to(found.dtype)
        return found

    return plant


def tile(product: Product) -> tuple[slice, slice]:
    rows, columns = (TILE * random.randrange(size // TILE) for size in product.c.shape)
    return slice(rows, rows + TILE), slice(columns, columns + TILE)


def faults(what: str) -> Iterator[tuple[str, Callable[[Product], Tensor]]]:
    """By name."""
    mantissa = MANTISSA[what]
    for bit in sorted({0, mantissa // 4, mantissa // 2, mantissa - 3, mantissa - 2, mantissa - 1}):
        yield f"bit {bit} of {mantissa} stuck", stuck_bit(bit)
    yield "lowest exponent bit stuck", stuck_bit(mantissa)
    yield "tile x 1.01", scaled_tile
    for step in (1, 16, 64):
        yield f"{step} of {INNER} steps lost", lost_step(step)


def planted(each: int) -> list[list[str]]:
    """Rows: format, fault, how many of `each` either bound caught."""
    rows = []
    for what in DTYPES:
        products = [Product(what, EDGE, EDGE, INNER) for _ in range(5)]
        for name, plant in faults(what):
            seen = [product.judged(plant(product)) for product in products for _ in range(-(-each // len(products)))]
            proven, expected = (
                sum(map(bool, of)) for of in ([one.wrong for one in seen], [one.suspect for one in seen])
            )
            rows.append([what, name, f"{100 * proven / len(seen):.0f} %", f"{100 * expected / len(seen):.0f} %"])
    return rows


def sound(count: int) -> list[list[str]]:
    """Rows: arithmetic, products, blocks, alarms of each bound, and the largest error over each."""
    blocks: Counter[str] = Counter()
    products: Counter[str] = Counter()
    alarms: dict[str, list[int]] = {kind: [0, 0] for kind in KINDS}
    largest: dict[str, list[float]] = {kind: [0.0, 0.0] for kind in KINDS}
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        m, n, k = SHAPES[number // len(KINDS) % len(SHAPES)]
        product = Product(kind, m, n, k)
        found = product.judged(product.c)
        products[kind] += 1
        blocks[kind] += m * n // 8
        for place, (alarm, over) in enumerate(((found.wrong, found.over_bound), (found.suspect, found.over_expected))):
            alarms[kind][place] += bool(alarm)
            largest[kind][place] = max(largest[kind][place], over)
    return [
        [
            kind,
            f"{products[kind]:,}",
            f"{blocks[kind]:,}",
            *map(str, alarms[kind]),
            *(f"{one:.2g}" for one in largest[kind]),
        ]
        for kind in KINDS
    ]


def table(columns: list[str], rows: list[list[str]]) -> None:
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sound", type=int, default=10_000, help="sound products")
    options.add_argument("--each", type=int, default=50, help="plantings of each fault")
    flags = options.parse_args()
    torch.manual_seed(20261127)
    random.seed(20261127)
    rows = sound(flags.sound)
    table(
        [
            "sound products",
            "number",
            "blocks",
            "proven: alarms",
            "expected: alarms",
            "error / proven",
            "error / expected",
        ],
        rows,
    )
    table(["product", "fault", "proven bound", "expected error"], planted(flags.each))
    print(f"torch {torch.__version__}, faults in products of {EDGE} x {EDGE} x {INNER}")
    return int(any(row[3] != "0" or row[4] != "0" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
