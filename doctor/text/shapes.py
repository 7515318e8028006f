"""Lines that one tool alone prints (shapes.json): what its pattern takes out, said as `meanings` reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pkgutil import get_data
from typing import NamedTuple

from ..formats.lazy import lazy
from . import meanings
from .search import Haystack
from .statement import Statement

_MOST_LINES = 64
_GROUP = lazy(r"\$(\d)")


class Shape(NamedTuple):
    """`find`: lower-case texts, one of which stands in the line; `means`: kind of `meanings` to its value ($1 ...)."""

    tool: str
    find: tuple[str, ...]
    pattern: str
    means: dict[str, str]
    weak: bool


@lru_cache(maxsize=1)
def shapes() -> tuple[Shape, ...]:
    """All rows of the table."""
    return tuple(
        Shape(row["tool"], tuple(row["find"]), row["pattern"], row["means"], row.get("weak", False))
        for row in json.loads(get_data(__package__, "shapes.json") or b"[]")
    )


def read_shapes(haystack: Haystack) -> Iterator[Statement]:
    """Statements of every line that has one of the shapes."""
    for shape in shapes():
        yield from statements_of(shape, haystack)


def statements_of(shape: Shape, haystack: Haystack) -> Iterator[Statement]:
    """What the lines of one shape say."""
    for line, groups in islice(haystack.lines_with(shape.find, shape.pattern), _MOST_LINES):
        for kind, template in shape.means.items():
            value = _GROUP.sub(lambda found, groups=groups: groups[int(found[1]) - 1], template)  # type: ignore[misc]
            for one in meanings.statements(kind, value, line):
                yield one._replace(weak=True) if shape.weak else one
