"""A guess tells how often such guesses were right: its own cause's figure if that has ten cases, otherwise of all."""

from __future__ import annotations

from doctor.judge.report import Report
from doctor.snapshot import Ranked, Snapshot, Symptom, Target
from doctor.text.ranker import NOTHING, model

from ..judging import report
from ..rows import Faults


def guess(cause: str) -> Report:
    ranks = (Ranked(cause=cause, share=0.999, line=3, text="its words"),)
    says = (Symptom(id="said", line=3, text="its words", suggests=(cause,)),)
    return report(Snapshot(target=Target(kind="text", name="a"), ranked=ranks, symptoms=says))


def test_each_guess_tells_whose_figure_it_is() -> None:
    about, told = model().about, 0
    with Faults() as faults:
        for cause in (name for name in about["causes"] if name != NOTHING):
            found = guess(cause)
            if found.likely != cause:
                continue
            detail, own = found.findings[0].detail, about["threshold_causes"].get(cause)
            told += 1
            with faults.of(cause):
                if own:
                    assert f"{own[0]} of {own[1]} such guesses of this cause were right" in detail
                else:
                    right, calls = about["threshold_right"], about["threshold_calls"]
                    assert f"{right} of {calls} such guesses (of any cause) were right" in detail
    assert told > 20


def test_a_figure_of_its_own_has_ten_cases() -> None:
    for right, calls in model().about["threshold_causes"].values():
        assert calls >= 10 and right <= calls <= model().about["threshold_calls"]
