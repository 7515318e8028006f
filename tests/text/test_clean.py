"""Lines are cleaned one by one: none is glued to another, none becomes two, and what was masked stays masked."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.text.clean import lines_of

PIECES = st.sampled_from(
    ["> ", "&gt; ", "- ", "* ", "12: ", "12. ", "**", "__", "***", "<b>", "</td><td>", "<pre>", "&amp;", "&#10;", "&#x2028;",
     "\x1b[31m", "| a | b |", '"a": "b",', "key = value", "Jan  2 10:00:00 node app[7]: ", "[rank0]: ", "web-1  | ", ">>> ",
     "NAME=x", "GPU 0: NVIDIA L4", "```", "é", "\u00a0", " "]
)  # fmt: skip
ROWS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=8))
def test_a_line_is_cleaned_to_one_line_of_its_own(rows: list[str]) -> None:
    marked = [f"{row} mark{number}x" for number, row in enumerate(rows)]
    for line in lines_of("\n".join(marked)):
        assert len(line.text.splitlines()) <= 1
        assert 1 <= line.number <= len(rows)
    first = [line for line in lines_of("\n".join(marked)) if re.search(r"mark\dx", line.text)]
    for line in first[: len(rows)]:
        assert len(re.findall(r"mark\dx", line.text)) == 1, "two lines are glued"


def test_a_mask_is_not_taken_for_bold() -> None:
    secret = "s3cr3t"
    wrong = []
    for before in (
        "",
        "> ",
        "- ",
        "12: ",
        "**Environment** ",
        "<b>",
        "[rank0]: ",
        "| a | ",
        "Jan  2 10:00:00 node app[7]: ",
    ):
        for sign in ("=", ": ", '="', " = ", ": '", "="):
            for row in (
                f"{before}HF_TOKEN{sign}***",
                f"{before}HF_TOKEN{sign}***\nnext: line",
                f"{before}token{sign}*** end",
            ):
                for text in (row, html.escape(row)):
                    found = "\n".join(line.text for line in lines_of(text))
                    if "***" not in found or secret in found:
                        wrong.append((text, found))
    assert wrong == []


def test_what_stands_beside_a_fence_in_its_line_is_read() -> None:
    texts = [line.text for line in lines_of("```CUDA error: out of memory```\n```python\nimport torch\n```")]
    assert texts == ["CUDA error: out of memory", "import torch"]
