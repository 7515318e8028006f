"""The values of one figure on many GPUs, in columns: a tenth of the memory of a list of records."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from .kinds import Value
from .spread import median

_MOST = 1e15
"""More is not a valid rate, in any unit, and its square would leave what a float holds."""


_LEAST = 1e-9
"""Less is not a valid rate either: nothing is that slow, and what is divided by it leaves a float too."""


def is_speed(value: float) -> bool:
    """Whether a number can be a measured speed: not 0, negative, endless or no number."""
    return _LEAST <= value <= _MOST


def are_speeds(values: Sequence[float]) -> bool:
    """Whether all of some numbers, one at least, can be measured speeds."""
    return min(values) >= _LEAST and max(values) <= _MOST


class Columns:
    """Values by node: those of `nodes[i]` are `values[starts[i]:starts[i + 1]]`, of the GPUs `gpus[...]`.

    later: (node, GPU) to its values when it was measured again, by the number of the repeat.
    """

    def __init__(self) -> None:
        self.nodes, self.starts = array("q"), array("q", [0])
        self.gpus, self.values = array("i"), array("d")
        self.later: dict[tuple[int, int], dict[int, float]] = {}

    def add(self, node: int, gpus: Iterable[int], values: Iterable[float]) -> None:
        """The first measurement of a node, which comes once."""
        self.nodes.append(node)
        self.gpus.extend(gpus)
        self.values.extend(values)
        self.starts.append(len(self.values))

    def again(self, node: int, repeat: int, values: Mapping[int, float]) -> None:
        """A repeated measurement of a node, by GPU."""
        for gpu, value in values.items():
            self.later.setdefault((node, gpu), {})[repeat] = value

    def of(self, at: int) -> tuple[Sequence[int], Sequence[float]]:
        """GPUs and values of the node `nodes[at]`."""
        span = slice(self.starts[at], self.starts[at + 1])
        return self.gpus[span], self.values[span]

    def medians(self) -> list[float]:
        """Of each node."""
        values, starts = self.values, self.starts
        return [median(sorted(values[a:b])) for a, b in pairwise(starts)]

    def only(self, is_in: Callable[[int], bool]) -> Columns:
        """The nodes for which this is true."""
        part = Columns()
        part.later = self.later
        for at, node in enumerate(self.nodes):
            if is_in(node):
                part.add(node, *self.of(at))
        return part


def columns(values: Iterable[Value]) -> Columns:
    """From single values in any order. Of a GPU with several in one repeat the last counts; one that is no speed
    (`is_speed`) is omitted."""
    found = Columns()
    node, gpu, value = array("q"), array("i"), array("d")
    in_order, last = True, None
    for at_node, at_gpu, _, speed, _, repeat in values:
        if not is_speed(speed):
            continue
        if repeat > 1:
            found.again(at_node, repeat, {at_gpu: speed})
            continue
        in_order = in_order and (last is None or last <= at_node)
        last = at_node
        node.append(at_node)
        gpu.append(at_gpu)
        value.append(speed)
    order = range(len(node)) if in_order else sorted(range(len(node)), key=node.__getitem__)
    _fill(found, order, node, gpu, value)
    return found


def _fill(found: Columns, order: Sequence[int], node: array[int], gpu: array[int], value: array[float]) -> None:
    start = 0
    while start < len(order):
        this, end = node[order[start]], start + 1
        while end < len(order) and node[order[end]] == this:
            end += 1
        of_node = {gpu[at]: value[at] for at in order[start:end]}
        found.add(this, of_node.keys(), of_node.values())
        start = end
