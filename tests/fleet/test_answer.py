"""The wire format: what is sent comes back whole or not at all, whatever stands around it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fleet.answer import Reader, lines

from ..drawn import drawn

ANSWER = st.one_of(st.binary(max_size=4000), st.integers(0, 60_000).map(lambda n: random.Random(n).randbytes(n)))
NOISE = st.one_of(
    st.binary(max_size=200).map(lambda b: b.replace(b"\n", b" ") + b"\n"),
    st.sampled_from((b"@gpudoctor1 \n", b"@gpudoctor1 a 00 1/1 0 0 0 ;\n", b"srun: error: gpu-017\n", b"\x1b[2J\n")),
)


def read(sent: list[bytes], run: str = "") -> tuple[list[bytes], list[str]]:
    reader = Reader(run)
    return [answer for line in sent for answer in reader.feed(line)], reader.rest()


def test_a_line_stays_below_8_kb_and_is_ascii() -> None:
    sent = list(lines(random.Random(1).randbytes(200_000), "a" * 32))
    assert len(sent) > 20 and max(map(len, sent)) < 8000
    assert all(line.isascii() and line.count(b"\n") == 1 for line in sent)


@drawn(200)
@given(st.lists(ANSWER, max_size=4, unique=True), st.lists(NOISE, max_size=8), st.randoms(use_true_random=False))
def test_answers_come_back_from_mixed_lines(answers: list[bytes], noise: list[bytes], chance: random.Random) -> None:
    sent = [line for answer in answers for line in lines(answer, "r1")] + noise
    chance.shuffle(sent)
    found, lost = read(sent)
    assert sorted(found) == sorted(answers)
    assert len(lost) == any(b"@gpudoctor1 " in line for line in noise)


@drawn(200)
@given(ANSWER, st.randoms(use_true_random=False))
def test_a_damaged_answer_is_never_another_one(answer: bytes, chance: random.Random) -> None:
    """A line is cut, written into, or lost: nothing comes out, and that is said where a part of it came."""
    sent = list(lines(answer, "r1"))
    at = chance.randrange(len(sent))
    line = sent[at]
    spot = chance.randrange(len(line) - 2)
    sent[at] = chance.choice(
        [
            line[:spot] + b"\n",
            line[:spot] + b"x" + line[spot:],
            line[:spot] + bytes([line[spot] ^ 1]) + line[spot + 1 :],
            b"",
        ]
    )
    found, lost = read(sent)
    assert found in ([], [answer])  # a bit of base64's padding may change without a change of what it means
    if not found and (len(sent) > 1 or b"@gpudoctor1 " in sent[at]):
        assert lost


def test_a_line_between_two_others_output_is_read() -> None:
    (line,) = lines(b"{}", "r1")
    assert read([b"12: progress 40 %" + line.rstrip() + b" and more\n"])[0] == [b"{}"]


def test_only_the_run_that_asked_counts() -> None:
    sent = [*lines(b"old", "r1"), *lines(b"new", "r2")]
    assert read(sent, "r2")[0] == [b"new"]
    assert read(sent)[0] == [b"old", b"new"]


def test_an_answer_that_comes_twice_counts_once() -> None:
    sent = list(lines(b"x" * 90_000, "r1"))
    assert read(sent + sent)[0] == [b"x" * 90_000]


def test_a_bomb_does_not_unpack() -> None:
    """The sizes that a line claims bound what it may become."""
    (line,) = lines(b"\0" * 4_000_000, "r1")
    shrunk = line.replace(b" 4000000 ", b" 4 ")
    assert read([shrunk]) == ([], ["an answer is damaged: its SHA-256 does not match"])
    assert read([line.replace(b" 4000000 ", b" 999999999 ")])[0] == []


def test_what_cannot_be_sent_is_an_error() -> None:
    for run in ("", "a b", "a" * 33, "ä"):
        with pytest.raises(ValueError, match="run"):
            list(lines(b"", run))
