"""Part of the agent collective_speed: one sum over all ranks in three ways, with the bytes over each link counted.

Gather-sum-broadcast: one root receives everything, sums, and sends it back. Ring: scatter-reduce and all-gather, 2(N-1)
steps of an N-th of the data. Both by send and receive, as a beginner would write them; then the library's all-reduce.
"""

from __future__ import annotations

import time

from .collective_group import bytes_sent
from .collective_operations import AllReduce
from .figures import figure, median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence, Tuple

    from .collective_group import Group

    Ends = Sequence[Tuple[Any, int]]

SIZES = {"cuda": 64 << 20, "cpu": 4 << 20}
RUNS = 3


class Ways:
    """The three ways, on the numbers of an all-reduce."""

    def __init__(self, group: Group) -> None:
        self.group, self.torch = group, group.torch
        self.operation = AllReduce(group, SIZES["cuda" if group.gpu else "cpu"])
        self.sent = [0.0] * group.size
        """Bytes to each other rank."""
        self.held = 0
        """Bytes of the data and of what a way holds beside it."""

    def exchange(self, sends: Ends, receives: Ends) -> None:
        """Send and receive at once: (tensor, other rank) each; what is sent is counted."""
        distributed = self.group.distributed
        operations = [distributed.P2POp(distributed.isend, tensor, other) for tensor, other in sends]
        operations += [distributed.P2POp(distributed.irecv, tensor, other) for tensor, other in receives]
        for tensor, other in sends:
            self.sent[other] += 4 * tensor.numel()
        for request in distributed.batch_isend_irecv(operations):
            request.wait()

    def gather_sum_broadcast(self) -> None:
        data, others = self.operation.given, range(1, self.group.size)
        self.held = self.operation.bytes
        if self.group.rank:
            self.exchange([(data, 0)], [])
            return self.exchange([], [(data, 0)])
        parts = [self.torch.empty_like(data) for _ in others]
        self.held += self.operation.bytes * len(parts)
        self.exchange([], list(zip(parts, others)))  # noqa: B905 (Python 3.8)
        for part in parts:
            data += part
        return self.exchange([(data, rank) for rank in others], [])

    def ring(self) -> None:
        size, rank = self.group.size, self.group.rank
        following, before = (rank + 1) % size, (rank - 1) % size
        data, operation = self.operation.given, self.operation
        arrived = self.torch.empty_like(operation.chunk(data, 0))
        self.held = operation.bytes + 4 * operation.part
        for step in range(size - 1):
            self.exchange([(operation.chunk(data, (rank - step) % size), following)], [(arrived, before)])
            part = operation.chunk(data, (rank - step - 1) % size)
            part += arrived
        for step in range(size - 1):
            self.exchange(
                [(operation.chunk(data, (rank + 1 - step) % size), following)],
                [(operation.chunk(data, (rank - step) % size), before)],
            )

    def library(self) -> None:
        self.held = 0
        self.operation.run()

    def measure(self, name: str, way: Callable[[], None]) -> Dict[str, Any]:
        """Fields of SumWay, the same on all ranks."""
        group, operation = self.group, self.operation
        operation.fill()
        way()
        times: List[float] = []
        self.sent = [0.0] * group.size
        group.barrier()
        counted = bytes_sent(group.interface)
        for _ in range(RUNS):
            operation.fill()
            group.barrier()
            started = time.monotonic()
            way()
            group.sync()
            times.append(time.monotonic() - started)
        group.barrier()
        counted = bytes_sent(group.interface) - counted if counted >= 0 else 0
        wrong = sum(row[0] for row in group.of_all([float((operation.given != operation.expected()).sum())]))
        sent = group.of_all([one / RUNS for one in self.sent])
        size = group.size
        return {
            "name": name,
            "backend": group.backend,
            "ranks": size,
            "nodes": group.nodes,
            "bytes": operation.bytes,
            "us": figure(1e6 * median([max(row) for row in zip(*group.of_all(times))])),  # noqa: B905 (Python 3.8)
            "right": not wrong,
            "links": {"%d>%d" % (a, b): int(sent[a][b]) for a in range(size) for b in range(size) if sent[a][b]},
            "held_bytes": int(max(row[0] for row in group.of_all([float(self.held)]))),
            "counted_bytes": counted // RUNS,
        }


def teach(group: Group) -> List[Dict[str, Any]]:
    """The three ways, one after the other."""
    ways = Ways(group)
    names = {"gather-sum-broadcast": ways.gather_sum_broadcast, "ring": ways.ring, "library": ways.library}
    return [ways.measure(name, way) for name, way in names.items()]
