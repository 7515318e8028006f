"""Agent: products of matrices on one GPU, on and on; JSON lines on stdout. Standard library and torch only.

Run under the patient's Python: `python -m doctor.patient.torch_soak --device cuda:0 --seconds S`. One product, in the
type that mixed precision uses here, of random data, fills the GPU. It is held against float64 first (as torch_speed
does); then it is repeated, and each fourth result is compared with the first in bits, on the GPU. Products are handed
over a second ahead, so that the host waits for one second of them while the next is at work: nothing else waits
between kernels.

With --orders FD it says {"ready": DEVICE} and waits there for a line before it takes its GPU, and once more before the
load begins.

Lines: {"begin": "soak 12 of 600 s"} each second; {"soak": {"at_s", "seconds", "rate", ...}} for each 200th of the time,
or each second, with "start" and "end" by time.monotonic; {"phase": "soak", ...}; at the end {"product": P} where any
result differed; {"ended": E} for what failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings

from .figures import figure, median
from .noise import real_output
from .speed_checks import LOOKED_AT, tf32_forced
from .speed_freivalds import Freivalds
from .speed_lines import NoRoom, text_of
from .speed_plan import ELEMENT_BYTES, MIB, PLANS, edge_for, largest_edge, mixed_type
from .speed_products import Products
from .torch_speed import Agent, device_name, positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

AGENT = "torch_soak"
POINTS = 200
"""Lines that a run writes at most."""
EACH_S = 1.0
COMPARED = 4
"""Of so many products one is compared."""


class Repeated:
    """A product and its first result; what of the later ones differed, counted on the GPU."""

    def __init__(self, products: Products, what: str, edge: int) -> None:
        torch = products.torch
        self.torch, self.products = torch, products
        a, b = products.representable(what, edge, edge), products.representable(what, edge, edge)
        self.multiply = products.multiplier(what, a, b)
        self.first = self.multiply().clone()
        self.freivalds = Freivalds(
            torch, a, b, what, max(1 << 20, min(128 * MIB, int(products.processor.free_bytes() / 16))), tf32_forced()
        )
        self.blocks = self.freivalds.blocks_outside(self.first)
        self.kept = self.first
        self.compared = 0
        zero = torch.zeros(1, dtype=torch.int64, device=products.processor.name)
        self.runs, self.elements = zero, zero

    def queue(self, count: int) -> None:
        """Hand over so many products."""
        bits, first = self.products.bits, self.products.bits(self.first)
        for number in range(count):
            found = self.multiply()
            if number % COMPARED == 0:
                differing = (bits(found) != first).sum()
                changed = differing != 0
                self.kept = self.torch.where(changed, found, self.kept)
                self.runs, self.elements = self.runs + changed, self.elements + differing
                self.compared += 1

    def differing(self) -> int:
        """Results that were not the first one. Waits for the GPU."""
        return int(self.runs)

    def proof(self, edge: int) -> Any:
        """Fields of ProductProof."""
        wrong = 0
        if self.differing():
            where = (self.products.bits(self.kept) != self.products.bits(self.first)).nonzero()[:LOOKED_AT]
            wrong = self.freivalds.elements_outside(where, self.first, self.kept)
        return {
            "right": not (self.blocks.wrong or wrong), "m": edge, "n": edge, "k": edge,
            **self.freivalds.fields(edge, edge, self.blocks), "repeats": self.compared,
            "differing_repeats": self.differing(), "differing_elements": int(self.elements), "wrong_elements": wrong,
        }  # fmt: skip


class Soak(Products):
    """Sustained load on one GPU."""

    def run(self, seconds: float, orders: Any = None) -> None:
        """Load it for so many seconds; `orders`: begin at a line of it, {"seconds": S}."""
        torch, processor = self.torch, self.processor
        what = mixed_type(processor.capability)
        most = min(
            self.plan.edge_most, largest_edge(processor.free_bytes() / 2, ELEMENT_BYTES[what], self.plan.edge_step)
        )
        if most < self.plan.edge_least:
            raise NoRoom("%d MiB free: too little for a product that fills the GPU" % (processor.free_bytes() / MIB))
        with torch.no_grad():
            self.wake()
            edge = min(self.plan.edge_probe, most)
            ms = median(self.times_ms(self.products(what, (edge,) * 3, False), 0.05, most=5))
            edge = edge_for(2.0 * edge**3 / ms, self.plan.product_ms, self.plan.edge_least, most, self.plan.edge_step)
            repeated = Repeated(self, what, edge)
            ms = median(self.times_ms(lambda number: repeated.multiply(), 0.05, most=5))
            if orders is not None:
                self.agent.emit(ready=processor.name)
                order = orders.readline()
                if not order:
                    return
                seconds = float(json.loads(order)["seconds"])
            self.agent.deadline = time.monotonic() + seconds
            started = time.monotonic()
            try:
                self.load(repeated, what, edge, max(COMPARED, int(EACH_S * 1e3 / ms)), seconds)
            finally:
                self.phase("soak", started, time.monotonic())
        if repeated.blocks.suspect or repeated.differing():
            self.agent.emit(product=dict(repeated.proof(edge), device=processor.name, what=what))

    def load(self, repeated: Repeated, what: str, edge: int, count: int, seconds: float) -> None:
        """Second by second; the next is handed over before the last is waited for."""
        processor, began = self.processor, time.monotonic()
        least = max(EACH_S, seconds / POINTS)
        at, done_ms, done, compared = 0.0, 0.0, 0, 0

        def queued() -> Any:
            start = processor.mark()
            repeated.queue(count)
            return start, processor.mark(), repeated.compared

        batch = queued()
        while batch is not None:
            passed = time.monotonic() - began
            self.agent.emit(begin="soak %d of %d s" % (min(passed, seconds), seconds), device=processor.name)
            following = queued() if passed < seconds else None
            start, end, checked = batch
            end.synchronize()
            done_ms, done, batch = done_ms + processor.between_ms(start, end), done + count, following
            now = time.monotonic() - began
            if now - at >= least or batch is None:
                unit = "TFLOP/s"
                self.agent.emit(
                    soak={
                        "device": processor.name, "what": what, "at_s": round(at, 2), "seconds": round(now - at, 2),
                        "rate": figure(2.0 * edge**3 * done / done_ms / 1e9), "unit": unit,
                        "compared": checked - compared, "start": round(began + at, 4), "end": round(began + now, 4),
                    }
                )  # fmt: skip
                at, done_ms, done, compared = now, 0.0, 0, checked


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    parser = argparse.ArgumentParser(prog="torch_soak.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--device", type=device_name, required=True)
    parser.add_argument("--seconds", type=positive, required=True)
    parser.add_argument("--orders", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    descriptor = real_output()
    warnings.simplefilter("ignore")
    agent = Agent(descriptor, options.device)
    agent.name = AGENT
    try:
        torch = agent.load()
        orders = os.fdopen(options.orders) if options.orders >= 0 else None
        if torch is not None and orders is not None:
            agent.emit(ready=agent.device)
            torch = torch if orders.readline() else None  # the first one: take your GPU
        processor = agent.open(torch) if torch is not None else None
        if processor is not None and processor.kind == "cpu":
            agent.ended("soak", "skipped", "only GPUs are soaked")
        elif processor is not None:
            agent.emit(begin="soak", device=agent.device)
            Soak(agent, torch, processor, PLANS["cuda", "quick"]).run(options.seconds, orders)
    except Exception as error:
        agent.ended("soak", "skipped" if isinstance(error, NoRoom) else "failed", text_of(error))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
