"""The report of a pasted text: the lines a finding rests on, and where the cause stays open, what would decide it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.judge import load_all
from doctor.judge.report import Report
from doctor.report.markdown import escape, render_markdown
from doctor.report.pasted import open_page
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Ranked, Snapshot, Symptom, Target
from doctor.text import read
from doctor.text.cause_pages import load_causes

from ..judging import report
from ..rows import Faults, for_each

ABOUT = {check.id: check.about for check in (*load_all(), *load_causes())}
LAYERS = {name: about.layer for name, about in ABOUT.items()}
TITLES = {name: about.title for name, about in ABOUT.items()}
NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
NO_RUNTIME = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
BLOCK = "some words\nPyTorch version: 2.5.1+cu121\nGPU 0: NVIDIA GeForce RTX 5080\nPython version: 3.11.9\n"


def terminal(text: str, verbose: int = 0) -> str:
    return render_terminal(judged(text), LAYERS, Display(verbose=verbose), TITLES)


def markdown(text: str) -> str:
    return render_markdown(judged(text), LAYERS, TITLES)


def judged(text: str) -> Report:
    return report(read(text, "ticket.txt"))


def test_a_finding_names_the_lines_that_it_rests_on_and_no_others() -> None:
    rows = terminal(BLOCK).split("\n")
    assert [row.strip() for row in rows if row.strip().startswith("From ")] == [
        "From line 2: PyTorch version: 2.5.1+cu121",
        "From line 3: GPU 0: NVIDIA GeForce RTX 5080",
    ]
    assert "> line 2: PyTorch version: 2.5.1+cu121" in markdown(BLOCK) and "line 4" not in terminal(BLOCK)


def test_the_report_carries_the_lines_of_each_finding_and_check() -> None:
    found = judged(BLOCK)
    assert [(quote.line, quote.text) for quote in found.findings[0].lines] == [
        (2, "PyTorch version: 2.5.1+cu121"),
        (3, "GPU 0: NVIDIA GeForce RTX 5080"),
    ]
    lines = {check.id: check.lines for check in found.checks if check.lines}
    assert lines[found.findings[0].id] == (2, 3)
    said = judged("a\nb\n" + NO_RUNTIME)
    assert [quote.line for quote in said.findings[0].lines] == [3]
    assert "From line 3" not in terminal("a\nb\n" + NO_RUNTIME), "its own words name the line"


def test_the_report_says_what_an_unknown_verdict_leaves_open() -> None:
    for text, open_ in (
        ("torch.cuda.is_available() returns False, torch 2.6.0+cu124, RTX 3090", "undecided"),
        ("A tensor with all NaNs was produced in Unet\ntorch 2.6.0+cu124\n", "sound"),
        ("GPU 0: NVIDIA H100\n", "undecided"),
        ("GPU 0: NVIDIA H100\nblorp: fatal error: the frobnicator is not there\n", "unknown-error"),
        (BLOCK, ""),
    ):
        found = judged(text)
        assert found.text is not None and found.text.open == open_, (text, found.text)
    assert [(quote.line, quote.text) for quote in judged(f"a\n{NO_IMAGE}\n").text.errors] == [(2, NO_IMAGE)]  # type: ignore[union-attr]


def test_a_contradiction_of_the_text_is_told_beside_the_open_cause() -> None:
    text = "PyTorch version: 2.5.1+cu121\nNvidia driver version: 535.54.03\nDriver Version: 470.57.02\n"
    shown = terminal(text)
    assert shown.index("not enough to find the cause") < shown.index("535.54.03") < shown.index("UNKNOWN  exit 3")


@for_each("text", [BLOCK, NO_IMAGE, "RTX 3090, driver 570.86.10, torch 2.6.0+cu124"])
def test_what_the_text_does_not_tell_is_not_listed_unless_asked_for(text: str) -> None:
    assert not re.search("not examined|unknown$|GPUs unknown|driver unknown|torch unknown", terminal(text), re.M)
    assert "checks" in terminal(text).split("\n")[-3] + terminal(text).split("\n")[-4]
    assert "not examined" in terminal(text, verbose=1), "-v tells of every check"
    assert not re.search(r"^\| .* \| (?:unknown|not known)", markdown(text), re.M)


def test_a_text_without_facts_says_so_in_its_header() -> None:
    assert "the text names no GPU, driver, torch or Python" in terminal(NO_IMAGE).split("\n")[1]


ARCHITECTURES = ("torch-dropped-old-gpu-sm", "torch-lacks-new-gpu-sm", "jetson-generic-wheel")
BEFORE_A_KERNEL = ("driver-too-old-for-cuda-build", "cpu-only-torch")


def possible(text: str, *causes: str) -> tuple[str, ...]:
    """Of causes that the words make equally likely those that the text's facts allow."""
    ranks = tuple(Ranked(cause=name, share=1 / len(causes), line=1) for name in causes)
    return report(read(text).replace({"ranked": ranks})).possible


@for_each(
    ("text", "denied"),
    [
        (f"GPU 0: NVIDIA GeForce RTX 5090\n{NO_IMAGE}", "torch-dropped-old-gpu-sm"),
        (f"GPU 0: NVIDIA GeForce RTX 5090\n{NO_IMAGE}", "jetson-generic-wheel"),
        (f"GPU 0: NVIDIA GeForce GTX 1080\n{NO_IMAGE}", "torch-lacks-new-gpu-sm"),
    ],
)
def test_what_the_text_rules_out_is_not_called_possible(text: str, denied: str) -> None:
    assert denied in possible(NO_IMAGE, *ARCHITECTURES)
    assert denied not in possible(text, *ARCHITECTURES) and possible(text, *ARCHITECTURES)


def test_thousands_of_gpus_are_counted_not_listed() -> None:
    text = "\n".join(f"GPU {index}: NVIDIA H100 PCIe" for index in range(900))
    shown = terminal(text, verbose=2)
    assert "gpus[63].name" in shown and "gpus[64].name" not in shown and "836 more" in shown
    assert "836 more" in markdown(text)


def test_a_kernel_that_is_missing_rules_out_what_comes_before_it() -> None:
    text = f"devices: Tesla K80, Tesla K40c\ntorch 1.3.1\n{NO_IMAGE}\n"
    assert possible(text, *BEFORE_A_KERNEL, "torch-dropped-old-gpu-sm") == ("torch-dropped-old-gpu-sm",)
    failing = "torch 1.3.1\nRuntimeError: Found no NVIDIA driver on your system."
    assert set(possible(failing, *BEFORE_A_KERNEL)) == set(BEFORE_A_KERNEL)


@for_each(
    ("gpu", "torch", "found"),
    [
        ("RTX 5090", "2.5.1", "torch-lacks-new-gpu-sm"),
        ("GTX 980", "2.15.0", "torch-dropped-old-gpu-sm"),
        ("RTX 4090", "2.5.1", None),
        ("RTX 5090", "2.8.0", None),
        ("RTX 5090", "2.7.0", "torch-lacks-new-gpu-sm"),
        ("RTX 5090", "2.7.0a0+git1234", None),
    ],
)
def test_a_release_whose_usual_build_has_no_code_for_the_gpu(gpu: str, torch: str, found: str | None) -> None:
    said = judged(f"GPU: {gpu}\ntorch: {torch}\n{NO_IMAGE}\n").findings[0]
    assert (said.id if said.status == "fail" else None) == found


def test_an_extension_may_have_said_it() -> None:
    text = f"GPU: RTX 5090\ntorch: 2.7.0\nwith flash-attn\n{NO_IMAGE}\n"
    assert judged(text).findings[0].status != "fail"
    assert judged(text.replace("2.7.0", "2.5.1")).findings[0].id == "torch-lacks-new-gpu-sm"


def test_a_plain_version_and_its_cuda_are_a_published_build() -> None:
    text = "GPU: RTX 5090\nPyTorch version: 2.5.1\nCUDA used to build PyTorch: 12.4\n"
    assert judged(text).findings[0].id == "torch-lacks-new-gpu-sm"
    assert judged(text + "installer: conda-forge\n").findings[0].status != "fail"


def leaning(*ranks: tuple[str, float], line: int = 7, symptoms: tuple[Symptom, ...] = ()) -> Report:
    """A text whose words make these causes so likely, by its seventh line."""
    found = tuple(Ranked(cause=name, share=share, line=line, text="its words") for name, share in ranks)
    return report(Snapshot(target=Target(kind="text", name="ticket.txt"), ranked=found, symptoms=symptoms))


def shown(found: Report) -> tuple[str, str]:
    return render_terminal(found, LAYERS, Display(), TITLES), render_markdown(found, LAYERS, TITLES)


def test_a_cause_likely_enough_is_a_warning_with_its_fix_and_the_line_that_weighs_most() -> None:
    fails = (Symptom(id="said", line=7, text="its words", suggests=("shm-too-small",)),)
    assert not leaning(("shm-too-small", 0.99)).likely, "no line says that something fails"
    found = leaning(("shm-too-small", 0.99), ("memlock-limit", 0.01), symptoms=fails)
    first = found.findings[0]
    assert (first.id, first.status) == ("shm-too-small", "warn") and first.title.startswith("Likely: ")
    assert first.fixes and found.needs and (found.verdict, found.exit_code) == ("unknown", 3)
    assert found.likely == "shm-too-small" and [(q.line, q.text) for q in first.lines] == [(7, "its words")]
    for text in shown(found):
        assert text.index("Likely: ") < text.index("Line 7: its words") < text.index(first.fixes[0].title)
        assert text.count("Likely: ") == 1 and "does not prove this" in text
        assert found.needs[0].command.split("\n")[0] in text


def test_below_the_threshold_causes_are_listed_with_probabilities_and_no_finding_is_made() -> None:
    others = [(name, 0.03) for name in ("uvm-device-missing", "mig-limitations", "exclusive-compute-mode")]
    names = ("shm-too-small", "memlock-limit", *(name for name, _ in others))
    fails = (Symptom(id="said", line=7, text="its words", suggests=names),)
    found = leaning(("shm-too-small", 0.45), ("memlock-limit", 0.25), ("healthy", 0.15), *others, symptoms=fails)
    assert not found.likely and all(f.id not in found.possible for f in found.findings)
    assert found.possible[:2] == ("shm-too-small", "memlock-limit") and found.text is not None
    told = [(one.id, one.probability, one.line) for one in found.text.possible]
    assert [name for name, *_ in told] == list(found.possible) and 1 > told[0][1] > told[1][1] > 0
    assert 0 < found.text.nothing < told[1][1]
    for text in shown(found):
        likely = [row for row in told if row[1] >= 0.1]
        assert 2 <= len(likely) < len(told), "the unlikely ones are in JSON alone"
        for name, probability, line in likely:
            assert f"{100 * probability:.0f} %" in text and name in text and f"line {line}: its words" in text
        assert not any(f" {100 * probability:.0f} %" in text for _, probability, _ in told[len(likely) :])
        assert "not an environment problem" in text
        assert f"Most likely, but not proven: {TITLES['shm-too-small']}" in " ".join(text.split())
        places = [text.index(name) for name in (*(row[0] for row in likely), *(need.command for need in found.needs))]
        assert places == sorted(places), "likeliest first, then the commands"


def test_what_the_program_says_in_that_line_makes_no_cause_likely() -> None:
    fails = Symptom(id="said", line=7, text="its words", suggests=("shm-too-small",))
    own = Symptom(id="program-x", line=7, text="its words", of_program=True, means="the program", fix="Mend it.")
    assert leaning(("shm-too-small", 0.99), symptoms=(fails,)).likely
    assert not leaning(("shm-too-small", 0.99), symptoms=(fails, own)).likely
    assert not leaning(("shm-too-small", 0.99), line=0, symptoms=(fails,)).likely, "no line speaks for it"


def test_nothing_in_the_environment_is_not_said_over_an_error_that_nobody_understood() -> None:
    unknown = (Symptom(id="unknown-error", line=3, text="blorp", means="an unrecognized error", unknown=True),)
    for symptoms, open_, words in ((), "sound", "No environment problem found"), (unknown, "unknown-error", "line 3"):
        found = leaning(("healthy", 0.97), ("shm-too-small", 0.03), symptoms=symptoms)
        assert found.text is not None and found.text.open == open_ and not found.likely
        assert all(words in text for text in shown(found))
    assert all("No environment problem" not in text for text in shown(found))


def test_facts_strike_causes_off_the_list() -> None:
    gpu = "GPU 0: NVIDIA GeForce RTX 5090\nNvidia driver version: 580.82.07\n"
    causes = ("torch-dropped-old-gpu-sm", "extension-lacks-gpu-arch")
    assert possible(gpu + NO_IMAGE, *causes) == ("extension-lacks-gpu-arch",)
    assert set(possible(NO_IMAGE, *causes)) == set(causes)
    assert possible(NO_IMAGE, "shm-too-small") == (), "its message has no such cause"


def test_a_line_is_named_once_however_many_facts_it_tells() -> None:
    shown = terminal("GPU 0: Tesla V100, torch 2.9.0+cu130, driver 580.82.07")
    assert shown.count("From line 1") == 1 and "From line 1: GPU 0: Tesla V100" in shown


OPEN = [
    f"a\n{NO_IMAGE}\n",
    "GPU 0: NVIDIA H100\nblorp: fatal error: the frobnicator is not there\n",
    (Path(__file__).parents[1] / "text" / "texts" / "nccl.txt").read_text("utf-8"),
]


@pytest.mark.slow
def test_what_stays_open_is_told_alike_on_a_terminal_in_markdown_and_on_a_page() -> None:
    told: set[str] = set()
    with Faults() as faults:
        for text in OPEN:
            found = judged(text)
            page = open_page(found, TITLES)
            assert page, text
            shown = " ".join(terminal(text).split())
            parts = {
                "title": [page["title"]], "decide": [page["decide"]], "quotes": page["quotes"],
                "of_program": [words for row in page["of_program"] for words in row if words],
                "possible": [words for row in page["possible"] for words in row if words],
                "possible_words": [page["possible_words"]] * bool(page["possible"]),
                "known_causes": page["known_causes"],
                "needs": [words for need in page["needs"] for words in (need.why, need.command)],
            }  # fmt: skip
            told |= {name for name, words in parts.items() if words}
            for name, words in ((name, words) for name, all_words in parts.items() for words in all_words):
                with faults.of(f"{text[:40]}: {name}: {words}"):
                    assert " ".join(words.split()) in shown
                    assert words in markdown(text) or escape(words) in markdown(text)
    assert told == parts.keys()
