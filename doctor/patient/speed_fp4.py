"""Part of the agent torch_speed: products of 4-bit floats with block scales (NVFP4), as Blackwell's tensor cores have.

An element is E2M1: a sign, two bits of exponent, one of mantissa; two of a row share a byte, the first in its lower
half. Each 16 elements of a row share a scale in E4M3. torch.float4_e2m1fn_x2 and its product came with torch 2.8 (pull
requests 148791 and 148792), for CUDA 12.8 and compute capability 10.0: cuBLAS's, whose scales lie in tiles of 128 rows
and 4 columns (cuBLAS documentation, 1D block scaling factors layout). For MXFP4 (32 elements, scales in E8M0) cuBLAS
has no product.

For the check the elements are whole numbers, most of them 0, and the scales 1 or 2: the deviation of a product of two
is 4.1, and that of a sum of 16384 of them 525, so that sums stay below 2^13. They are exact even where a GPU keeps 14
bits of them, as Hopper does for fp8.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

BLOCK = 16
TILE_ROWS, TILE_COLUMNS = 128, 4
"""Of scales."""
MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
VALUES = (*MAGNITUDES, *(-value for value in MAGNITUDES))
"""Of each of the 16 codes."""
WHOLE_CODES = (*(2,) * 20, *(4,) * 6, 5, 6, 7)
"""1, 2, 3, 4 and 6: every bit of a code, few large ones."""
CODES = (*WHOLE_CODES, *(code + 8 for code in WHOLE_CODES), *(0,) * (128 - 2 * len(WHOLE_CODES)))
ONE, TWO = 0x38, 0x40
"""In E4M3."""
NO_PRODUCT = "this torch has no fp4 product (torch._scaled_mm of torch.float4_e2m1fn_x2, 2.8 and newer)"


class Operand:
    """A matrix of `rows` x `k`. elements: bytes, rows x k/2; scales: bytes, rows x k/16.

    Rows are a multiple of 128 and k one of 64, as all shapes are that are measured."""

    def __init__(self, torch: Any, elements: Any, scales: Any) -> None:
        self.torch, self.elements, self.scales = torch, elements, scales

    def packed(self) -> Any:
        """The elements as torch's type, rows x k/2."""
        return self.elements.view(self.torch.float4_e2m1fn_x2)

    def tiled_scales(self) -> Any:
        """The scales in the order that cuBLAS takes, one row: in a tile the rows 0, 32, 64 and 96 lie side by side."""
        rows, columns = self.scales.shape
        tiles = self.scales.reshape(rows // TILE_ROWS, 4, TILE_ROWS // 4, columns // TILE_COLUMNS, TILE_COLUMNS)
        return tiles.permute(0, 3, 2, 1, 4).reshape(-1).view(self.torch.float8_e4m3fn)

    def dense(self) -> Any:
        """What it stands for, float16, rows x k: exact, each is a short number."""
        torch, device = self.torch, self.elements.device
        pairs = [(VALUES[byte & 15], VALUES[byte >> 4]) for byte in range(256)]
        table = torch.tensor(pairs, dtype=torch.float16, device=device)
        values = table.index_select(0, self.elements.reshape(-1).int()).reshape(-1, BLOCK)
        scales = self.scales.reshape(-1).view(torch.float8_e4m3fn).to(torch.float16)
        return (values * scales[:, None]).reshape(self.elements.shape[0], -1)


def random_operand(torch: Any, rows: int, k: int, device: str) -> Operand:
    """Every code, and scales from 0.5 to below 2."""
    elements = torch.randint(0, 256, (rows, k // 2), dtype=torch.uint8, device=device)
    return Operand(torch, elements, torch.randint(0x30, 0x40, (rows, k // BLOCK), dtype=torch.uint8, device=device))


def whole_operand(torch: Any, rows: int, k: int, device: str) -> Operand:
    """Whole numbers whose products have exact sums: see above."""
    table = torch.tensor(CODES, dtype=torch.uint8, device=device)
    numbers = torch.randint(0, len(CODES), (rows * k,), dtype=torch.int32, device=device)
    codes = table.index_select(0, numbers).reshape(rows, k)
    twos = torch.randint(0, 2, (rows, k // BLOCK), dtype=torch.uint8, device=device)
    return Operand(torch, codes[:, 0::2] | (codes[:, 1::2] << 4), twos * (TWO - ONE) + ONE)


def fp4_product(left: Operand, right: Operand) -> Callable[[], Any]:
    """A call that multiplies the one (m x k) with the other's transpose (n x k); m x n in bf16."""
    torch = left.torch
    a, b = left.packed(), right.packed().t()
    words = {"scale_a": left.tiled_scales(), "scale_b": right.tiled_scales(), "out_dtype": torch.bfloat16}
    return lambda: torch._scaled_mm(a, b, **words)
