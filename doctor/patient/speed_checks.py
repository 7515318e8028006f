"""Part of the agent torch_speed: whether the products that were timed are right, and the same each time.

A product is held against float64 (`speed_freivalds` has the bounds), then repeated on one stream with the same
workspace and compared in bits (cuBLAS promises the same bits there). Elements that differ are computed again in float64
one by one and held against the bound of one element. Reductions in half precision are switched off for the check alone:
no such bound holds for them.
"""

from __future__ import annotations

import math
import os

from .speed_fp4 import fp4_product, whole_operand
from .speed_freivalds import Freivalds
from .speed_lines import is_out_of_memory, is_refusal, text_of
from .speed_plan import MIB, NO_TIME
from .speed_tools import Tools
from .torch_settings import backend, set_to, setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

REPEATS = 20
LOOKED_AT = 64
"""Elements that differ and are computed again, of each repeat."""
FEW = 1 << 20
CHUNK = 128 * MIB
"""Bytes in float64 that are looked at in one go; less where little memory is free."""
REDUCTIONS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")


class ProductChecks(Tools):
    """Checks of products on a GPU."""

    def check_product(self, what: str, shape: Tuple[int, int, int], transposed: bool, product_ms: float) -> None:
        """Check the product that was timed; write one `product` line, or why it was left out."""
        step = "check of matmul " + what
        if self.agent.left() < 2 * REPEATS * product_ms / 1e3:
            self.agent.ended(step, "skipped", NO_TIME)
            return
        self.agent.emit(begin=step, device=self.processor.name)
        matmul = backend(self.torch, "cuda", "matmul")
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
        freivalds = Freivalds(self.torch, a, b, what, chunk, tf32_forced())
        blocks = freivalds.blocks_outside(first)
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
                blocks = blocks.worst(freivalds.blocks_outside(again))
        return {
            "right": not (blocks.wrong or wrong), "m": m, "n": n, "k": k, **freivalds.fields(m, n, blocks),
            "repeats": REPEATS, "differing_repeats": runs, "differing_elements": most, "wrong_elements": wrong,
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
        if what == "tf32" or (what == "fp32" and tf32_forced()):
            found.view(torch.int32).bitwise_and_(~0x1FFF)
        return found

    def multiplier(self, what: str, a: Any, b: Any) -> Callable[[], Any]:
        """A call that multiplies these two matrices; into a result that held no number before, where torch takes it."""
        torch = self.torch
        if what == "int8":
            return lambda: torch._int_mm(a, b)
        if what == "fp8":
            words = self.scaled_mm_words(a, b)
            return lambda: product_of(torch._scaled_mm(a, b, **words))
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
                if first is None or isinstance(first, TypeError):  # that it does not know a keyword explains the least
                    first = error
        assert first is not None
        raise first

    def bits(self, result: Any) -> Any:
        """The same memory as whole numbers, so that not-a-number is equal to itself."""
        return result.view(self.torch.int16 if result.element_size() == 2 else self.torch.int32)


def product_of(result: Any) -> Any:
    """Of what _scaled_mm returns: before torch 2.5 the product and its largest element."""
    return result[0] if isinstance(result, tuple) else result


def tf32_forced() -> bool:
    """Whether the driver computes every float32 product in TF32."""
    return os.environ.get("NVIDIA_TF32_OVERRIDE") == "1"
