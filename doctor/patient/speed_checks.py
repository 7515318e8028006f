"""Part of the agent torch_speed: whether the products that were timed are right, and the same each time.

Freivalds' check, by blocks. For C = A B (m x k times k x n) the columns are taken in blocks of w = 8. With a random
sign x_j for each column, the sum of x_j C_ij over a block must be A (B x), which is computed in float64 with 1/w of the
operations. Every block of every row is looked at. An error of rounding is at most, for one element of C,

    u_out |C_ij|  +  2 k u_sum 8.5 |b_j|

- The inputs are exact in their format (for TF32 the bits that it drops are cleared first), so each product of two
  elements is exact: twice 8, 11 and 11 bits (bf16, fp16, TF32) fit into the 24 bits of float32.
- Sums are kept in float32. Tensor cores cut off instead of rounding, below the 24 bits of the largest of the terms that
  they add at once (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, 2021), so an operation
  loses less than u_sum = 2^-23 of the largest partial sum; there are at most two such operations for each product.
- The elements of A are independent and normal: a partial sum, in whatever order, is normal, its deviation at most the
  length |b_j| of the column. By Levy's inequality no partial sum of a result exceeds 8.5 |b_j| but with a probability
  of 4e-17, which makes some 1e-9 for all results of a product.
- u_out is the unit roundoff of what C is stored in: 2^-8 for bf16, 2^-11 for fp16, 0 for float32 and int32.

int8 is exact: whole numbers must be the same. fp8 on Hopper keeps some 14 bits of its sums (DeepSeek-V3 Technical
Report, 2024, section 3.5.2): its check takes whole numbers from -2 to 2, whose sums are exact there too, and allows the
rounding of the result to bf16 alone; so does that of fp4 (speed_fp4). A block breaks the bound where the sum over it is
off by more than the bounds of its elements together; float64's own error is 2^-29 of that. The float64 product is
itself checked, by multiplying and adding without any product of matrices, so that a library whose products are all zero
is not held against itself.

The same product is then repeated on one stream with the same workspace and compared in bits (cuBLAS promises the same
bits there). Elements that differ are computed again in float64 one by one and held against the bound of one element.
Reductions in half precision are switched off for the check alone: no such bound holds for them.
"""

from __future__ import annotations

import math
import os

from .speed_fp4 import fp4_product, whole_operand
from .speed_lines import is_out_of_memory, is_refusal, text_of
from .speed_plan import MIB, NO_TIME
from .speed_tools import Tools
from .torch_settings import set_to, setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Tuple

BLOCK = 8
REPEATS = 20
LOOKED_AT = 64
"""Elements that differ and are computed again, of each repeat."""
FEW = 1 << 20
U_SUM, PARTIAL_SUMS = 2.0**-23, 8.5
U_OUT = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp8": 2.0**-8, "fp4": 2.0**-8}
"""fp8 and fp4 products are written as bf16."""
EXACT = ("int8", "fp8", "fp4")
WHOLE = 0.25
"""Allowed to a block of whole numbers, which is off by 1 or not at all: for float64 that is itself put together of less
exact products (newer cuBLAS, where it is told to)."""
CHUNK = 128 * MIB
"""Bytes in float64 that are looked at in one go; less where little memory is free."""
REDUCTIONS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")
MOST = 1e9
"""Instead of a quotient that is not finite."""


class ProductChecks(Tools):
    """Checks of products on a GPU."""

    def check_product(self, what: str, shape: Tuple[int, int, int], transposed: bool, product_ms: float) -> None:
        """Check the product that was timed; write one `product` line, or why it was left out."""
        step = "check of matmul " + what
        if self.agent.left() < 2 * REPEATS * product_ms / 1e3:
            self.agent.ended(step, "skipped", NO_TIME)
            return
        self.agent.emit(begin=step, device=self.processor.name)
        matmul = self.torch.backends.cuda.matmul
        before = {name: value for name in REDUCTIONS if (value := setting(matmul, name)) is not None}
        try:
            for name in before:
                set_to(matmul, name, False)
            found = self.checked(what, shape, transposed)
            self.agent.emit(product=dict(found, device=self.processor.name, what=what))
        except Exception as error:
            if not (is_out_of_memory(error) or is_refusal(error)):
                raise
            self.agent.ended(step, "skipped", text_of(error))
        finally:
            for name, value in before.items():
                set_to(matmul, name, value)

    def checked(self, what: str, shape: Tuple[int, int, int], transposed: bool) -> Dict[str, Any]:
        """Fields of ProductProof."""
        m, n, k = shape
        if what == "fp4":
            left, right = self.fp4_operands(shape, whole_operand)
            a, b, multiply = left.dense(), right.dense().t(), fp4_product(left, right)
        else:
            a = self.representable(what, m, k)
            b = self.representable(what, n, k).t() if transposed else self.representable(what, k, n)
            multiply = self.multiplier(what, a, b)
        multiply()  # where torch tunes its products, the first call may be another kernel's
        first = multiply().clone()
        chunk = max(1 << 20, min(CHUNK, int(self.processor.free_bytes() / 16)))
        freivalds = Freivalds(self.torch, a, b, what, chunk)
        wrong_blocks, over = freivalds.blocks_outside(first)
        runs = most = wrong = 0
        for _ in range(REPEATS):
            again = multiply()
            differing = self.bits(again) != self.bits(first)
            number = int(differing.sum())
            if not number:
                continue
            runs, most = runs + 1, max(most, number)
            if number <= FEW:  # a list of all of them takes 16 bytes each
                wrong += freivalds.elements_outside(differing.nonzero()[:LOOKED_AT], first, again)
            if number > LOOKED_AT:
                outside, over_again = freivalds.blocks_outside(again)
                wrong_blocks, over = max(wrong_blocks, outside), max(over, over_again)
        return {
            "right": not (wrong_blocks or wrong), "m": m, "n": n, "k": k, "blocks": m * (n // freivalds.width),
            "wrong_blocks": wrong_blocks, "over_bound": over, "repeats": REPEATS, "differing_repeats": runs,
            "differing_elements": most, "wrong_elements": wrong,
        }  # fmt: skip

    def fp4_operands(self, shape: Tuple[int, int, int], make: Callable[..., Any]) -> Tuple[Any, Any]:
        """The two matrices of a product, the second by columns."""
        m, n, k = shape
        return make(self.torch, m, k, self.processor.name), make(self.torch, n, k, self.processor.name)

    def representable(self, what: str, *shape: int) -> Any:
        """A random tensor whose products are exact: see above."""
        torch, device = self.torch, self.processor.name
        if what == "fp8":
            return torch.randint(-2, 3, shape, dtype=torch.int8, device=device).to(torch.float16).to(self.dtype(what))
        found = self.random(what, *shape)
        if what == "tf32" or (what == "fp32" and os.environ.get("NVIDIA_TF32_OVERRIDE") == "1"):
            found.view(torch.int32).bitwise_and_(~0x1FFF)
        return found

    def multiplier(self, what: str, a: Any, b: Any) -> Callable[[], Any]:
        """A call that multiplies these two matrices; into a result that held no number before, where torch takes it."""
        torch = self.torch
        if what == "int8":
            return lambda: torch._int_mm(a, b)
        if what == "fp8":
            words = self.scaled_mm_words(a, b)
            return lambda: torch._scaled_mm(a, b, **words)
        out = torch.full((a.shape[0], b.shape[1]), math.nan, dtype=self.dtype(what), device=self.processor.name)
        return lambda: torch.mm(a, b, out=out)

    def scaled_mm_words(self, a: Any, b: Any) -> Dict[str, Any]:
        """Keywords that this torch's _scaled_mm takes: use_fast_accum came with 2.2, scales must be given since 2.5."""
        torch = self.torch
        one = torch.ones((), dtype=torch.float32, device=self.processor.name)
        half = {"out_dtype": torch.bfloat16}
        scaled = dict(half, scale_a=one, scale_b=one)
        first: Exception | None = None
        for words in (dict(scaled, use_fast_accum=True), scaled, half):
            try:
                torch._scaled_mm(a, b, **words)
                return words
            except (TypeError, RuntimeError) as error:
                if is_out_of_memory(error):
                    raise
                first = first or error
        assert first is not None
        raise first

    def bits(self, result: Any) -> Any:
        """The same memory as whole numbers, so that not-a-number is equal to itself."""
        return result.view(self.torch.int16 if result.element_size() == 2 else self.torch.int32)


class Freivalds:
    """One pair of matrices, and what their product must be by blocks of columns.

    Raises ValueError where n is no multiple of BLOCK (shapes are multiples of 64)."""

    def __init__(self, torch: Any, a: Any, b: Any, what: str, chunk: int) -> None:
        self.torch, self.a, self.b, self.chunk = torch, a, b, chunk
        k, n = b.shape
        self.width = BLOCK
        if n % BLOCK:
            raise ValueError("%d columns are no blocks of %d" % (n, BLOCK))
        self.u_out = U_OUT.get(what, 0.0)
        self.signs = self.random_signs(n)
        self.mixed = torch.empty(k, n // BLOCK, dtype=torch.float64, device=b.device)
        squares = torch.zeros(n, dtype=torch.float64, device=b.device)
        for start, stop in self.chunks(k, n):
            rows = b[start:stop].double()
            squares += (rows * rows).sum(0)
            self.mixed[start:stop] = self.by_blocks(rows * self.signs)
        self.sums = squares.sqrt() * (2 * k * U_SUM * PARTIAL_SUMS)
        if what in EXACT:
            self.sums = self.sums * 0 + WHOLE / BLOCK

    def random_signs(self, count: int) -> Any:
        return self.torch.randint(0, 2, (count,), device=self.b.device).double() * 2 - 1

    def chunks(self, rows: int, columns: int) -> List[Tuple[int, int]]:
        """(first, behind the last) of the rows that are looked at in one go."""
        step = max(1, self.chunk // (8 * columns))
        return [(start, min(start + step, rows)) for start in range(0, rows, step)]

    def by_blocks(self, rows: Any) -> Any:
        """The sum over each block of columns."""
        return rows.reshape(rows.shape[0], -1, self.width).sum(-1)

    def blocks_outside(self, c: Any) -> Tuple[int, float]:
        """How many blocks of a result break the bound, and the largest error over its bound."""
        torch = self.torch
        outside, over = 0, 0.0
        mixture = self.random_signs(self.mixed.shape[1])
        column = (self.mixed * mixture).sum(1)
        for start, stop in self.chunks(c.shape[0], max(self.a.shape[1], c.shape[1])):
            left = self.a[start:stop].double()
            expected = torch.mm(left, self.mixed)
            # The float64 product itself, by sums alone: its error is below 1e-11 of this length.
            doubt = ((expected * mixture).sum(1) - (left * column).sum(1)).abs()
            sound = doubt <= 1e-8 * left.norm(dim=1) * self.mixed.norm()
            rows = c[start:stop].double()
            error = (self.by_blocks(rows * self.signs) - expected).abs()
            bound = self.by_blocks(rows.abs() * self.u_out + self.sums)
            outside += int((~(error <= bound)).sum()) if bool(sound.all()) else error.numel()
            over = max(over, quotient(error, bound))
        return outside, over

    def elements_outside(self, indices: Any, *results: Any) -> int:
        """How many of these elements (rows of row and column) break the bound, in each of the results."""
        row, column = indices[:, 0], indices[:, 1]
        expected = (self.rows_of(self.a, row) * self.rows_of(self.b.t(), column)).sum(1)
        outside = 0
        for result in results:
            value = result[row, column].double()
            outside += int((~((value - expected).abs() <= value.abs() * self.u_out + self.sums[column])).sum())
        return outside

    def rows_of(self, matrix: Any, numbers: Any) -> Any:
        """Rows in float64; torch does not index 8-bit floats everywhere."""
        if matrix.element_size() > 1:
            return matrix[numbers].double()
        return matrix.view(self.torch.uint8)[numbers].view(matrix.dtype).double()


def quotient(error: Any, bound: Any) -> float:
    """The largest error over its bound, a finite number."""
    shares = (error / bound).flatten()
    largest = float(shares.max()) if shares.numel() else 0.0
    return float("%.3g" % largest) if largest < MOST else MOST
