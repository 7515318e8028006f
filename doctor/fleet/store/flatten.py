"""The facts of a section as (path, value): what is equal on many nodes is flattened once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ...snapshot import NOT_ASKED
from ..facts import differs_by_nature, facts

FLAT = ("host", "container", "engines", "driver", "cuda", "python", "torch", "torch_run")
"""Sections whose facts are the node's own; those of each GPU are apart."""
GPUS = "gpus"
_KEYS = ("path", "address", "ordinal", "name", "soname", "role", "section", "prefix", "call", "kind", "arch")
"""What tells the items of a list from each other, the first that all have."""
ABSENT = "absent"
_LONGEST_PATH = 300
_MOST_FACTS = 20_000
_MOST_CHARACTERS = 400


class Fact(NamedTuple):
    """One fact; the value is None if it could not be read, and `absent` where it was looked for and is not there."""

    path: str
    value: str | None


def facts_of(part: str, content: bytes) -> list[Fact]:
    """The facts of a section by the JSON of it, by path; without those that differ by nature."""
    found: list[Fact] = []
    _walk(found, part, msgspec.json.decode(content))
    return sorted({fact.path: fact for fact in reversed(found)}.values(), key=lambda fact: fact.path)


def set_hash(facts: list[Fact]) -> bytes:
    return hashlib.blake2b(json.dumps(facts).encode("ascii"), digest_size=16).digest()


@lru_cache(maxsize=64)
def _own(kind: type[msgspec.Struct], part: str) -> dict[str, Any]:
    """The fields of a section (or a GPU) that differ by nature, as they are where nobody asked."""
    names = (name for name in kind.__struct_fields__ if f"{part}.{name}" in facts().by_nature)
    return {name: "" if name == "key" else NOT_ASKED for name in names}


_UUIDS = re.compile(rb"(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def alike(part: str, section: msgspec.Struct) -> bytes:
    """The JSON of what a section (or a GPU) shares with others of its kind: what is equal has the same facts."""
    own = _own(type(section), part)
    content = msgspec.json.encode(msgspec.structs.replace(section, **own) if own else section)
    return _UUIDS.sub(b"", content) if b"GPU-" in content or b"MIG-" in content else content


def _walk(found: list[Fact], path: str, value: Any) -> None:
    if len(found) >= _MOST_FACTS or differs_by_nature(path):
        return
    if isinstance(value, dict):
        if "missing" in value and set(value) <= {"missing", "detail"}:
            found.append(Fact(path, ABSENT if value["missing"] == "absent" else None))
            return
        for name, inner in value.items():
            _walk(found, f"{path}.{name}"[:_LONGEST_PATH], inner)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        found.append(Fact(path, str(len(value))))
        for key, item in keyed(value):
            _walk(found, f"{path}[{key}]"[:_LONGEST_PATH], item)
    elif isinstance(value, list):
        found.append(Fact(path, as_text(", ".join(as_text(item) for item in value))))
    else:
        found.append(Fact(path, as_text(value)))


def keyed(items: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Each item of a list under its key, in the list's order, without that key; several of one key are counted."""
    key = next((name for name in _KEYS if all(name in item for item in items)), None)
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        if key is None:
            yield str(number), item
            continue
        name = str(item[key])
        seen[name] = seen.get(name, 0) + 1
        rest = {field: value for field, value in item.items() if field != key}
        lone = rest["value"] if set(rest) == {"value"} else rest
        yield name if seen[name] == 1 else f"{name}#{seen[name]}", lone


def as_text(value: Any) -> str:
    """A value as it is compared and shown; a long one is cut and told from others by its hash."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    text = value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else json.dumps(value)
    if len(text) <= _MOST_CHARACTERS:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{text[:_MOST_CHARACTERS]}... ({len(text):,} characters, {digest})"
