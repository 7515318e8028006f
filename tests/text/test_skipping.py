"""What is left unread to be fast could not have told anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.text.clean import lines_of
from doctor.text.messages import catalogue
from doctor.text.search import Haystack
from doctor.text.shapes import shapes, statements_of
from doctor.text.statement import Line
from doctor.text.text import READERS, Reader
from doctor.text.words import Words

from ..drawn import drawn
from ..rows import for_each
from .test_readers import BANNER, COLLECT_ENV, CSV, NEW_BANNER, OLD, QUERY
from .texts import NAMES, text

HELD = "01:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB]\n\tKernel driver in use: vfio-pci\n"
TEXTS = [COLLECT_ENV, OLD, BANNER, NEW_BANNER, QUERY, CSV, HELD, *map(text, NAMES), "\n".join(map(text, NAMES))]
WORDS = st.sampled_from(
    [
        "nvidia",
        "NVIDIA-SMI",
        "GPU",
        "Driver",
        "560.35.03",
        "0x1f",
        "é",
        "İ",
        "ß",
        "torch",
        "==",
        "(",
        ":",
        "7",
        " ",
        "\t",
        "\x0b",
        "\u2028",
        "x" * 40,
    ]
)


@pytest.mark.slow
@for_each("reader", READERS, ids=lambda reader: reader.function)
def test_a_reader_that_is_skipped_has_nothing_to_say(reader: Reader) -> None:
    said = 0
    for source in TEXTS:
        lines = lines_of(source)
        statements = list(reader._replace(most_lines=0).read(lines))
        if not reader._replace(most_lines=0).may_read(lines, Words(lines)):
            assert statements == []
        said += len(statements)
    assert said or reader.most_lines, "no text has anything for this reader"


@drawn(300)
@given(st.lists(st.lists(WORDS, max_size=8).map("".join), max_size=6), st.data())
def test_words_never_deny_what_is_there(rows: list[str], data: st.DataObject) -> None:
    words = Words([Line(number, row) for number, row in enumerate(rows, 1)])
    for row in rows:
        low = row.lower()
        start = data.draw(st.integers(0, len(low)))
        end = data.draw(st.integers(start, len(low)))
        assert words.may_hold(low[start:end])


def test_words_deny_what_is_not_there() -> None:
    words = Words([Line(1, "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus")])
    assert not words.may_hold("no kernel image") and words.may_hold("fallen off")


def test_more_words_than_are_kept_deny_nothing() -> None:
    words = Words(
        [
            Line(
                n,
                " ".join(f"{chr(97 + n % 26)}{chr(97 + k % 26)}{chr(0x4E00 + k)}{chr(0x4E00 + n)}" for k in range(300)),
            )
            for n in range(1500)
        ]
    )
    assert words.may_hold("anything at all")


def test_every_entry_is_found_in_a_long_log_too() -> None:
    """The text that an entry looks for is found among thousands of lines that differ in numbers."""
    entries = [*catalogue(), *shapes()]
    lines = [Line(n, f"step {n}: loss {n / 7}, {n * 31} tokens") for n in range(20 * len(entries))]
    for place, entry in enumerate(entries):
        lines[20 * place] = Line(20 * place, f"{chr(0x4E00 + place)} {entry.find[0].upper()} after it")
    haystack = Haystack(lines, Words(lines))
    for place, entry in enumerate(entries):
        assert 20 * place in [line.number for line, _ in haystack.lines_with(entry.find, "")]


def test_every_shape_is_in_a_text_and_says_something() -> None:
    texts = [(lines, Words(lines)) for lines in map(lines_of, TEXTS)]
    haystacks = [Haystack(lines, words) for lines, words in texts]
    silent = [shape for shape in shapes() if not any(list(statements_of(shape, haystack)) for haystack in haystacks)]
    assert not [(shape.tool, shape.pattern) for shape in silent]
