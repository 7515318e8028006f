"""The headline of a text follows its candidates, and every screen ends with a next step."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from benchmarks.cases import CASES, load_cases, renderer
from doctor.judge import load_all
from doctor.judge.report import Report
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Ranked, Similar, Snapshot, Symptom, Target
from doctor.text import read
from doctor.text.cause_pages import load_causes

from ..judging import report
from ..rows import Faults, for_each

ABOUT = {check.id: check.about for check in (*load_all(), *load_causes())}
LAYERS = {name: about.layer for name, about in ABOUT.items()}
TITLES = {name: about.title for name, about in ABOUT.items()}
CALM = re.compile("No environment problem|shows nothing wrong|Nothing in this text|No known error")
NEXT = re.compile(r"gpudoctor (?:check|explain|watch|prove)|Run the command above|Apply the fix")


def screens(found: Report) -> Iterator[str]:
    """What a terminal shows, in full and in short, on one line each."""
    for quiet in (False, True):
        yield " ".join(render_terminal(found, LAYERS, Display(quiet=quiet), TITLES).split())


def faults_of(found: Report, text: str) -> str:
    """Why this screen is wrong; '' if it is right."""
    first = found.text.possible[0] if found.text and found.text.possible else None
    if first and first.probability > 0.3 and CALM.search(text):
        return f"calm over {first.id} ({first.probability})"
    return "" if NEXT.search(text) or (found.needs and found.needs[0].command.split()[0] in text) else "no next step"


def held(every: int) -> None:
    render = renderer(CASES)
    with Faults() as faults:
        for case in load_cases(CASES)[::every]:
            for text in (render(case), "\n".join(case.get("error_text") or [])):
                found = report(read(text))
                for shown in screens(found):
                    with faults.of(case["id"]):
                        assert not faults_of(found, shown), faults_of(found, shown)


def test_no_screen_is_calm_where_the_report_has_a_cause() -> None:
    held(every=40)


@pytest.mark.slow
def test_no_screen_of_any_case_is_calm_where_the_report_has_a_cause() -> None:
    held(every=1)


def leaning(*ranks: tuple[str, float], similar: tuple[Similar, ...] = (), complains: bool = True) -> Report:
    found = tuple(Ranked(cause=name, share=share, line=3, text="its words") for name, share in ranks)
    says = (Symptom(id="said", line=3, text="its words", suggests=tuple(name for name, _ in ranks)),) * complains
    return report(Snapshot(target=Target(kind="text", name="a"), ranked=found, symptoms=says, similar=similar))


@for_each("cause", ["memlock-limit", "mig-limitations", "fabric-manager-not-running"])
def test_the_likeliest_cause_is_the_headline_with_its_line_and_command(cause: str) -> None:
    found = leaning((cause, 0.5), ("healthy", 0.3))
    chance = found.text.possible[0].probability  # type: ignore[union-attr]
    whole = next(screens(found))
    parts = [f"not proven: {TITLES[cause]} ({100 * chance:.0f} %)", "line 3: its words", found.needs[0].command]
    places = [whole.find(" ".join(part.split())) for part in parts]
    assert -1 not in places and places == sorted(places), whole


@for_each("nothing", [0.2, 0.5, 0.75])
def test_a_text_is_called_sound_only_where_that_is_very_likely(nothing: float) -> None:
    doubtful = leaning(("healthy", nothing), ("uvm-device-missing", 1 - nothing), complains=False)
    assert doubtful.text is not None and doubtful.text.open != "sound"
    assert all("No environment problem" not in text for text in screens(doubtful))
    sound = leaning(("healthy", 0.97), ("uvm-device-missing", 0.03), complains=False)
    assert sound.text is not None and sound.text.open == "sound"


def thread(cause: str, number: int) -> Similar:
    url = f"https://github.com/owner/name/issues/{number}"
    return Similar(title=f"Thread {number}", cause=cause, fix=f"They did {number}.", url=url, score=0.9 - number / 100)


@for_each("cause", ["memlock-limit", "mig-limitations", "shm-too-small"])
def test_the_most_similar_threads_stand_there_with_their_fix(cause: str) -> None:
    found = leaning((cause, 0.5), ("healthy", 0.3), similar=tuple(thread(cause, number) for number in (1, 2, 3)))
    shown = (next(screens(found)), " ".join(render_markdown(found, LAYERS, TITLES).split("<details>")[0].split()))
    for text in shown:
        assert "They did 1." in text and "They did 2." in text and "They did 3." not in text
    assert "They did 3." in render_terminal(found, LAYERS, Display(verbose=1), TITLES)


@for_each("gpu", ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "NVIDIA GeForce RTX 4090"])
def test_no_thread_of_a_cause_that_the_facts_exclude(gpu: str) -> None:
    facts = read(f"GPU 0: {gpu}\n")
    threads = (thread("torch-dropped-old-gpu-sm", 1), thread("mig-limitations", 2))
    found = report(facts.replace({"similar": threads}))
    assert found.text is not None and [one.cause for one in found.text.similar] == ["mig-limitations"]


@for_each("text", ["hello there", "the flux is out of range", "nothing of ours\nat com.example.Main\n"])
def test_a_text_without_a_known_word_names_the_next_step_too(text: str) -> None:
    found = report(read(text))
    assert all("gpudoctor check" in shown for shown in screens(found))
