"""Names of nodes: which words are some, and nodesets (`gpu-[001-512]`) as clustershell unfolds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..extra import extra_line
from ..guard import Refusal

_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")
_PATTERN = re.compile(r"[A-Za-z0-9._,\[\]/\s-]+")
MOST = 1_000_000
"""Nodes that a nodeset may stand for."""


def is_name(name: str) -> bool:
    """Whether a word can be a node's name: letters, digits, dots, dashes and underscores, 253 at most."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def key_of(name: str) -> str:
    """What is equal for the same name with numbers of other widths and other case: node1, node01, NODE001."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.lower())


def unfold(nodeset: str) -> list[str]:
    """The names of a nodeset, sorted, each once. Raises Refusal if it is none."""
    if not _PATTERN.fullmatch(nodeset) or not nodeset.strip(" ,\n"):
        raise Refusal(f"--nodes {nodeset!r}: must be names and ranges, such as gpu-[001-512],login-1")
    if "[" in nodeset or "]" in nodeset:
        names = _unfolded(nodeset)
    else:
        names = [name for name in re.split(r"[\s,]+", nodeset) if name]
    wrong = next((name for name in names if not is_name(name)), None)
    if wrong is not None:
        raise Refusal(f"--nodes: {wrong!r} is not a valid node name")
    return list(dict.fromkeys(names))


def _unfolded(nodeset: str) -> list[str]:
    try:
        import ClusterShell.NodeSet as Sets
    except ImportError:
        raise Refusal(f"--nodes with a range needs the extra fleet: {extra_line('fleet')}") from None
    if sum(_size(pattern) for pattern in _patterns(nodeset)) > MOST:
        raise Refusal(f"--nodes {nodeset[:100]!r} stands for more than {MOST:,} nodes")
    try:
        found: Any = Sets.NodeSet(nodeset, resolver=Sets.RESOLVER_NOGROUP)
        return [str(name) for name in found]
    except (Sets.NodeSetException, ValueError) as error:
        raise Refusal(f"--nodes {nodeset[:100]!r}: {error}") from None


def _patterns(nodeset: str) -> Iterator[str]:
    """The parts between the commas that stand outside of brackets."""
    yield from (part for part in re.split(r"[\s,]+(?![^\[]*\])", nodeset) if part)


def _size(pattern: str) -> int:
    """How many names it stands for at most, without making them."""
    size = 1
    for inner in re.findall(r"\[([^\[\]]*)\]", pattern):
        count = 0
        for part in inner.split(","):
            first, dash, last = part.partition("/")[0].partition("-")
            ends = first.isdecimal() and last.isdecimal() and len(last) < 20
            count += int(last) - int(first) + 1 if dash and ends else MOST + 1 if dash else 1
        size *= max(count, 1)
    return size
