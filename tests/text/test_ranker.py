"""The ranker: what it reads of a text, what it makes likely, and that its file is the one that the cases give."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from benchmarks.cases import load_cases
from doctor.text import read
from doctor.text.ranker import model, relevant, terms
from doctor.text.statement import Line

ROOT = Path(__file__).parents[2]
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.127\n"
STEPS = "".join(f"step:{n}/5100 train_loss:{4 - n / 3000:.4f} train_time:{n * 141}ms\n" for n in range(600))


def test_terms_are_words_pairs_and_parts_of_words() -> None:
    found = terms("CUDA 12.4: no Kernel image")
    assert {"cuda", "12.4", "kernel", "no kernel", "kernel image", "#<ker", "#nel>"} <= found
    assert not [term for term in found if term != term.lower() or "\n" in term]


def test_of_a_long_text_the_errors_and_what_was_understood_are_read_with_their_neighbours() -> None:
    lines = [Line(number, f"epoch {number} loss {number / 7:.3f}") for number in range(1, 400)]
    lines[199] = Line(200, "RuntimeError: CUDA error: no kernel image is available for execution on the device")
    assert [line.number for line in relevant(lines, {50})] == [48, 49, 50, 51, 52, 198, 199, 200, 201, 202]
    assert relevant(lines[:40], ()) == lines[:40]
    long = [Line(number, f"{number:05} {'x' * 994}") for number in range(500)]
    assert len(relevant(long, range(500))) == 100


def test_the_causes_of_a_text_are_ranked_with_the_line_that_weighs_most() -> None:
    ranks = read(f"PyTorch version: 2.4.0\n{MISMATCH}").ranked
    assert ranks[0].cause == "driver-library-version-mismatch" and (ranks[0].line, ranks[0].text[:6]) == (2, "Failed")
    assert [one.share for one in ranks] == sorted((one.share for one in ranks), reverse=True)
    assert 0.5 < sum(one.share for one in ranks) <= 1.001


def test_a_log_around_an_error_leaves_the_ranks_nearly_as_they_were() -> None:
    alone, inside = read(MISMATCH).ranked[0], read(STEPS + MISMATCH + STEPS).ranked[0]
    assert (inside.cause, inside.line) == (alone.cause, 601) and abs(inside.share - alone.share) < 0.3


def test_a_text_about_something_else_is_not_ranked() -> None:
    assert not read("Buy milk.\nCall the dentist.\n").ranked


def test_probabilities_are_of_all_causes_and_each_is_a_check_or_nothing() -> None:
    from doctor.commands.assess import known_ids

    shares = model().shares(model().scores(model().vector(terms("CUDA driver version is insufficient"))))
    assert abs(sum(shares) - 1) < 1e-9 and len(shares) == len(model().causes)
    assert set(model().causes) <= {*known_ids(), "healthy"}


def reserved(url: str) -> bool:
    plain = re.sub(r"[#?].*", "", url).rstrip("/").lower()
    return sha256(plain.encode()).hexdigest()[:24] in set(
        (ROOT / "benchmarks" / "reserved.txt").read_text("utf-8").split()
    )


def test_no_case_is_of_a_thread_that_is_kept_for_measuring() -> None:
    cases = load_cases()
    urls = [url for case in cases for url in (case["source"], *case.get("related_sources", ()))]
    assert len(cases) >= model().about["cases"] > 800 and not [url for url in urls if reserved(url)]


@pytest.mark.slow
@pytest.mark.train
def test_the_file_ranks_the_cases_as_a_new_build_of_them_does() -> None:
    from training.ranker import everything, faults

    assert not faults(everything())
