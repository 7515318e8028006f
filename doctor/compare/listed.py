"""The facts of two Snapshots that have other values, as text: what a reader sees of each difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ..findings.fact_words import WORDS
from ..fleet.facts import compared, field_of, group_of, key_of, label
from ..fleet.odd import is_equal, without_repeats
from ..fleet.store.flatten import ABSENT, GPUS, as_text, facts_of
from ..snapshot import Missing
from .answer import FactChange, Kind
from .atoms import PAIRS, SECTIONS, Atom, Pair


class _Values(NamedTuple):
    """A fact in both: None if it is unknown; `there`: whether an item of a list is there at all."""

    before: str | None
    after: str | None
    kind: Kind


def changed(pair: Pair) -> list[FactChange]:
    """Every compared fact that differs, those of several GPUs with the same values as one; not what follows from
    others, which they name in `also`."""
    rows: dict[tuple[str, _Values], list[int]] = {}
    for name in SECTIONS:
        if name not in (GPUS, PAIRS):
            for path, values in _differences(name, getattr(pair.old, name), getattr(pair.new, name)):
                rows.setdefault((path, values), [])
    for path, values in _of_pairs(pair):
        rows.setdefault((path, values), [])
    for number, (first, second) in enumerate(pair.gpus):
        old, new = pair.old.gpus, pair.new.gpus
        assert not isinstance(old, Missing) and not isinstance(new, Missing)  # else no pair is known
        for path, values in _differences(GPUS, old[first], new[second]):
            rows.setdefault((path, values), []).append(number)
    before, after = _count(pair.old.gpus), _count(pair.new.gpus)
    if before != after:
        rows[GPUS, _Values(before, after, _kind(before, after))] = []
    rows = _whole_items(rows)
    leads = without_repeats((path, frozenset([0])) for path, _ in rows)
    return [
        _change(path, values, tuple(gpus), leads[path])
        for (path, values), gpus in rows.items()
        if path in leads and not _repeats_count(path, rows)
    ]


def _whole_items(rows: Mapping[tuple[str, _Values], list[int]]) -> dict[tuple[str, _Values], list[int]]:
    """An item of a list with several facts that is in one of the two alone is one line."""
    found: dict[tuple[str, _Values], list[int]] = {}
    for (path, values), gpus in rows.items():
        item = path[: path.rfind("]") + 1]
        alike = [name for name, other in rows if name.startswith(item) and other.kind == values.kind] if item else []
        if values.kind in ("appeared", "gone") and len(alike) > 1:
            is_gone = values.kind == "gone"
            whole = _Values("there" if is_gone else None, None if is_gone else "there", values.kind)
            found.setdefault((item, whole), gpus)
        else:
            found[path, values] = gpus
    return found


def of_atom(pair: Pair, atom: Atom, gpus: Sequence[int] = ()) -> FactChange:
    """An atom for a reader: also one that is compared nowhere, since a check judges it or it differs by nature."""
    old, new = pair.item(atom, False), pair.item(atom, True)
    shown = [(path, values) for path, values in _differences(atom.path, old, new) if compared(path)] if atom.key else []
    if shown and (len(shown) == 1 or shown[0][1].kind == "changed"):
        return _change(*shown[0], tuple(gpus), ())
    before, after = _text(old), _text(new)
    kind: Kind = "changed"
    if atom.key and (old is None or new is None):
        kind = "appeared" if old is None else "gone"
    elif atom.key:
        before, after = _fields_that_differ(old, new)
    elif before is None or after is None:
        kind = "known" if before is None else "unknown"
    return _change(atom.path, _Values(before, after, kind), tuple(gpus), ())


def name_of(path: str) -> str:
    """What to call a fact, whether fleets compare it or not."""
    named = label(path)
    if named != path:
        return named
    words = WORDS.get(field_of(path))
    return f"{words} {key_of(path)}".rstrip() if words else path


def _of_pairs(pair: Pair) -> Iterator[tuple[str, _Values]]:
    """The differences of each pair of GPUs, whatever its place in the list."""
    if isinstance(pair.old.gpu_pairs, Missing) or isinstance(pair.new.gpu_pairs, Missing):
        yield from _differences(PAIRS, pair.old.gpu_pairs, pair.new.gpu_pairs)
        return
    for key in dict.fromkeys((*pair.keys(PAIRS, False), *pair.keys(PAIRS, True))):
        atom = Atom(PAIRS, key)
        old, new = pair.item(atom, False), pair.item(atom, True)
        if old is not None and new is not None:  # that a GPU is gone is shown once, and not by its pairs
            yield from _differences(atom.path, old, new)


def _differences(part: str, old: object, new: object) -> list[tuple[str, _Values]]:
    """The facts of a section, an item of a list or a GPU that are compared and differ, by path."""
    if old == new:
        return []
    before, after = _facts(part, old), _facts(part, new)
    found = []
    for path in dict.fromkeys((*before, *after)):
        row = compared(path)
        if row is None:
            continue
        values = _values(path, before, after)
        if {values.before, values.after} <= _NOTHING:  # one side was not examined, and the other has none
            continue
        if values.kind == "changed" and is_equal(values.before or "", values.after or "", row.size):
            continue
        found.append((path, values))
    return found


def _facts(part: str, value: object) -> dict[str, str | None]:
    if value is None:
        return {}
    return {fact.path: fact.value for fact in facts_of(part, msgspec.json.encode(value))}


def _values(path: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> _Values:
    one, other = before.get(path), after.get(path)
    if one is not None and other is not None:
        return _Values(one, other, "changed")
    listed = path[: path.rfind("[")] if "[" in path else ""
    item = path[: path.rfind("]") + 1]
    for mine, theirs, kind in ((before, after, "gone"), (after, before, "appeared")):
        lone = listed and path in mine and not any(name.startswith(item) for name in theirs)
        if lone and (theirs.get(listed) is not None or not theirs):
            return _Values(one, other, "gone" if kind == "gone" else "appeared")
    return _Values(one, other, _kind(one, other))


def _kind(before: str | None, after: str | None) -> Kind:
    if before is None or after is None:
        return "known" if before is None else "unknown"
    return "changed"


def _change(path: str, values: _Values, gpus: tuple[int, ...], also: tuple[str, ...]) -> FactChange:
    row = compared(path)
    return FactChange(
        path=path.removesuffix("].value") + "]" * path.endswith("].value"),  # a variable, as facts name it
        label=name_of(path),
        group=group_of(path),
        kind=values.kind,
        before=values.before or "",
        after=values.after or "",
        unit=row.unit if row else "",
        gpus=gpus,
        also=tuple(name for name in also if name != path),
    )


def _repeats_count(path: str, rows: Mapping[tuple[str, _Values], object]) -> bool:
    """Whether it is the length of a list whose items are shown."""
    return any(other.startswith(f"{path}[") for other, _ in rows)


_NOTHING = {None, "", ABSENT}


def _count(gpus: Sequence[object] | Missing) -> str | None:
    if isinstance(gpus, Missing):
        return ABSENT if gpus.reason == "absent" else None
    return str(len(gpus))


_LONGEST = 120


def _text(value: Any) -> str | None:
    """A value as text; None if it is unknown or not there."""
    if value is None:
        return None
    if isinstance(value, Missing):
        return ABSENT if value.reason == "absent" else None
    if isinstance(value, tuple):
        named = not any(isinstance(item, msgspec.Struct) for item in value)
        value = (", ".join(map(str, value)) or "none") if named else str(len(value))
    elif isinstance(value, msgspec.Struct):
        value = getattr(value, "value", "there")  # of a variable
    text = as_text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _fields_that_differ(old: Any, new: Any) -> tuple[str, str]:
    """`sass 8.0, 9.0` of an item's fields that are not the same in both."""
    if not isinstance(old, msgspec.Struct) or type(old) is not type(new):
        return _text(old) or "", _text(new) or ""
    names = [name for name in old.__struct_fields__ if getattr(old, name) != getattr(new, name)]
    before, after = (
        ", ".join(f"{name} {_text(getattr(item, name)) or 'unknown'}" for name in names) for item in (old, new)
    )
    return before, after
