"""What the fuzzer once found stays repaired, and a short run of every target finds nothing new."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.formats.ldcache import parse_ldcache
from doctor.text.text import READERS

from ..drawn import SHARE
from ..rows import Faults, for_each, share
from .fuzz import fuzz, run_once
from .targets import CORPUS, TARGETS, corpus

FOUND = [(name, path) for name in TARGETS for path in corpus(name)]
ROOT = Path(__file__).parent.parent.parent
WHOLE = ("text", "text-messages")
"""All the way from a text to its reports, a hundred times as dear as one reader: in the slow run alone."""
INPUTS = round(150 * max(1.0, SHARE))
"""Mutated inputs of each target in the slow run."""
PATIENCE_S = 20.0
"""On a busy machine; alone each takes milliseconds."""


@pytest.mark.slow
@for_each(("name", "path"), FOUND, ids=[f"{name}-{path.name}" for name, path in FOUND])
def test_what_was_found_is_survived(name: str, path: Path) -> None:
    run_once(TARGETS[name], path.read_bytes(), PATIENCE_S)


def test_every_input_of_the_corpus_belongs_to_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= TARGETS.keys()


def short_run(name: str, inputs: int) -> None:
    """Valid inputs are survived, and so many mutated ones find nothing."""
    result = fuzz(name, TARGETS[name], inputs, seed=2, limit_s=PATIENCE_S)
    assert result.inputs == inputs
    assert result.found == []
    assert result.steps > 2, "the parser was never reached"


@pytest.mark.slow
@for_each("name", [name for name in TARGETS if name not in WHOLE])
def test_valid_inputs_are_survived_and_a_few_mutated_ones_find_nothing(name: str) -> None:
    short_run(name, 20)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_short_run_finds_nothing(part: int) -> None:
    with Faults() as faults:
        for name in share(TARGETS, part, 4):
            with faults.of(name):
                short_run(name, INPUTS)


BAD = """
from tests.fuzz.fuzz import fuzz
from tests.fuzz.targets import Target
kept = []
def bad(data):
    if data == b"raise":
        raise KeyError("x")
    while data == b"hang":
        pass
    if data == b"grow":
        kept.append(b"x" * (200 << 20))
for data in (b"raise", b"hang", b"grow", b"nothing"):
    result = fuzz("bad", Target(bad, lambda: [b"seed"], lambda *_: data), 1, seed=1, limit_s=0.2)
    print([(found.what.split()[0], found.data == data) for found in result.found])
"""


@pytest.mark.slow
def test_a_parser_that_raises_hangs_or_grows_is_noticed() -> None:
    done = subprocess.run([sys.executable, "-c", BAD], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == ["[('KeyError:', True)]", "[('TimeUp:', True)]", "[('one', True)]", "[]"]


def test_tables_that_point_into_the_same_bytes_are_bounded() -> None:
    """Rows are cheap and each may name the same long string: what is kept does not grow with their product."""
    rows = b"".join(
        struct.pack("<IIIIQ", 0x0303, 48 + 24 * 20_000 + i % 4000, 48 + 24 * 20_000, 0, 0) for i in range(20_000)
    )
    data = b"glibc-ld.so.cache1.1" + struct.pack("<II", 20_000, 8000) + b"\2" + bytes(19) + rows + b"ab" * 4000
    cache = parse_ldcache(data, "x86_64")
    assert "more than it can hold" in cache.problem
    assert sum(len(path) for paths in cache.libraries.values() for path in paths) < 32 << 20


def test_every_reader_of_pasted_text_has_a_target() -> None:
    source = (Path(__file__).parent / "targets.py").read_text("utf-8")
    assert [
        one.function for one in READERS if f'"{one.function.removeprefix("read_")}", seeds_text' not in source
    ] == []
