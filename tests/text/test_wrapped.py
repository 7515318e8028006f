"""Texts that a terminal or mail has broken into lines of 60 or 80 columns keep their answer."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import cache
from hashlib import sha256

import pytest

from benchmarks.cases import load_cases, renderer
from doctor.text import read
from doctor.text.clean import lines_of
from doctor.text.unwrap import unwrapped

from ..judging import report
from ..rows import for_each


def at_words(text: str, width: int) -> str:
    rows = [textwrap.wrap(row, width, break_on_hyphens=False) or [""] for row in text.split("\n")]
    return "\n".join(part for row in rows for part in row)


def in_the_middle(text: str, width: int) -> str:
    return "\n".join(row[at : at + width] for row in text.split("\n") for at in range(0, max(len(row), 1), width))


FORMS: dict[str, Callable[[str], str]] = {
    "80 columns, at words": lambda text: at_words(text, 80),
    "60 columns, at words": lambda text: at_words(text, 60),
    "80 columns, in the middle": lambda text: in_the_middle(text, 80),
    "60 columns, in the middle": lambda text: in_the_middle(text, 60),
}
REQUIRED = tuple(FORMS)[:3]


def proven(text: str) -> str:
    """The first finding, if it is a failure."""
    first = report(read(text)).findings[:1]
    return first[0].id if first and first[0].status == "fail" else ""


@cache
def breakable() -> tuple[tuple[str, str, str], ...]:
    """(id, cause, text) of each public case that has a line to break, in an order that nothing but its id gives."""
    render = renderer()
    rows = [(case["id"], case["root_cause"]["slug"], render(case)) for case in load_cases() if not case["healthy"]]
    wide = [row for row in rows if max(map(len, row[2].split("\n"))) > 80]
    return tuple(sorted(wide, key=lambda row: sha256(row[0].encode()).digest()))


def chosen(most: int) -> list[tuple[str, str, str]]:
    """So many cases of different causes that are proven as they are."""
    found: dict[str, tuple[str, str, str]] = {}
    for row in breakable():
        if row[1] not in found and proven(row[2]) == row[1]:
            found[row[1]] = row
            if len(found) == most:
                break
    return list(found.values())


def lost_of(most: int) -> list[tuple[str, str]]:
    return [
        (name, form) for name, cause, text in chosen(most) for form in REQUIRED if proven(FORMS[form](text)) != cause
    ]


def test_four_causes_in_three_forms_keep_their_answer() -> None:
    assert lost_of(4) == []


@pytest.mark.slow
def test_fifteen_causes_in_three_forms_keep_their_answer() -> None:
    assert len(lost_of(15)) <= 2, lost_of(15)


@pytest.mark.slow
def test_every_proven_case_in_every_form() -> None:
    cases = [row for row in breakable() if proven(row[2]) == row[1]]
    assert len(cases) > 500
    for form, broken in FORMS.items():
        lost = [name for name, cause, text in cases if proven(broken(text)) != cause]
        assert len(lost) <= 0.03 * len(cases), (form, len(lost), len(cases), lost)


def wholes(text: str) -> list[str]:
    return [line.text for line in unwrapped(lines_of(text))]


MESSAGES = (
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown, so it ends here",
    "target/debug/myapp: error while loading shared libraries: libnvrtc.so.12: cannot open shared object file: No such file",
    "Loaded runtime CuDNN library: 8.0.4 but source was compiled with: 8.1.0. CuDNN library needs to have matching major",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11060). Please update your GPU driver by",
    "PyTorch has CUDA Version=11.7 and torchvision has CUDA Version=11.8 but it was compiled for another one of the two",
)


@for_each("width", [60, 66, 72, 80])
def test_what_was_broken_is_one_line_again(width: int) -> None:
    for message in MESSAGES:
        for broken in (at_words(message, width), in_the_middle(message, width)):
            assert message in wholes(broken), broken


@for_each(
    "first, second",
    [
        (
            "RuntimeError: the first message of a program, which is a long one here",
            "Traceback (most recent call last):",
        ),
        ("the first message of a program, which is nearly as long as a terminal", "ValueError: another message"),
        ("2026-01-01 10:00:00 the first message of a program, which is a long one", "2026-01-01 10:00:01 another one"),
        ("| NVIDIA-SMI 570.195.03   Driver Version: 570.195.03   CUDA Version: 12.8   |", "| 0  NVIDIA A100 |"),
        ("the first message of a program, which is nearly as long as a terminal", "ERROR the second message"),
        ("the first message of a program, which is nearly as long as a terminal", "Driver version: 570.195.03"),
        ("a short line", "another one"),
        (
            "libnvidia-compute-580/noble-updates,now 580.95.05-0ubuntu0 amd64 [installed,automatic]",
            "nvidia-dkms-580-open/noble-updates,now 580.95.05-0ubuntu0 amd64 [installed,automatic]",
        ),
        (
            "        self._handle = a_function_of_the_program(that_has, many, arguments, to, fill, it);",
            "        self.another_statement_of_it = another_function_of_the_program(that_has, less);",
        ),
        (
            '{"level": "info", "message": "the first message of a program, as JSON, on a line of its own"}',
            'a_word_that_would_not_fit_on_the_line_before_it "another one"',
        ),
    ],
)
def test_lines_of_their_own_stay_apart(first: str, second: str) -> None:
    assert wholes(f"{first}\n{second}") == []
