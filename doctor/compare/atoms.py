"""The differences of two Snapshots in parts that can be put back: a field, an item of a list, a field of one GPU.

Their paths are those of the fleet's facts: `driver.kernel_version`, `host.environment[CC]`, `gpus.power_limit_w`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import msgspec

from ..fleet.facts import differs_by_nature
from ..fleet.store.flatten import FLAT, GPUS, keyed
from ..snapshot import Gpu, GpuPair, Missing, Snapshot
from ..snapshot.fact import Section

PAIRS = "gpu_pairs"
_VARIABLES = "host.environment"
"""Those that differ from node to node by nature, such as CUDA_VISIBLE_DEVICES, may break something all the same."""
SECTIONS = (*FLAT, GPUS, PAIRS)
"""What of a Snapshot is compared; the rest is about the look, or measured."""


class Atom(NamedTuple):
    """A part that is put back as a whole."""

    field: str
    """The field, as in `Snapshot.fact`; of a GPU `gpus.power_limit_w`."""
    key: str = ""
    """Of an item of a list what tells it from the others; empty if the whole field is meant."""
    gpu: int = -1
    """Of a GPU's field: its number among the GPUs that both have; -1 elsewhere."""

    @property
    def path(self) -> str:
        """As facts are named; the same for all GPUs."""
        return f"{self.field}[{self.key}]" if self.key else self.field


class Pair:
    """Two Snapshots, and which of their GPUs belong together."""

    def __init__(self, old: Snapshot, new: Snapshot) -> None:
        self.old, self.new = old, new
        self.gpus = _matched(old.gpus, new.gpus)
        """The positions of each GPU in both."""
        self._keys: dict[tuple[bool, str], list[str]] = {}

    def subject(self, name: str) -> str:
        """What a finding is about, a GPU by its key in OLD: another board in its place is the same subject."""
        if isinstance(self.old.gpus, Missing) or isinstance(self.new.gpus, Missing):
            return name
        return next((self.old.gpus[a].key for a, b in self.gpus if self.new.gpus[b].key == name), name)

    def atoms(self) -> list[Atom]:
        """All differences, without what differs by nature."""
        return [
            atom for name in SECTIONS for atom in self._walk(name, getattr(self.old, name), getattr(self.new, name))
        ]

    def readings(self, found: Sequence[Atom]) -> list[Atom]:
        """The differences in what differs by nature: `found` are the others."""
        seen = set(found)
        walked = (
            atom
            for name in SECTIONS
            for atom in self._walk(name, getattr(self.old, name), getattr(self.new, name), by_nature=True)
        )
        return [atom for atom in walked if atom not in seen]

    def keys(self, field: str, of_new: bool) -> list[str]:
        """What tells the items of a list from each other, in its order."""
        found = self._keys.get((of_new, field))
        if found is None:
            items = (self.new if of_new else self.old).fact(field)
            plain = [key for key, _ in keyed(msgspec.to_builtins(items))]
            found = self._keys[of_new, field] = self._of_gpus(items, of_new) or plain if field == PAIRS else plain
        return found

    def _of_gpus(self, pairs: Sequence[GpuPair], of_new: bool) -> list[str]:
        """`0 and 4`, by the numbers of the GPUs that both have, those that one alone has after them; nothing if a pair
        names a GPU that is not listed."""
        gpus = (self.new if of_new else self.old).gpus
        if isinstance(gpus, Missing):
            return []
        matched = {gpus[both[of_new]].key: number for number, both in enumerate(self.gpus)}
        numbers = {**matched, **dict(zip((g.key for g in gpus if g.key not in matched), count(len(matched))))}
        if not all(one.a in numbers and one.b in numbers for one in pairs):
            return []
        return ["{} and {}".format(*sorted((numbers[one.a], numbers[one.b]))) for one in pairs]

    def item(self, atom: Atom, of_new: bool) -> Any:
        """The value of an atom on one side; None for an item that is not there."""
        side = self.new if of_new else self.old
        if atom.gpu >= 0:
            gpus: Any = side.gpus
            return getattr(gpus[self.gpus[atom.gpu][of_new]], atom.field.removeprefix(f"{GPUS}."))
        if not atom.key:
            return side.fact(atom.field)
        keys = self.keys(atom.field, of_new)
        return side.fact(atom.field)[keys.index(atom.key)] if atom.key in keys else None

    def with_back(self, atoms: Iterable[Atom], into_new: bool = True) -> Snapshot:
        """NEW with these atoms as they are in OLD; `into_new` False: OLD with them as in NEW."""
        fields: dict[str, set[str]] = {}
        of_gpus: list[Atom] = []
        for atom in atoms:
            if atom.gpu >= 0:
                of_gpus.append(atom)
            else:
                fields.setdefault(atom.field, set()).add(atom.key)
        base, donor = (self.new, self.old) if into_new else (self.old, self.new)
        changes = {
            field: donor.fact(field) if "" in keys else self._with_items(field, keys, into_new)
            for field, keys in fields.items()
        }
        if of_gpus and GPUS not in changes:
            changes[GPUS] = self._with_gpus(of_gpus, into_new)
        return base.replace(changes)

    def _walk(self, path: str, a: Any, b: Any, by_nature: bool = False) -> Iterator[Atom]:
        if a == b:
            return
        if differs_by_nature(path):
            if by_nature:
                yield Atom(path)
        elif isinstance(a, Section) and type(a) is type(b):
            for name in a.__struct_fields__:
                yield from self._walk(f"{path}.{name}", getattr(a, name), getattr(b, name), by_nature)
        elif path == GPUS and self.gpus:
            if not by_nature and len(a) != len(b):
                yield Atom(path)
            yield from self._walk_gpus(a, b, by_nature)
        elif path != GPUS and _is_list(a) and _is_list(b) and (a or b):
            yield from self._walk_items(path, by_nature)
        elif not by_nature:
            yield Atom(path)

    def _walk_gpus(self, a: Sequence[Gpu], b: Sequence[Gpu], by_nature: bool) -> Iterator[Atom]:
        for number, (first, second) in enumerate(self.gpus):
            for name in Gpu.__struct_fields__:
                one, other = getattr(a[first], name), getattr(b[second], name)
                if name != "key" and one != other and differs_by_nature(f"{GPUS}.{name}") == by_nature:
                    yield Atom(f"{GPUS}.{name}", gpu=number)

    def _walk_items(self, path: str, by_nature: bool) -> Iterator[Atom]:
        for key in dict.fromkeys((*self.keys(path, False), *self.keys(path, True))):
            atom = Atom(path, key)
            one, other = self.item(atom, False), self.item(atom, True)
            if one == other:
                continue
            own = one is None or other is None or _differs(path, one, other)
            if by_nature or (own and (path == _VARIABLES or not differs_by_nature(atom.path))):
                yield atom

    def _with_items(self, field: str, keys: set[str], into_new: bool) -> tuple[Any, ...]:
        """The list with these items as the donor has them: one that it lacks goes, one that it alone has comes after
        the item that precedes it there."""
        base, donor = (self.new, self.old) if into_new else (self.old, self.new)
        given = dict(zip(self.keys(field, not into_new), donor.fact(field), strict=True))
        found = {
            key: given.get(key) if key in keys else item
            for key, item in zip(self.keys(field, into_new), base.fact(field), strict=True)
        }
        order = [key for key, item in found.items() if item is not None]
        before = ""
        for key in given:
            if key in keys and key not in found:
                found[key] = given[key]
                order.insert(order.index(before) + 1 if before in order else 0, key)
            before = key if key in order else before
        return tuple(found[key] for key in order)

    def _with_gpus(self, atoms: Iterable[Atom], into_new: bool) -> tuple[Gpu, ...]:
        base: Any = (self.new if into_new else self.old).gpus
        changes: dict[int, dict[str, Any]] = {}
        for atom in atoms:
            at = self.gpus[atom.gpu][into_new]
            changes.setdefault(at, {})[atom.field.removeprefix(f"{GPUS}.")] = self.item(atom, not into_new)
        return tuple(
            msgspec.structs.replace(gpu, **changes[at]) if at in changes else gpu for at, gpu in enumerate(base)
        )


def _matched(old: Sequence[Gpu] | Missing, new: Sequence[Gpu] | Missing) -> list[tuple[int, int]]:
    """The GPUs of both by their keys, the rest in their order."""
    if isinstance(old, Missing) or isinstance(new, Missing):
        return []
    there = {gpu.key: at for at, gpu in enumerate(new)}
    found = [(at, there[gpu.key]) for at, gpu in enumerate(old) if gpu.key in there]
    left = [at for at in range(len(old)) if at not in {first for first, _ in found}]
    right = [at for at in range(len(new)) if at not in {second for _, second in found}]
    return sorted([*found, *zip(left, right, strict=False)])


def _is_list(value: Any) -> bool:
    """Whether it is a list of items with fields, or an empty one."""
    return isinstance(value, tuple) and all(isinstance(item, msgspec.Struct) for item in value)


def _differs(path: str, a: Any, b: Any) -> bool:
    """Whether two items differ in more than what differs by nature."""
    if a == b or differs_by_nature(path):
        return False
    if isinstance(a, msgspec.Struct) and type(a) is type(b) and not isinstance(a, Missing):
        fields = ((f"{path}.{name}", getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
        return any(_differs(*field) for field in fields)
    return True
