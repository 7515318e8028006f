"""The readers of pasted text, each alone and all together: nothing in a text may make them raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from doctor.findings import Policy
from doctor.text import judgeable
from doctor.text import read as read_text
from doctor.text.clean import lines_of
from doctor.text.decide import symptoms
from doctor.text.excerpt import excerpt
from doctor.text.merge import merge
from doctor.text.messages import find_hits, proven
from doctor.text.search import Haystack
from doctor.text.shapes import read_shapes
from doctor.text.statement import Line, Statement
from doctor.text.text import READERS
from doctor.text.where import read_where
from doctor.text.words import Words

from .take import judged


def clean(data: bytes) -> object:
    """Each is a line of the text, not empty, and not longer than it may be."""
    text = excerpt(data).text
    lines = lines_of(text)
    rows = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(line.text and len(line.text) <= 4000 and 1 <= line.number <= rows for line in lines)
    return lines


def reader(function: str) -> Callable[[bytes], object]:
    """What one reader says, as far as the Snapshot; where it would have been skipped it says nothing."""
    (found,) = (reader._replace(most_lines=0) for reader in READERS if reader.function == function)

    def take(data: bytes) -> object:
        lines = lines_of(*excerpt(data)[:2])
        said = _well_formed(found.read(lines), lines)
        assert not said or found.may_read(lines, Words(lines)), "it was to be skipped, and has something to say"
        return msgspec.json.encode(merge(said, "fuzz"))

    return take


def shapes(data: bytes) -> object:
    return _searched(read_shapes, data)


def where(data: bytes) -> object:
    return _searched(read_where, data)


def messages(data: bytes) -> object:
    lines = lines_of(*excerpt(data)[:2])
    hits = find_hits(Haystack(lines, Words(lines)))
    s = merge(_well_formed(proven(hits), lines), "fuzz")
    found = symptoms(hits, s)
    assert len(found) == len({hit.message.id for hit in hits})
    return msgspec.json.encode(s.replace({"symptoms": found}))


def read(data: bytes) -> object:
    """All of it; now and then to the end of the report."""
    s = read_text(data)
    return judgeable(s), judged(s, Policy(judged_on="2026-11-20"), data)


def _searched(read: Callable[[Haystack], Iterable[Statement]], data: bytes) -> object:
    lines = lines_of(*excerpt(data)[:2])
    return msgspec.json.encode(merge(_well_formed(read(Haystack(lines, Words(lines))), lines), "fuzz"))


def _well_formed(statements: Iterable[Statement], lines: list[Line]) -> list[Statement]:
    """Statements name lines of the text, and are not endless."""
    said = list(statements)
    numbers = {line.number for line in lines}
    assert all(one.path and one.line in numbers and len(one.text) <= 200 for one in said)
    assert len(said) <= 100 * len(lines) + 100
    return said
