"""Part of the agent collective_speed: each collective, what it is given and what it must give.

Whole numbers as float32, so that sums are exact in any order: element i of rank r is `i % PERIOD + r`. Sizes are those
of nccl-tests: for reduce-scatter, all-gather and all-to-all the whole array of a rank, not its part.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from .collective_group import Group

PERIOD = 1021
"""A prime: a part that comes from the wrong offset is noticed."""


class Operation:
    """One collective at one size: `run` it, then `wrong` counts the elements that are not what they must be."""

    def __init__(self, group: Group, size: int) -> None:
        torch = group.torch
        self.group, self.part = group, max(1, size // 4 // group.size)
        self.count = self.part * group.size
        self.base = torch.arange(self.count, device=group.device).remainder_(PERIOD).float()
        self.given = torch.empty(self.given_count(), device=group.device)
        self.result = torch.empty(self.result_count(), device=group.device) if self.result_count() else self.given
        self.fill()

    def given_count(self) -> int:
        return self.count

    def result_count(self) -> int:
        """Elements of the result; 0 where it is written over what was given."""
        return 0

    @property
    def bytes(self) -> int:
        return 4 * self.count

    def chunk(self, tensor: Any, number: int) -> Any:
        return tensor[number * self.part : (number + 1) * self.part]

    def total(self) -> Any:
        """The sum over all ranks."""
        size = self.group.size
        return self.base * size + size * (size - 1) // 2

    def fill(self) -> None:
        self.given.copy_(self.base + self.group.rank)

    def run(self) -> None:
        raise NotImplementedError

    def expected(self) -> Any:
        """The right result; None where this rank has none."""
        raise NotImplementedError

    def wrong(self) -> int:
        """Run it once more on fresh numbers into memory that holds others, and compare."""
        if self.result is not self.given:
            self.result.fill_(-1)
        self.fill()
        self.run()
        self.group.sync()
        expected = self.expected()
        return 0 if expected is None else int((self.result != expected).sum())


class AllReduce(Operation):
    def run(self) -> None:
        self.group.distributed.all_reduce(self.given)

    def expected(self) -> Any:
        return self.total()


class ReduceScatter(Operation):
    def result_count(self) -> int:
        return self.part

    def run(self) -> None:
        self.group.distributed.reduce_scatter_tensor(self.result, self.given)

    def expected(self) -> Any:
        return self.chunk(self.total(), self.group.rank)


class AllGather(Operation):
    def given_count(self) -> int:
        return self.part

    def result_count(self) -> int:
        return self.count

    def fill(self) -> None:
        self.given.copy_(self.chunk(self.base, self.group.rank) + self.group.rank)

    def run(self) -> None:
        self.group.distributed.all_gather_into_tensor(self.result, self.given)

    def expected(self) -> Any:
        ranks = self.group.torch.arange(self.group.size, device=self.group.device).float()
        return self.base + ranks.repeat_interleave(self.part)


class AllToAll(Operation):
    def result_count(self) -> int:
        return self.count

    def run(self) -> None:
        self.group.distributed.all_to_all_single(self.result, self.given)

    def expected(self) -> Any:
        mine = self.chunk(self.base, self.group.rank)
        return self.group.torch.cat([mine + rank for rank in range(self.group.size)])


class Broadcast(Operation):
    def run(self) -> None:
        self.group.distributed.broadcast(self.given, 0)

    def expected(self) -> Any:
        return self.base


class Reduce(Operation):
    def run(self) -> None:
        self.group.distributed.reduce(self.given, 0)

    def expected(self) -> Any:
        return self.total() if self.group.rank == 0 else None


OPERATIONS: Dict[str, Callable[[Group, int], Operation]] = {
    "all_reduce": AllReduce, "reduce_scatter": ReduceScatter, "all_gather": AllGather, "all_to_all": AllToAll,
    "broadcast": Broadcast, "reduce": Reduce,
}  # fmt: skip


def bus_factor(name: str, ranks: int, in_network: bool = False) -> float:
    """Bus bandwidth over algorithm bandwidth, as nccl-tests defines it.

    `in_network`: what one link carries where the switch sums (NVLS): n + 1 parts of n, as NCCL's maintainer corrects
    himself in nccl-tests pull request 239.
    """
    if name == "all_reduce":
        return (ranks + 1) / ranks if in_network else 2 * (ranks - 1) / ranks
    return 1.0 if name in ("broadcast", "reduce") else (ranks - 1) / ranks
