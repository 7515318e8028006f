"""Part of the agent torch_speed: products of matrices."""

from __future__ import annotations

import os
import time

from .figures import median
from .speed_checks import ProductChecks
from .speed_fp4 import NO_PRODUCT, fp4_product, random_operand
from .speed_lines import NoRoom, is_out_of_memory, is_refusal
from .speed_plan import ELEMENT_BYTES, MIB, edge_for, lacking, largest_edge, units_of, wave_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Tuple

    Call = Callable[[int], Any]


TRIES = 3
"""To find the size of a product."""


class Products(ProductChecks):
    """Products of matrices."""

    def matmul(self, what: str) -> None:
        """The best rate over a few shapes and layouts that fill the chip."""
        step, torch, processor, plan = "matmul " + what, self.torch, self.processor, self.plan
        reason = lacking(what, processor.capability)
        if what == "int8" and not hasattr(torch, "_int_mm"):
            reason = reason or "this torch has no int8 product (torch._int_mm)"
        if what == "fp8" and not (hasattr(torch, "_scaled_mm") and hasattr(torch, "float8_e4m3fn")):
            reason = reason or "this torch has no fp8 product (torch._scaled_mm)"
        if what == "fp4" and not (hasattr(torch, "_scaled_mm") and hasattr(torch, "float4_e2m1fn_x2")):
            reason = reason or NO_PRODUCT
        if what == "tf32" and os.environ.get("NVIDIA_TF32_OVERRIDE") == "0":
            reason = reason or "NVIDIA_TF32_OVERRIDE=0 forbids TF32"
        if reason:
            self.agent.ended(step, "skipped", reason)
            return
        free = processor.free_bytes()
        most = min(plan.edge_most, largest_edge(free, ELEMENT_BYTES[what], plan.edge_step))
        if most < plan.edge_least:
            raise NoRoom("%d MiB free: too little for a product that fills the GPU" % (free / MIB))
        if most < plan.edge_most and most < plan.edge_probe:
            self.agent.ended(step, "skipped", "%d MiB free: made smaller, edge at most %d" % (free / MIB, most))
        self.set_tf32(what == "tf32")
        try:
            with torch.no_grad():
                self.shrinking(step, most, plan.edge_least, lambda size: self.best_product(what, size))
        finally:
            self.set_tf32(False)

    def best_product(self, what: str, most: int) -> None:
        """Find a size that takes the wanted time, try the shapes, measure the fastest, write it down."""
        plan, processor = self.plan, self.processor
        # fp8 and fp4 products want the second matrix by columns; for the others it is a matter of speed.
        layouts = (False,) if processor.kind == "cpu" else (True,) if what in ("fp8", "fp4") else (True, False)
        edge = min(plan.edge_probe, most)
        for _ in range(TRIES):  # the first products may say nothing: threads start, others want the cores
            probe = self.products(what, (edge, edge, edge), layouts[0])
            ms = self.typical(self.times_ms(probe, plan.each_s / 10.0, most=5))
            del probe
            tried, edge = edge, edge_for(2.0 * edge**3 / ms, plan.product_ms, plan.edge_least, most, plan.edge_step)
            if tried < 2 * edge <= 4 * tried:
                break
        if processor.kind == "cpu" and edge <= plan.edge_least < most:
            raise NoRoom("products of %d x %d take %.0f ms: too small to give a rate" % (tried, tried, ms))
        shapes = [(edge, edge, edge)]
        if processor.kind == "cuda":
            shapes += [(*wave_shape(processor.sms, edge), edge), (edge, edge, edge // 2)]
        best: Tuple[float, Tuple[int, int, int], bool] | None = None
        until = time.monotonic() + min(2 * plan.each_s, self.agent.left() / 4)
        for shape in dict.fromkeys(shapes):
            for layout in layouts:
                if best is not None and time.monotonic() > until:
                    continue
                if len(shapes) * len(layouts) > 1:
                    try:
                        ms = self.typical(self.times_ms(self.products(what, shape, layout), plan.each_s / 10.0, most=8))
                    except Exception as error:  # older torch takes int8 in one layout alone; memory may be short
                        if best is None or not (is_refusal(error) or is_out_of_memory(error)):
                            raise
                        continue
                speed = 2.0 * shape[0] * shape[1] * shape[2] / ms
                if best is None or speed > best[0]:
                    best = (speed, shape, layout)
        assert best is not None
        (m, n, k), layout = best[1], best[2]
        times = self.times_ms(self.products(what, (m, n, k), layout), plan.each_s, "matmul")
        unit = "TOP/s" if what == "int8" else "TFLOP/s"
        detail = {"m": m, "n": n, "k": k, "transposed": int(layout)}
        if most < plan.edge_probe:
            detail["shrunk"] = 1
        units = units_of(what, processor.capability, processor.model)
        self.rate("matmul", what, 2.0 * m * n * k / self.typical(times) / 1e9, unit, times, units=units, detail=detail)
        if processor.kind == "cuda":
            self.check_product(what, (m, n, k), layout, median(times))

    def products(self, what: str, shape: Tuple[int, int, int], transposed: bool) -> Call:
        """A call that multiplies one of several pairs of random matrices (m x k, k x n).

        `transposed`: the second matrix lies in memory by columns, as the weight of a linear layer does.
        """
        torch = self.torch
        m, n, k = shape
        sets = self.sets((m * k + k * n) * ELEMENT_BYTES[what])
        if what == "fp4":
            calls = [fp4_product(*self.fp4_operands(shape, random_operand)) for _ in range(sets)]
            return lambda number: calls[number % len(calls)]()
        pairs = []
        for _ in range(sets):
            second = self.random(what, n, k).t() if transposed else self.random(what, k, n)
            pairs.append((self.random(what, m, k), second))
        if what == "int8":
            return lambda number: torch._int_mm(*pairs[number % len(pairs)])
        if what == "fp8":
            words = self.scaled_mm_words(*pairs[0])
            return lambda number: torch._scaled_mm(*pairs[number % len(pairs)], **words)
        out = torch.empty(m, n, dtype=self.dtype(what), device=self.processor.name)
        return lambda number: torch.mm(*pairs[number % len(pairs)], out=out)
