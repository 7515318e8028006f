"""Part of the agent collective_speed: from one rank to another, both directions: how fast and how soon."""

from __future__ import annotations

import time

from .collective_operations import PERIOD
from .figures import figure, median, spread_percent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

    from .collective_group import Group

ALL_PAIRS = 8
"""Up to so many ranks every pair is measured; above, neighbours in the ring."""
SENT_BYTES = (16 << 20, 1 << 20)
"""Of one message; the smaller where the larger would take longer than SLOW_S."""
SLOW_S = 0.5
SENDS, ANSWERS = 5, 50
WAITS, WORK = 20, 384
"""Steps of work and all-reduce that show who waits; the work is four products of matrices of this width."""


def pairs_of_ranks(count: int) -> List[Tuple[int, int]]:
    """Ordered pairs, the ring first."""
    steps = range(1, count) if count <= ALL_PAIRS else (1, count - 1)
    return [(rank, (rank + step) % count) for step in steps for rank in range(count)]


def send_pair(group: Group, source: int, target: int) -> Dict[str, Any]:
    """Fields of SendRate, the same on all ranks. Ranks that are no part of the pair wait."""
    found = [0.0] * 6
    if group.rank in (source, target):
        found = Sends(group, source, target).measure()
    group.barrier()
    gb_s, latency_us, mib, spread, _, _ = group.of_all(found)[source]
    wrong = group.of_all(found)[target][4]
    return {
        "source": source,
        "target": target,
        "right": not wrong,
        "gb_s": figure(gb_s),
        "latency_us": figure(latency_us),
        "mib": mib,
        "spread_percent": figure(spread),
        "same_node": source // group.per_node == target // group.per_node,
    }


class Sends:
    """The two ends of one pair."""

    def __init__(self, group: Group, source: int, target: int) -> None:
        self.group, self.source, self.target = group, source, target
        self.sender = group.rank == source
        self.word = group.torch.zeros(1, device=group.device)

    def pass_on(self, tensor: Any, back: bool = False) -> None:
        """From source to target, or back."""
        distributed = self.group.distributed
        if self.sender is not back:
            distributed.send(tensor, self.target if self.sender else self.source)
        else:
            distributed.recv(tensor, self.target if self.sender else self.source)

    def timed(self, tensor: Any) -> float:
        """Seconds until the message is there and the answer of four bytes is back."""
        self.group.sync()
        started = time.monotonic()
        self.pass_on(tensor)
        self.pass_on(self.word, back=True)
        self.group.sync()
        return time.monotonic() - started

    def measure(self) -> List[float]:
        """GB/s, latency in us, MiB, spread in percent, wrong elements, 0."""
        torch, device = self.group.torch, self.group.device
        for _ in range(3):
            self.timed(self.word)
        answers = sorted(self.timed(self.word) for _ in range(ANSWERS))
        latency_s = answers[ANSWERS // 2] / 2
        size, smaller = SENT_BYTES
        tensor = torch.empty(smaller // 4, device=device)
        first = self.timed(tensor)
        self.word.fill_(float(first * size / smaller > SLOW_S))
        self.pass_on(self.word)
        if bool(self.word.item()):
            size = smaller
        tensor = torch.empty(size // 4, device=device)
        numbers = torch.arange(size // 4, device=device).remainder_(PERIOD).float() + self.source
        tensor.copy_(numbers) if self.sender else tensor.fill_(-1)
        self.timed(tensor)
        wrong = 0 if self.sender else int((tensor != numbers).sum())
        times = [max(self.timed(tensor) - latency_s, 1e-9) for _ in range(SENDS)]
        return [size / median(times) / 1e9, latency_s * 1e6, size / (1 << 20), spread_percent(times), float(wrong), 0.0]


def rank_waits(group: Group) -> List[Dict[str, Any]]:
    """Fields of RankWait for each rank: the same work, then an all-reduce, again and again: who comes late lets the
    others wait."""
    torch = group.torch
    factor = torch.ones(WORK, WORK, device=group.device)
    mine = torch.zeros(1 << 12, device=group.device)
    work = inside = 0.0
    for step in range(WAITS + 2):
        started = time.monotonic()
        for _ in range(4):
            factor.mm(factor)
        group.sync()
        done = time.monotonic()
        group.distributed.all_reduce(mine)
        group.sync()
        if step > 1:
            work, inside = work + done - started, inside + time.monotonic() - done
    index = float(group.device.rpartition(":")[2]) if group.gpu else -1.0
    rows = group.of_all([1e3 * work / WAITS, 1e3 * inside / WAITS, float(group.rank // group.per_node), index])
    return [
        {
            "rank": rank,
            "node": int(node),
            "device": "cpu" if number < 0 else "cuda:%d" % int(number),
            "work_ms": figure(work_ms),
            "collective_ms": figure(inside_ms),
        }
        for rank, (work_ms, inside_ms, node, number) in enumerate(rows)
    ]
