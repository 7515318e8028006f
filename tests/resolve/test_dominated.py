"""The first answer is never dominated: none below it has a newer torch and gives up no more."""

from __future__ import annotations

import random

from compat_matrix.lint_reach import dominated, questions
from compat_matrix.resolver import Question, resolve
from compat_matrix.versions import numbers

from ..judging import matrix
from ..rows import Faults

NAMED = (
    Question(gpus=("8.6",), driver="560.94", os="wsl"),
    Question(gpus=("8.0",), driver="535", arch="aarch64"),
    Question(gpus=("8.9",), driver="570.86", os="windows"),
)


def test_the_questions_that_once_were_answered_so_and_some_of_all() -> None:
    m = matrix()
    assert dominated(m, (*NAMED, *random.Random().sample(questions(m), 20))) == []


def test_in_the_words_that_are_printed() -> None:
    """The same by what each answer says that it gives up."""
    m = matrix()
    with Faults() as faults:
        for q in (*NAMED, *random.Random().sample(questions(m), 20)):
            with faults.of(f"{q.gpus} {q.driver} {q.os} {q.arch}"):
                answers = [one for one in resolve(m, q).candidates if one.grade != "forward-compat"]
                lost = [{words for words in one.gives_up if not words.startswith("what torch ")} for one in answers]
                torch = [numbers(one.build.torch) for one in answers]
                worse = [n for n in range(1, len(answers)) if torch[n] > torch[0] and lost[n] <= lost[0]]
                assert not worse, (answers[0].build, [answers[n].build for n in worse])
