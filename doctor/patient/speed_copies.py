"""Part of the agent torch_speed: copies inside the device's memory and to and from the host, timed and compared."""

from __future__ import annotations

import random
import time

from .figures import median
from .speed_nodes import Nodes
from .speed_plan import MIB, NO_TIME
from .speed_products import Products

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHECKED = 3
"""Copies that are compared, each into memory that held something else."""
ODD = 0x9E3779B1 - (1 << 32)
"""Makes neighbours differ in most bits; being odd, no two numbers of one buffer are equal."""


class Copies(Products):
    """Bandwidth of memory and of the link to the host. On a GPU what arrived is compared in bits."""

    def memory(self, what: str) -> None:
        """Bandwidth of the device's memory, of buffers that no cache holds: b = a, or a = b + s c (three buffers)."""
        torch, processor = self.torch, self.processor
        count = 2 if what == "copy" else 3

        def measure(mib: int) -> None:
            elements = mib * MIB // 4
            buffers = [
                torch.empty(elements, dtype=torch.float32, device=processor.name).uniform_() for _ in range(count)
            ]
            a, b, c = buffers[0], buffers[1], buffers[-1]
            if what == "copy":
                times = self.times_ms(lambda number: b.copy_(a), each_s, "memory")
            else:
                times = self.times_ms(lambda number: torch.add(b, c, alpha=3.0, out=a), each_s, "memory")
            moved = count * mib * MIB
            self.rate("memory", what, moved / self.typical(times) / 1e6, "GB/s", times, detail={"mib": mib})
            if what == "copy" and processor.kind == "cuda":
                self.compare("d2d", a.view(torch.int32), b.view(torch.int32), a.view(torch.int32), median(times))

        each_s = self.plan.each_s
        with torch.no_grad():
            self.shrinking("memory " + what, self.buffer_mib("memory " + what, self.plan.memory_mib, count), 8, measure)

    def copy(self, direction: str, pinned: bool) -> None:
        """Between host memory and the device, one way: with memory of the GPU's NUMA node, and where the machine has
        others, with pinned memory of the farthest too."""
        nodes = self.nodes
        if nodes is None:
            nodes = self.nodes = Nodes(self.processor.ordinal, self.agent.root)
        what = "%s-%s" % (direction, "pinned" if pinned else "pageable")
        with nodes.bound(nodes.near) as bound:
            self.copy_from(direction, what, pinned, nodes, nodes.near if bound else -1)
        if pinned and nodes.far >= 0:
            with nodes.bound(nodes.far) as bound:
                if bound:
                    self.copy_from(direction, "%s-far" % direction, pinned, nodes, nodes.far)

    def copy_from(self, direction: str, what: str, pinned: bool, nodes: Nodes, node: int) -> None:
        """One way, with host memory of the node that this thread is bound to (-1: none)."""
        torch, processor = self.torch, self.processor

        def measure(mib: int) -> None:
            elements, seed = mib * MIB // 4, random.getrandbits(31)
            host = self.host_buffer(elements, pinned, node)
            there = torch.empty(elements, dtype=torch.int32, device=processor.name)
            target, source = (there, host) if direction == "h2d" else (host, there)
            self.fill(source, seed)
            target.zero_()
            times = self.times_ms(lambda number: target.copy_(source, non_blocking=pinned), self.plan.each_s, "copy")
            detail = {"mib": mib}
            if nodes.near >= 0:
                detail.update(gpu_node=nodes.near, host_node=node)
            self.rate("copy", what, mib * MIB / median(times) / 1e6, "GB/s", times, detail=detail)
            # What must have come is made where it came to: so the way back has no part in it.
            expected = self.fill(torch.empty_like(target), seed)
            self.compare(what, source, target, expected, median(times))

        mib = self.plan.copy_mib
        while mib > 8 and mib * MIB > processor.free_bytes() / 4:
            mib //= 2
        self.shrinking("copy " + what, mib, 8, measure)

    def host_buffer(self, elements: int, pinned: bool, node: int) -> Any:
        """Host memory. Pinned memory is kept for each node: torch would hand out again what was freed, wherever it
        lies."""
        if not pinned:
            return self.torch.empty(elements, dtype=self.torch.int32)
        if (node, elements) not in self.pinned:
            self.pinned[node, elements] = self.torch.empty(elements, dtype=self.torch.int32, pin_memory=True)
        return self.pinned[node, elements]

    def fill(self, buffer: Any, seed: int) -> Any:
        """Numbers of 32 bits, no two of them equal."""
        count = buffer.numel()
        return self.torch.arange(count, dtype=self.torch.int32, out=buffer).mul_(ODD).bitwise_xor_(seed)

    def compare(self, what: str, source: Any, target: Any, expected: Any, copy_ms: float) -> None:
        """Copy anew, some times, and count the numbers that are not what they must be; one `copied` line."""
        if self.agent.left() < 20 * CHECKED * copy_ms / 1e3:
            self.agent.ended("check of copy " + what, "skipped", NO_TIME)
            return
        wrong, copies, until = 0, 0, time.monotonic() + max(1.0, self.agent.left() / 20)
        while copies < CHECKED and (not copies or time.monotonic() < until):
            target.fill_(copies)
            self.processor.sync()
            target.copy_(source)
            self.processor.sync()
            wrong += int((target != expected).sum())
            copies += 1
        mib = source.numel() * 4 / MIB
        found = {"what": what, "right": not wrong, "mib": mib, "copies": copies, "wrong_numbers": wrong}
        self.agent.emit(copied=dict(found, device=self.processor.name))
