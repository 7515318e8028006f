"""Rows of one test: a loop that goes through all of them and then tells of every fault, in place of a test for each."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pytest

Row = TypeVar("Row")
Test = Callable[..., None]
_SHOWN = 40
"""Faults that are told in full; the others are named."""


class Faults:
    """Collects what is wrong, row by row: `with Faults() as faults: ...  with faults.of(name): assert ...`.

    At the end of the block all that was collected fails the test, with the first fault's own traceback above.
    """

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.first: BaseException | None = None
        self.rows = 0

    def __enter__(self) -> Faults:
        return self

    @contextmanager
    def of(self, row: str) -> Iterator[None]:
        """What is raised inside is this row's fault, and the loop goes on. A skip is a fault too: rows do not skip."""
        self.rows += 1
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            self.first = self.first or error
            frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) != Path(__file__)]
            where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            self.told.append((row, f"{where}{kind}{error}"))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            return
        if not self.rows:
            raise AssertionError("there was no row")
        if self.told:
            lines = [f"{len(self.told)} of {self.rows} rows:"]
            lines += [f"- {row}: {_indented(what)}" for row, what in self.told[:_SHOWN]]
            lines += [f"- {row}" for row, _ in self.told[_SHOWN:]]
            raise AssertionError("\n".join(lines)) from self.first


def _indented(text: str) -> str:
    return "\n    ".join(text.splitlines()[:12])


def for_each(
    names: str | Sequence[str], values: Iterable[Any], ids: Any = None, *, quick: int = 1
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test for all rows. `tmp_path` is a folder of its own for each of them.

    Other fixtures are made once and serve all rows: a row must not change what they hold. quick: every so many-th row
    is one quick test, the others are slow ones.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    all_rows = [value if len(wanted) > 1 else (value,) for value in values]
    labels = ids if ids is None or callable(ids) else list(ids)
    named = None if ids is None else [_id(labels, number, row) for number, row in enumerate(all_rows)]

    def decorate(test: Test) -> Test:
        given = inspect.signature(test)
        missing = [name for name in wanted if name not in given.parameters]
        if missing:
            raise TypeError(f"{test.__name__} has no argument {', '.join(missing)}")

        def loop(**fixtures: Any) -> None:
            folder = fixtures.get("tmp_path")
            part = fixtures.pop("part", 0) if quick > 1 else 0
            with Faults() as faults:
                for number, row in list(enumerate(all_rows))[part::quick]:
                    arguments = dict(zip(wanted, row, strict=True))
                    if folder is not None:
                        fixtures["tmp_path"] = folder / f"row{number}"
                        fixtures["tmp_path"].mkdir()
                    with faults.of(named[number] if named else _told(arguments)):
                        test(**fixtures, **arguments)

        loop.__name__, loop.__qualname__, loop.__doc__ = test.__name__, test.__qualname__, test.__doc__
        loop.__module__, loop.__wrapped__ = test.__module__, test  # type: ignore[attr-defined]
        loop.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]
        rest = [p.replace(kind=p.KEYWORD_ONLY) for name, p in given.parameters.items() if name not in wanted]
        if quick > 1:
            rest.append(inspect.Parameter("part", inspect.Parameter.KEYWORD_ONLY))
        loop.__signature__ = given.replace(parameters=rest)  # type: ignore[attr-defined]
        return pytest.mark.parametrize("part", quickly(range(quick), quick))(loop) if quick > 1 else loop

    return decorate


def _id(ids: Any, number: int, row: Sequence[Any]) -> str:
    return "-".join(str(ids(part)) for part in row) if callable(ids) else str(ids[number])


def _told(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_short(part)}" for name, part in arguments.items())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def share(values: Iterable[Row], number: int, of: int) -> list[Row]:
    """Every `of`-th row, from `number` on: the shares 0 to of - 1 together are all rows."""
    return list(values)[number::of]


def quickly(values: Sequence[Any], of: int) -> list[Any]:
    """Values for `pytest.mark.parametrize`: every `of`-th is quick, the others are marked slow."""
    wrapped = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*value, marks=pytest.mark.slow) if number % of else pytest.param(*value)
        for number, value in enumerate(wrapped)
    ]
