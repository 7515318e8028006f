"""Part of the agent torch_speed: is a product of matrices right, by Freivalds' check, and as near as rounding leads one
to expect?

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

That bound is proven and wide: it grows like k sqrt(k), rounding like k, for |b_j| itself grows like sqrt(k). What one
expects is narrower. With s = |b_j| the partial sums up to a result C are a random walk from 0 to C; after a part t of
them it is t C, give or take s sqrt(t (1 - t)). Rounding to nearest an operation errs by at most u = 2^-24 of the
partial sum, either way; k of them one after the other, the longest that there is, make the variance

    u^2 k (2 C^2 + s^2) / 18

and tensor cores, which cut off towards zero, lose on the average u of the partial sum in each operation of four
products (the narrowest, Volta's), with the variance (u k / 4)^2 (3 C^2 + s^2) / 12 of what they lose together. Eight
standard deviations of a block's sum, and the rounding of its results to their format in full, is the expected error.
A block beyond it is suspect, not wrong: the model is ours. Products of whole numbers are exact and need none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

BLOCK = 8
U_SUM, PARTIAL_SUMS = 2.0**-23, 8.5
U_OUT = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp8": 2.0**-8, "fp4": 2.0**-8}
"""fp8 and fp4 products are written as bf16."""
EXACT = ("int8", "fp8", "fp4")
WHOLE = 0.25
"""Allowed to a block of whole numbers, which is off by 1 or not at all: for float64 that is itself put together of less
exact products (newer cuBLAS, if configured to)."""
U_NEAREST, SIGMAS = 2.0**-24, 8.0
TENSOR_CORES = ("bf16", "fp16", "tf32")
MOST = 1e9
"""Instead of a quotient that is not finite."""


class Blocks(NamedTuple):
    """What was found of a result's blocks, or the worst of several results'."""

    wrong: int = 0
    """Those that break the bound."""
    over_bound: float = 0.0
    """The largest error over its bound."""
    suspect: int = 0
    """Those beyond the expected error; the wrong ones are among them."""
    over_expected: float = 0.0

    def worst(self, other: Blocks) -> Blocks:
        """The larger of each."""
        return Blocks(
            max(self.wrong, other.wrong), max(self.over_bound, other.over_bound), max(self.suspect, other.suspect),
            max(self.over_expected, other.over_expected),
        )  # fmt: skip


class Freivalds:
    """One pair of matrices, and what their product must be by blocks of columns.

    `truncates`: its sums may be cut off instead of rounded. Raises ValueError where n is no multiple of BLOCK (shapes
    are multiples of 64)."""

    def __init__(self, torch: Any, a: Any, b: Any, what: str, chunk: int, truncates: bool = False) -> None:
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
        self.exact = what in EXACT
        if self.exact:
            self.sums = self.sums * 0 + WHOLE / BLOCK
        cut = (k / 4.0) ** 2 if truncates or what in TENSOR_CORES else 0.0
        self.of_result = U_NEAREST**2 * (k / 9.0 + cut / 4)
        self.of_length = U_NEAREST**2 * (k / 18.0 + cut / 12) * squares

    def random_signs(self, count: int) -> Any:
        return self.torch.randint(0, 2, (count,), device=self.b.device).double() * 2 - 1

    def chunks(self, rows: int, columns: int) -> List[Tuple[int, int]]:
        """(first, behind the last) of the rows that are looked at in one go."""
        step = max(1, self.chunk // (8 * columns))
        return [(start, min(start + step, rows)) for start in range(0, rows, step)]

    def by_blocks(self, rows: Any) -> Any:
        """The sum over each block of columns."""
        return rows.reshape(rows.shape[0], -1, self.width).sum(-1)

    def blocks_outside(self, c: Any) -> Blocks:
        """A result's blocks, held against the bound and the expected error."""
        torch = self.torch
        found = Blocks()
        mixture = self.random_signs(self.mixed.shape[1])
        column = (self.mixed * mixture).sum(1)
        for start, stop in self.chunks(c.shape[0], max(self.a.shape[1], c.shape[1])):
            left = self.a[start:stop].double()
            expected = torch.mm(left, self.mixed)
            # The float64 product itself, by sums alone: its error is below 1e-11 of this length.
            doubt = ((expected * mixture).sum(1) - (left * column).sum(1)).abs()
            sound = bool((doubt <= 1e-8 * left.norm(dim=1) * self.mixed.norm()).all())
            rows = c[start:stop].double()
            error = (self.by_blocks(rows * self.signs) - expected).abs()
            rounded = self.by_blocks(rows.abs() * self.u_out)
            wrong, over = beyond(error, rounded + self.by_blocks(self.sums[None]), sound)
            suspect, over_expected = wrong, over
            if not self.exact:
                spread = self.by_blocks(rows * rows * self.of_result + self.of_length).sqrt()
                suspect, over_expected = beyond(error, rounded + SIGMAS * spread, sound)
            found = Blocks(
                found.wrong + wrong, max(found.over_bound, over), found.suspect + suspect,
                max(found.over_expected, over_expected),
            )  # fmt: skip
        return found

    def fields(self, m: int, n: int, found: Blocks) -> Dict[str, Any]:
        """Fields of ProductProof."""
        fields: Dict[str, Any] = {
            "blocks": m * (n // self.width), "wrong_blocks": found.wrong, "over_bound": found.over_bound,
        }  # fmt: skip
        if not self.exact:
            fields.update(suspect_blocks=found.suspect, over_expected=found.over_expected)
        return fields

    def elements_outside(self, indices: Any, *results: Any) -> int:
        """How many of these elements (rows of row and column) break the bound, in each of the results."""
        row, column = indices[:, 0], indices[:, 1]
        expected = (self.rows_of(self.a, row) * self.rows_of(self.b.t(), column)).sum(1)
        outside = 0
        for result in results:
            value = result[row, column].double()
            outside += beyond((value - expected).abs(), value.abs() * self.u_out + self.sums[column])[0]
        return outside

    def rows_of(self, matrix: Any, numbers: Any) -> Any:
        """Rows in float64; torch does not index 8-bit floats everywhere."""
        if matrix.element_size() > 1:
            return matrix[numbers].double()
        return matrix.view(self.torch.uint8)[numbers].view(matrix.dtype).double()


def beyond(error: Any, bound: Any, sound: bool = True) -> Tuple[int, float]:
    """How many errors exceed their bounds, and the largest of the quotients, a finite number. What is infinite or no
    number exceeds every bound, also the infinite one of an infinite result. Not `sound`: all of them do."""
    within = (error <= bound) & (error < math.inf)
    shares = (error / bound).flatten()
    largest = float(shares.max()) if shares.numel() else 0.0
    return (
        int((~within).sum()) if sound else error.numel(),
        float("%.3g" % largest) if largest < MOST else MOST,
    )
