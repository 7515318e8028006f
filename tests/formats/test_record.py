"""A Record is what `typing.NamedTuple` would have made of the same class."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from doctor.formats.record import Record


class Ours(Record):
    """A page."""

    name: str
    """What it is called."""
    count: int = 2
    words: tuple[str, ...] = ()

    def twice(self) -> int:
        return 2 * self.count


class Theirs(NamedTuple):
    """A page."""

    name: str
    count: int = 2
    words: tuple[str, ...] = ()

    def twice(self) -> int:
        return 2 * self.count


USES: list[Callable[[Any], Any]] = [
    lambda kind: kind("a"),
    lambda kind: kind("a", 3, ("b",)),
    lambda kind: kind(words=("b",), name="a"),
    lambda kind: kind("a", words=("b",)),
    lambda kind: kind("a")._replace(count=9),
    lambda kind: copy.deepcopy(kind("a", 3)),
]


def test_it_is_the_same_tuple() -> None:
    for use in USES:
        ours, theirs = use(Ours), use(Theirs)
        assert tuple(ours) == theirs
        assert hash(ours) == hash(theirs)
        assert (ours.name, ours.count, ours.words, ours.twice()) == (
            theirs.name, theirs.count, theirs.words, theirs.twice(),
        )  # fmt: skip
        assert repr(ours).replace("Ours", "") == repr(theirs).replace("Theirs", "")
        assert ours._asdict() == theirs._asdict()
        assert pickle.loads(pickle.dumps(ours)) == theirs
    assert (Ours._fields, Ours._field_defaults, Ours.__doc__) == (
        Theirs._fields, Theirs._field_defaults, Theirs.__doc__,
    )  # fmt: skip
    assert Ours.__match_args__ == Theirs.__match_args__


def test_what_a_named_tuple_refuses_is_refused() -> None:
    wrong: list[Callable[[Any], Any]] = [
        lambda kind: kind(),
        lambda kind: kind("a", 1, (), 4),
        lambda kind: kind("a", name="b"),
        lambda kind: kind("a", other=1),
        lambda kind: kind("a")._replace(other=1),
    ]
    for kind in (Ours, Theirs):
        for use in wrong:
            with pytest.raises((TypeError, ValueError)):
                use(kind)
        with pytest.raises(AttributeError):
            setattr(kind("a"), "count", 1)  # noqa: B010
        with pytest.raises(AttributeError):
            setattr(kind("a"), "other", 1)  # noqa: B010
