"""Lists of node names as one short text: `gpu-[001-512]` where ClusterShell is installed, else the names."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
"""Names that a nodeset may hold; any other one is listed as it is."""
_MOST_AXES = 1
"""Names with more numbers than this one are folded along the last alone: folding along all of them is slow."""


def folded(names: Sequence[str]) -> str:
    """All names in one text, in order; empty for none."""
    return ",".join(parts(names))


def parts(names: Sequence[str]) -> list[str]:
    """The same in pieces that may each have a line: nodesets, or names."""
    unique = sorted(set(names), key=in_order)
    plain = [name for name in unique if _PLAIN.fullmatch(name) and re.search(r"\d", name)]
    if len(plain) < 2:
        return unique
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
        from ClusterShell.NodeSet import NodeSetException as Unfoldable
    except ImportError:
        return unique
    others = sorted(set(unique) - set(plain), key=in_order)
    try:
        made = NodeSet(resolver=RESOLVER_NOGROUP, fold_axis=(-_MOST_AXES,))
        made.update(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))
        return [*_split(str(made)), *others]
    except (Unfoldable, ValueError):
        return unique


def _split(text: str) -> list[str]:
    """A nodeset at its commas outside brackets."""
    return re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)


def in_order(name: str) -> tuple[object, ...]:
    """A key that sorts names by their numbers: node9 before node10."""
    pieces = re.split(r"(\d{1,18})", name[:1000])
    return tuple((0, int(piece), piece) if piece.isdecimal() and piece.isascii() else (1, 0, piece) for piece in pieces)
