"""What is quoted of a text stands there, letter by letter, in the line that is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.text import read

from ..rows import Faults, for_each

SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text("utf-8"))
LSPCI = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation Device [10de:28e0] (rev a1)"
KERNEL = "[12.345678] nouveau 0000:01:00.0: unknown chipset (b7d000a1) of this card"


def quotes(text: str) -> list[tuple[int, str]]:
    s = read(text)
    told = [(one.line, one.text) for one in (*s.symptoms, *s.ranked) if one.line]
    return [(number, " ".join(quote.split())) for number, quote in told]


def letters(text: str) -> str:
    """Without blanks; `name: value` and `name=value` are read as one."""
    return "".join(text.split()).replace(":", "=")


@pytest.mark.slow
def test_of_every_sample() -> None:
    """A message that goes over several lines is quoted whole; what one line says, as that line alone."""
    with Faults() as faults:
        for sample in SAMPLES[::7]:
            text = sample["text"]
            if not text.isascii() or any(mark in text for mark in ("\x1b", "**", "&", "<", "`", "__", "\t", "*-")):
                continue  # read without its markup, or told in one line of a whole block (lshw)
            with faults.of(text[:60]):
                assert [quote for _, quote in quotes(text) if letters(quote) not in letters(text)] == []


@for_each("first", [LSPCI, KERNEL])
@for_each(
    "second",
    [
        "nvidia-smi: command not found",
        "bash: nvidia-smi: command not found",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-40-generic",
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    ],
)
def test_two_lines_are_not_one(second: str, first: str) -> None:
    found = quotes(f"{first}\n{second}\n")
    assert (2, second) in found
    assert {quote for _, quote in found} <= {first, second}


def test_a_line_that_was_broken_is_quoted_whole() -> None:
    text = (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Ple\n"
        "ase update your GPU driver by downloading and installing a new version from the URL:\n"
    )
    assert any("too old (found version 11040)" in quote for _, quote in quotes(text))
