"""Names of nodes: which words are some, and nodesets (`gpu-[001-512]`) as clustershell unfolds them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from ..extra import extra_line
from ..formats.given import Unopened, read_given
from ..guard import Refusal

_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")
_PATTERN = re.compile(r"[A-Za-z0-9._,\[\]/\s-]+")
_GROUPS = re.compile(r"[A-Za-z0-9._,\[\]/\s@:*!&^-]+")
_MOST_BYTES = 16 << 20
MOST = 1_000_000
"""Nodes that a nodeset may stand for."""


def is_name(name: str) -> bool:
    """Whether a word can be a node's name: letters, digits, dots, dashes and underscores, 253 at most."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def key_of(name: str) -> str:
    """What is equal for the same name with numbers of other widths and other case: node1, node01, NODE001."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.lower())


def not_listed(wanted: Iterable[str], listed: Collection[str], words: str) -> dict[str, str]:
    """Those that are not listed, and why they are left out: `Slurm does not list it (it lists gpu-001)`, for gpu-1."""
    lost = [name for name in wanted if name not in listed]
    alike = {key_of(name): name for name in listed} if lost else {}
    found = {name: alike.get(key_of(name), "") for name in lost}
    return {name: f"{words} (it lists {other})" if other else words for name, other in found.items()}


def unfold(nodeset: str, groups: bool = False) -> list[str]:
    """The names of a nodeset, sorted, each once. Raises Refusal if it is none. `groups`: `@gpu` is ClusterShell's group
    of that name."""
    grouped = groups and "@" in nodeset
    if not (_GROUPS if grouped else _PATTERN).fullmatch(nodeset) or not nodeset.strip(" ,\n"):
        raise Refusal(f"--nodes {nodeset!r}: must be names and ranges, such as gpu-[001-512],login-1")
    if "[" in nodeset or "]" in nodeset or grouped:
        names = _unfolded(nodeset, grouped)
    else:
        names = [name for name in re.split(r"[\s,]+", nodeset) if name]
    wrong = next((name for name in names if not is_name(name)), None)
    if wrong is not None:
        raise Refusal(f"--nodes: {wrong!r} is not a valid node name")
    return list(dict.fromkeys(names))


def read_hostfile(path: str) -> list[str]:
    """The names in a file with one nodeset per line; what follows a # is a comment. Raises Refusal."""
    try:
        text = read_given(path, _MOST_BYTES, "is too large for a list of nodes").decode("utf-8")
    except Unopened as error:
        raise Refusal(str(error)) from None
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8 text") from None
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.partition("#")[0].strip()
        if re.search(r"\s", plain):
            raise Refusal(f"{path}, line {number}: {plain[:80]!r} is not a single nodeset")
        try:
            found += unfold(plain, groups=True) if plain else []
        except Refusal as error:
            raise Refusal(f"{path}, line {number}: {str(error).replace('--nodes', '', 1).lstrip(': ')}") from None
    if not found:
        raise Refusal(f"{path} names no node")
    return list(dict.fromkeys(found))


def _unfolded(nodeset: str, groups: bool = False) -> list[str]:
    try:
        import ClusterShell.NodeSet as Sets
    except ImportError:
        raise Refusal(f"--nodes with a range needs the fleet extra: {extra_line('fleet')}") from None
    if sum(_size(pattern) for pattern in _patterns(nodeset)) > MOST:
        raise Refusal(f"--nodes {nodeset[:100]!r} expands to more than {MOST:,} nodes")
    try:
        if not groups:
            return [str(name) for name in Sets.NodeSet(nodeset, resolver=Sets.RESOLVER_NOGROUP)]
        with _silent():
            return [str(name) for name in Sets.NodeSet(nodeset)]
    except (Sets.NodeSetException, ValueError) as error:
        raise Refusal(f"--nodes {nodeset[:100]!r}: {error}") from None


@contextmanager
def _silent() -> Iterator[None]:
    """Without what child processes write to stderr: ClusterShell looks groups up with shell lines, and its own do not
    quote the folder of its configuration, which may have a space."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed already
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


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
