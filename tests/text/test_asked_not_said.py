"""What people only ask is not what they say: a question that yes or no answers proves nothing."""

from __future__ import annotations

from doctor.text import read

from ..judging import report
from ..rows import for_each

ASKED = (
    "GPU temperature 88 C is this throttling?",
    "Slow training at 88 C. Is the GPU thermal throttling?",
    "It gets slower at 90 C, so could it be throttling?",
    "Is the GPU throttling at 90 C? It has been slow since Monday.",
)
SAID = {
    "GPU temperature 88 C, it is throttling": "gpu-power-or-thermal-limited",
    "My GPU is throttling at 90 C, why?": "gpu-power-or-thermal-limited",
    "why is it throttling at 88 C?": "gpu-power-or-thermal-limited",
    "Is my PSU too weak? The GPU is throttling at 90 C.": "gpu-power-or-thermal-limited",
    "Does anyone know why my GPU is throttling at 88 C?": "gpu-power-or-thermal-limited",
}


@for_each("text", ASKED)
def test_a_question_proves_nothing(text: str) -> None:
    assert report(read(text)).verdict == "unknown"


@for_each("text", SAID)
def test_a_statement_and_what_why_takes_for_granted_do(text: str) -> None:
    assert [finding.id for finding in report(read(text)).findings if finding.status == "fail"] == [SAID[text]]


@for_each("words", ["runs without --gpus all", "runs without --gpus"])
def test_other_words_of_people_count_as_little(words: str) -> None:
    told = "service-without-gpu-told"
    assert told in {x.id for x in read(f"the ollama container {words}").symptoms}
    assert told not in {x.id for x in read(f"the ollama container works. Is it that it {words}?").symptoms}


@for_each("processes", ["zombie processes", "a zombie process"])
def test_zombies_that_are_asked_for_are_none(processes: str) -> None:
    assert "zombie-told" in {x.id for x in read(f"The GPU memory is held by {processes}").symptoms}
    assert "zombie-told" not in {x.id for x in read(f"Is the GPU memory held by {processes}?").symptoms}
