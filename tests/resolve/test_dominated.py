"""The first answer is never dominated: none below it has a torch at least as new and gives up less."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from compat_matrix.lint_reach import dominated, questions
from compat_matrix.resolver import Question
from compat_matrix.versions import numbers
from compat_matrix.wish import Wish

from ..judging import matrix

NAMED = (
    Question(gpus=("8.6",), driver="560.94", os="wsl"),
    Question(gpus=("8.0",), driver="535.309.01", arch="aarch64"),
    Question(gpus=("8.9",), driver="570.86", os="windows"),
    Question(gpus=("8.9",), driver="581.57", os="windows"),
    Question(gpus=("9.0",), driver="580.178.04", wishes=(Wish("torch", "2.14.1"),)),
)


def test_the_questions_that_once_were_answered_so_and_some_of_all() -> None:
    m = matrix()
    assert dominated(m, (*NAMED, *random.Random().sample(questions(m), 20))) == []


@pytest.mark.slow
def test_with_each_torch_requested() -> None:
    """A pin leaves several builds of one torch: the one that uv takes may be the one that gives up more."""
    m = matrix()
    releases = sorted({build.torch for build in m.builds}, key=numbers)[-24:]
    pinned = [
        replace(q, wishes=(Wish("torch", torch),))
        for q in questions(m)
        if q.gpus[0] in ("7.5", "8.9", "9.0", "12.0")
        for torch in releases
    ]
    assert len(pinned) > 6_000 and dominated(m, random.Random().sample(pinned, 6_000)) == []
