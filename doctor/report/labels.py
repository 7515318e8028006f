"""Labels next to points, placed where they cover no other label or point: the first free place of a few."""

from __future__ import annotations

from collections.abc import Sequence

from .svg import Anchor, text_width

_Box = tuple[float, float, float, float]
_NEAR: tuple[tuple[float, float, Anchor], ...] = (
    (9, 4, "start"), (-9, 4, "end"), (0, -10, "middle"), (0, 19, "middle"),
)  # fmt: skip
_FAR: tuple[tuple[float, float, Anchor], ...] = tuple(
    (dx * far, dy * far + 4, "start" if dx > 0 else "end")
    for far in (1, 1.6, 2.3)
    for dx, dy in ((18, 18), (18, -18), (-18, -18), (-18, 18), (26, 8), (-26, 8))
)
_TIED = 2.5
"""A label farther away is as bad as one next to the point that overlaps a line by this many pixels."""


class Labels:
    """The taken boxes of a plot that reaches from (left, top) to (right, bottom), in pixels."""

    def __init__(self, left: float, top: float, right: float, bottom: float) -> None:
        self._inside = (left, top, right, bottom)
        self._taken: list[_Box] = []
        self._lines: list[_Box] = []

    def take(self, left: float, top: float, right: float, bottom: float) -> None:
        """Nothing may be written here any more."""
        self._taken.append((left, top, right, bottom))

    def keep_off(self, ends: Sequence[tuple[float, float]]) -> None:
        """Where there is another place, nothing is written over the line between these two points."""
        self._lines += _along(ends, 1.5)

    def label(self, text: str, x: float, y: float, size: float) -> tuple[float, float, Anchor, bool] | None:
        """Where to write the text of the point: (x, y of the base line, anchor, whether to tie it with a line).

        The place that lies least over lines, those beside the point before those farther away; None if there is
        no room.
        """
        wide = text_width(text, size)
        best: tuple[float, int, _Box, list[_Box], tuple[float, float, Anchor, bool]] | None = None
        for index, (dx, dy, anchor) in enumerate((*_NEAR, *_FAR)):
            tied = index >= len(_NEAR)
            left = x + dx - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
            box = (left - 1, y + dy - size * 0.85, left + wide + 1, y + dy + size * 0.25)
            tie = _along([(x + dx * 0.4, y + (dy - 4) * 0.4), (x + dx, y + dy - 4)], 1) if tied else []
            if self._free(box) and not any(_hit(b, t) for t in tie for b in self._taken):
                cost = max((_depth(box, line) for line in self._lines), default=0.0) + (_TIED if tied else 0)
                if best is None or (cost, index) < best[:2]:
                    best = cost, index, box, tie, (x + dx, y + dy, anchor, tied)
        if best is None:
            return None
        self._taken += [best[2], *best[3]]
        return best[4]

    def _free(self, box: _Box) -> bool:
        left, top, right, bottom = box
        if left < self._inside[0] or top < self._inside[1] or right > self._inside[2] or bottom > self._inside[3]:
            return False
        return not any(_hit(taken, box) for taken in self._taken)


def _hit(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and one[2] > other[0] and one[1] < other[3] and one[3] > other[1]


def _depth(box: _Box, line: _Box) -> float:
    """How deep a small box of a line lies inside: a line through the middle of a text hides it, one at its edge not."""
    if not _hit(box, line):
        return 0.0
    return min(line[3] - box[1], box[3] - line[1])


def _along(ends: Sequence[tuple[float, float]], half: float) -> list[_Box]:
    """Small boxes along the line between two points."""
    (x1, y1), (x2, y2) = ends
    steps = max(1, int(max(abs(x2 - x1), abs(y2 - y1)) / 4))
    middles = [(x1 + (x2 - x1) * i / steps, y1 + (y2 - y1) * i / steps) for i in range(steps + 1)]
    return [(x - half, y - half, x + half, y + half) for x, y in middles]
