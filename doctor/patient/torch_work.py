"""Part of the agent torch_proof: a product that is timed, on all devices at the same time."""

from __future__ import annotations

import time

from .torch_device_proof import Proof, Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List

AT_WORK_S = 0.4
"""How long a GPU is kept at work, so that NVML's utilisation (a mean of 1/6 to 1 s) can show it."""
ROUND_MS = 20.0


class Work:
    """One device's part of it."""

    def __init__(self, proof: Proof) -> None:
        self.proof, self.torch, self.cuda = proof, proof.torch, proof.cuda
        self.turns = 1
        self.rounds: List[float] = []
        self.marks: Any = None

    def prepare(self, size: int) -> None:
        """Bring the matrices there, and see how often they are multiplied in a round."""
        a, b, cpu_ms = self.proof.inputs.work(size)
        self.proof.facts["cpu_ms"] = round(cpu_ms, 4)
        self.a, self.b = a.to(self.proof.device), b.to(self.proof.device)
        self.out = self.torch.empty(a.shape[0], b.shape[1], device=self.proof.device)
        for _ in range(2):  # the first one loads its kernel
            self.start()
            self.finish()
        self.turns = max(1, min(1000, int(ROUND_MS / max(self.rounds[-1], 1e-3))))
        self.rounds = []

    def start(self) -> None:
        """Hand over a round; on the CPU it is over then."""
        if not self.cuda:
            started = time.perf_counter()
            self.multiply()
            self.marks = (time.perf_counter() - started) * 1000
            return
        with self.torch.cuda.device(self.proof.index):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            self.multiply()
            end.record()
            self.marks = start, end

    def multiply(self) -> None:
        for _ in range(self.turns):
            self.torch.mm(self.a, self.b, out=self.out)

    def finish(self) -> None:
        """Wait for the round; milliseconds of one product, by events on a GPU."""
        if not self.cuda:
            self.rounds.append(self.marks / self.turns)
            return
        start, end = self.marks
        with self.torch.cuda.device(self.proof.index):
            end.synchronize()
            self.rounds.append(float(start.elapsed_time(end)) / self.turns)

    def complete(self) -> None:
        """The device's line, whole now."""
        if self.rounds:
            self.proof.facts["work_ms"] = round(sorted(self.rounds)[len(self.rounds) // 2], 4)
        self.proof.peak()
        self.proof.end_phase()
        self.proof.agent.emit(torch_proof=self.proof.facts)


def work_together(proofs: List[Proof]) -> bool:
    """Time the product on all of these, and keep GPUs at it for AT_WORK_S. False where CUDA is spoiled."""
    works = [Work(proof) for proof in proofs]
    until = 0.0

    def each(function: Callable[[Work], None]) -> bool:
        for work in list(works):
            try:
                work.proof.step("work", lambda work=work: function(work))
            except Stop:
                works.remove(work)
                if work.proof.spoiled():
                    work.proof.agent.emit(torch_proof=work.proof.facts)
                    return False
                work.complete()
        return True

    if not each(lambda work: work.proof.at_sizes("work", work.prepare, work.proof.inputs.work_sizes())):
        return False
    until = time.monotonic() + (AT_WORK_S if any(work.cuda for work in works) else AT_WORK_S / 4)
    while works and (not works[0].rounds or time.monotonic() < until):
        if not each(Work.start) or not each(Work.finish):
            return False
    for work in works:
        work.complete()
    return True
