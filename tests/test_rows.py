"""The loop over rows: every fault is told, none stops the others, and no skip hides in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .rows import Faults, for_each, share


def test_every_fault_is_told_with_its_row() -> None:
    seen = []

    @for_each(("number", "word"), [(1, "one"), (2, "zwei"), (3, "three"), (4, "eight")])
    def check(number: int, word: str) -> None:
        seen.append(number)
        assert word != "zwei", "a reason"
        if number == 4:
            raise KeyError(word)

    with pytest.raises(AssertionError) as told:
        check()
    assert seen == [1, 2, 3, 4]
    text = str(told.value)
    assert text.startswith("2 of 4 rows:\n- number=2, word='zwei': test_rows.py:") and "a reason" in text
    assert "- number=4, word='eight'" in text and "KeyError: 'eight'" in text and "one" not in text
    assert isinstance(told.value.__cause__, AssertionError)


def test_stacked_rows_each_with_a_folder_of_its_own(tmp_path: Path) -> None:
    seen = []

    @for_each("a", "xy", ids=str.upper)
    @for_each("b", [1, 2, 3])
    def check(a: str, b: int, tmp_path: Path) -> None:
        assert not list(tmp_path.iterdir())
        (tmp_path / "file").touch()
        seen.append((a, b))

    check(tmp_path=tmp_path)
    assert seen == [(a, b) for a in "xy" for b in (1, 2, 3)]


def test_no_row_and_a_skip_are_faults() -> None:
    @for_each("row", [])
    def nothing(row: str) -> None: ...

    @for_each("row", ["one"])
    def skips(row: str) -> None:
        pytest.skip("not here")

    with pytest.raises(AssertionError, match="there was no row"):
        nothing()
    with pytest.raises(AssertionError, match=r"row='one'.*not here"):
        skips()


def test_an_end_from_outside_is_not_a_row_s_fault() -> None:
    with pytest.raises(KeyboardInterrupt), Faults() as faults, faults.of("row"):
        raise KeyboardInterrupt


def test_shares_are_all_rows() -> None:
    assert sorted(number for part in range(3) for number in share(range(10), part, 3)) == list(range(10))


def test_marks_are_kept() -> None:
    @for_each("row", ["a"])
    @pytest.mark.slow
    def check(row: str) -> None: ...

    assert [mark.name for mark in check.pytestmark] == ["slow"]  # type: ignore[attr-defined]


def test_arguments_that_are_not_there_are_refused() -> None:
    with pytest.raises(TypeError, match="no argument row"):
        for_each("row", [1])(lambda: None)
