"""Ways over NVLink that a collective takes: rings through all GPUs, and islands of GPUs that NVLink joins.

NCCL makes rings (and trees) of the links that are there: on DGX-1's hybrid cube mesh no GPU is joined to all others,
and all the same every link is part of a ring through all eight. Source: NCCL's graph search (src/graph in its
repository).
"""

from __future__ import annotations

from msgspec import Struct

_MOST_GPUS = 16
_MOST_STEPS = 50_000
"""Of the search for one ring; machines have a ring within some dozens of steps, or none."""


class Ring(Struct, frozen=True):
    """order: the GPUs of a ring, by their place in the table; links: NVLinks that all rings use at each GPU."""

    order: tuple[int, ...]
    links: int


def rings(bonds: list[list[int]]) -> Ring | None:
    """Rings of links of their own through all GPUs, as many as are found; None if there is none.

    bonds[i][j]: how many NVLinks join two GPUs directly. A ring uses two links at each GPU, each in both directions.
    """
    count = len(bonds)
    if not 2 < count <= _MOST_GPUS:
        return None
    left = [list(row) for row in bonds]
    first: tuple[int, ...] = ()
    found = 0
    while order := _ring(left):
        first = first or order
        for a, b in zip(order, (*order[1:], order[0]), strict=True):
            left[a][b] -= 1
            left[b][a] -= 1
        found += 1
    return Ring(first, 2 * found) if found else None


def _ring(left: list[list[int]]) -> tuple[int, ...]:
    """One ring over links that are left, wide ones first; () for none within the bound."""
    count = len(left)
    steps = 0
    path, seen = [0], {0}

    def ways(at: int) -> list[int]:
        return sorted((j for j in range(count) if left[at][j] and j not in seen), key=lambda j: -left[at][j])

    stack = [ways(0)]
    while stack:
        steps += 1
        if steps > _MOST_STEPS:
            return ()
        if not stack[-1]:
            stack.pop()
            seen.discard(path.pop())
            continue
        step = stack[-1].pop(0)
        path.append(step)
        seen.add(step)
        if len(path) == count:
            if left[step][0]:
                return tuple(path)
            seen.discard(path.pop())
            continue
        stack.append(ways(step))
    return ()


def islands(bonds: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """GPUs that NVLink joins, directly or by way of others: one island is all of them, one GPU alone is an island."""
    left = set(range(len(bonds)))
    found = []
    while left:
        todo, island = [min(left)], set()
        while todo:
            at = todo.pop()
            if at not in island:
                island.add(at)
                todo += [j for j, links in enumerate(bonds[at]) if links]
        left -= island
        found.append(tuple(sorted(island)))
    return tuple(found)
