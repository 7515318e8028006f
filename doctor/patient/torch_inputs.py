"""Part of the agent torch_proof: random inputs, and what they make on the CPU."""

from __future__ import annotations

import time

from .torch_settings import backend, set_tf32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

WORK_SIZES = (2048, 1024, 512, 256)
"""Sizes of the product that is timed: the largest that takes this CPU less than WORK_CPU_MS."""
WORK_CPU_MS = 100.0


def no_tf32(torch: Any) -> None:
    """Float32 in full, in products and convolutions."""
    for where in (("cuda", "matmul"), ("cudnn",)):
        set_tf32(backend(torch, *where), False)


class Inputs:
    """Random inputs, the same for every device of this process, with their results in float64 from the CPU."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.random = torch.Generator()
        self.random.seed()
        self.made: Dict[Any, Any] = {}

    def normal(self, *shape: int) -> Any:
        return self.torch.randn(*shape, generator=self.random)

    def product(self, size: int) -> Tuple[Any, Any, Any]:
        """Matrices of size x size and size x size/2+8, and their product in float64."""
        if ("product", size) not in self.made:
            a, b = self.normal(size, size), self.normal(size, size // 2 + 8)
            self.made["product", size] = a, b, self.torch.mm(a.double(), b.double())
        return self.made["product", size]  # type: ignore[no-any-return]

    def convolution(self, size: int) -> Tuple[Any, Any, Any]:
        """Images (4, 16, side, side), 32 filters of 3 x 3, and their convolution in float64."""
        if ("convolution", size) not in self.made:
            side = size // 16 + 14
            x, w = self.normal(4, 16, side, side), self.normal(32, 16, 3, 3)
            self.made["convolution", size] = x, w, self.torch.nn.functional.conv2d(x.double(), w.double())
        return self.made["convolution", size]  # type: ignore[no-any-return]

    def work(self, size: int) -> Tuple[Any, Any, float]:
        """Two square matrices, and the milliseconds that the CPU takes for their product."""
        if size not in self.made:
            a, b = self.normal(size, size), self.normal(size, size)
            times = []
            for _ in range(3):  # the first one loads the library
                started = time.perf_counter()
                self.torch.mm(a, b)
                times.append((time.perf_counter() - started) * 1000)
            self.made[size] = a, b, min(times)
        return self.made[size]  # type: ignore[no-any-return]

    def work_sizes(self) -> Tuple[int, int]:
        """The size for this CPU, and the smallest, for where memory is out."""
        small = WORK_SIZES[-1]
        affordable = [size for size in WORK_SIZES if self.work(small)[2] * (size / small) ** 3 < WORK_CPU_MS]
        return (affordable or [small])[0], small
