"""What changes together: a fact with those that follow from it, a package with what it brought."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..fleet.odd import first_of
from ..snapshot import Snapshot
from .atoms import Atom, Pair
from .packages import TORCH, Packages

_DISTRIBUTIONS, _EXTENSIONS, _LIBRARIES = "python.distributions", "python.extensions", "cuda.libraries"
_NODES = "driver.device_nodes"
_OF_TORCH = ("torch.", "torch_run.", "python.patient.torch_version")


def units(pair: Pair, atoms: Sequence[Atom], packages: Packages) -> list[tuple[Atom, ...]]:
    """The atoms in sets that were changed together, the atom that leads each first."""
    paths: dict[str, frozenset[int]] = {atom.path: frozenset() for atom in atoms}
    lead_of = {name: lead for lead, names in packages.followed.items() for name in (lead, *names)}
    found: dict[str, list[Atom]] = {}
    for atom in atoms:
        name = _lead(pair, atom, paths, lead_of)
        found.setdefault(name, []).insert(0 if atom.path == name and atom.gpu < 1 else len(atoms), atom)
    return [tuple(some) for some in found.values()]


def _lead(pair: Pair, atom: Atom, paths: Mapping[str, frozenset[int]], lead_of: Mapping[str, str]) -> str:
    if package := _package(pair, atom, lead_of):
        return f"{_DISTRIBUTIONS}[{package}]"
    if atom.field == _NODES:  # whoever takes a GPU's nodes away, or opens them, does so to several
        return _NODES
    return first_of(atom.path, paths)


def _package(pair: Pair, atom: Atom, lead_of: Mapping[str, str]) -> str:
    """The changed package that an atom belongs to; empty if it belongs to none."""
    if TORCH in lead_of and atom.path.startswith(_OF_TORCH):
        return lead_of[TORCH]
    if atom.field not in (_DISTRIBUTIONS, _EXTENSIONS, _LIBRARIES) or not atom.key:
        return ""
    names = _names(pair, atom)
    return next((lead_of[name] for name in names if name in lead_of), "")


def _names(pair: Pair, atom: Atom) -> Iterator[str]:
    """The packages that a distribution, extension or library of a wheel may belong to."""
    for of_new in (True, False):
        item = pair.item(atom, of_new)
        if item is None:
            continue
        if atom.field == _DISTRIBUTIONS:
            yield item.name
        elif atom.field == _EXTENSIONS:
            yield item.package
        elif found := re.search(r"/site-packages/nvidia/(\w+)/", item.path):
            yield from _wheels(pair.new if of_new else pair.old, found[1])


def _wheels(s: Snapshot, folder: str) -> Iterator[str]:
    """The nvidia-* wheels whose files are in `nvidia/FOLDER`."""
    name = folder.replace("_", "-")
    listed = s.python.distributions if isinstance(s.python.distributions, tuple) else ()
    yield from (one.name for one in listed if re.fullmatch(rf"nvidia-{re.escape(name)}(?:-cu\d+)?", one.name))
