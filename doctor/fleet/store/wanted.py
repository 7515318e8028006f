"""The nodes that were asked for, and those that answered: which is which, and why one is missing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..kinds import Refused
from ..names import key_of


class Wanted:
    """Nothing was asked for where `names` is empty: then no node is missing, and none is another one."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.others: set[str] = set()
        """Nodes that sent something but were not requested."""
        self.known_as: dict[str, str] = {}
        """Nodes that were heard of, and the name with other zeros or another case that was asked for."""
        self._keys = {key_of(name) for name in names}
        self._refused: dict[str, str] = {}
        self._silent: list[str] = []

    def refused(self, one: Refused) -> None:
        """What arrived from a node but is not an answer."""
        if one.node and (key := key_of(one.node)) in self._keys:
            where = os.path.basename(one.file)  # noqa: PTH119
            where += f", line {one.line}" if one.line else ""
            self._refused.setdefault(key, f"its answer was rejected ({where}): {one.whole}")

    def match(self, heard: set[str]) -> None:
        """Which of the nodes that were heard of was asked for; names with other zeros agree where only one does."""
        missing, others = [name for name in self.names if name not in heard], heard.difference(self.names)
        wanted, found = _by_key(missing), _by_key(others)
        for key, (name, *more) in wanted.items():
            same = found.get(key, [])
            if len(same) == 1 and not more:
                self.known_as[same[0]] = name
        taken = set(self.known_as.values())
        self._silent = [name for name in missing if name not in taken]
        self.others = others - self.known_as.keys() if self.names else set()

    def silent(self) -> list[str]:
        return self._silent

    def why(self, name: str) -> str:
        """Why a node has no answer; empty if nothing came."""
        return self._refused.get(key_of(name), "")


def _by_key(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(key_of(name), []).append(name)
    return found
