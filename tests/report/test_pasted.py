"""The report of a pasted text: the lines a finding rests on, and where the cause stays open, what would decide it."""

from __future__ import annotations

import re

from doctor.judge import load_all
from doctor.judge.report import Report
from doctor.report.markdown import render_markdown
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Snapshot, Symptom, Target
from doctor.text import read
from doctor.text.cause_pages import load_causes

from ..judging import report
from ..rows import for_each

ABOUT = {check.id: check.about for check in (*load_all(), *load_causes())}
LAYERS = {name: about.layer for name, about in ABOUT.items()}
TITLES = {name: about.title for name, about in ABOUT.items()}
NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."
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
    said = judged("a\nb\n" + NO_DRIVER)
    assert [quote.line for quote in said.findings[0].lines] == [3] and "From line 3" not in terminal(
        "a\nb\n" + NO_DRIVER
    )


def test_the_report_says_what_an_unknown_verdict_leaves_open() -> None:
    for text, open_ in (
        (NO_IMAGE, "undecided"),
        ("GPU 0: NVIDIA H100\n", "sound"),
        ("GPU 0: NVIDIA H100\nblorp: fatal error: the frobnicator is not there\n", "unknown-error"),
        (BLOCK, ""),
    ):
        found = judged(text)
        assert found.text is not None and found.text.open == open_, (text, found.text)
    assert [(quote.line, quote.text) for quote in judged(f"a\n{NO_IMAGE}\n").text.errors] == [(2, NO_IMAGE)]  # type: ignore[union-attr]


def test_an_open_cause_is_told_with_what_is_possible_and_what_decides() -> None:
    found = judged(NO_IMAGE)
    assert found.verdict == "unknown" and found.possible and found.needs
    for text in (terminal(NO_IMAGE), markdown(NO_IMAGE)):
        assert "does not decide" in text and "no kernel image is available" in text
        places = [text.index(name) for name in (*found.possible, *(need.command for need in found.needs))]
        assert places == sorted(places), "likeliest first, then the commands"
        assert all(TITLES[name] in " ".join(text.split()) for name in found.possible)
        shown = text.partition("<details>")[0]
        assert "nobody looked" not in shown.lower() and "cuInit" not in shown


def test_a_contradiction_of_the_text_is_told_beside_the_open_cause() -> None:
    text = "PyTorch version: 2.5.1+cu121\nNvidia driver version: 535.54.03\nDriver Version: 470.57.02\n"
    shown = terminal(text)
    assert shown.index("does not decide") < shown.index("535.54.03") < shown.index("UNKNOWN  exit 3")


@for_each("text", [BLOCK, NO_IMAGE, "RTX 3090, driver 570.86.10, torch 2.6.0+cu124"])
def test_what_the_text_does_not_tell_is_not_listed_unless_asked_for(text: str) -> None:
    assert not re.search("not looked at|unknown$|GPUs unknown|driver unknown|torch unknown", terminal(text), re.M)
    assert "checks" in terminal(text).split("\n")[-3] + terminal(text).split("\n")[-4]
    assert "not looked at" in terminal(text, verbose=1), "-v tells of every check"
    assert not re.search(r"^\| .* \| (?:unknown|not known)", markdown(text), re.M)


def test_a_text_without_facts_says_so_in_its_header() -> None:
    assert "no GPU, driver, torch or Python is told" in terminal(NO_IMAGE).split("\n")[1]


def test_the_likeliest_cause_is_the_first_finding_and_never_a_failure() -> None:
    found = judged(NO_IMAGE)
    first = found.findings[0]
    assert (first.id, first.status) == (found.possible[0], "unknown") and "not proven" in first.title
    assert not first.fixes and found.exit_code == 3
    assert terminal(NO_IMAGE).count(first.id) == 2, "in the list and as a page to read, not as a finding once more"


def test_a_place_alone_makes_no_cause_likely() -> None:
    found = judged("container: docker\ntorch: 2.6.0+cu124\n")
    assert found.possible and all(f.id not in found.possible for f in found.findings)


@for_each(
    ("text", "denied"),
    [
        (f"GPU 0: NVIDIA GeForce RTX 5090\n{NO_IMAGE}", "torch-dropped-old-gpu-sm"),
        (f"GPU 0: NVIDIA GeForce RTX 5090\n{NO_IMAGE}", "jetson-generic-wheel"),
        (f"GPU 0: NVIDIA GeForce GTX 1080\n{NO_IMAGE}", "torch-lacks-new-gpu-sm"),
    ],
)
def test_what_the_text_rules_out_is_not_called_possible(text: str, denied: str) -> None:
    assert denied in judged(NO_IMAGE).possible and denied not in judged(text).possible and judged(text).possible


def test_thousands_of_gpus_are_counted_not_listed() -> None:
    text = "\n".join(f"GPU {index}: NVIDIA H100 PCIe" for index in range(900))
    shown = terminal(text, verbose=2)
    assert "gpus[63].name" in shown and "gpus[64].name" not in shown and "836 more" in shown
    assert "836 more" in markdown(text)


def test_a_kernel_that_is_missing_rules_out_what_comes_before_it() -> None:
    found = judged(f"devices: Tesla K80, Tesla K40c\ntorch 1.3.1\n{NO_IMAGE}\n").possible
    assert found[0] == "torch-dropped-old-gpu-sm"
    assert not {"driver-too-old-for-cuda-build", "cpu-only-torch"} & set(found)


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
    assert judged(text).findings[0].status == "unknown"
    assert judged(text.replace("2.7.0", "2.5.1")).findings[0].id == "torch-lacks-new-gpu-sm"


def test_a_plain_version_and_its_cuda_are_a_published_build() -> None:
    text = "GPU: RTX 5090\nPyTorch version: 2.5.1\nCUDA used to build PyTorch: 12.4\n"
    assert judged(text).findings[0].id == "torch-lacks-new-gpu-sm"
    assert judged(text + "installer: conda-forge\n").findings[0].status != "fail"


def suggesting(*suggests: tuple[str, ...], mention: bool = False) -> Report:
    """A text with one message for each tuple of causes that it allows."""
    said = tuple(
        Symptom(id=f"said-{number}", line=number, text="its words", suggests=causes, mention=mention)
        for number, causes in enumerate(suggests, 1)
    )
    return report(Snapshot(target=Target(kind="text", name="ticket.txt"), symptoms=said))


def test_the_only_cause_that_a_message_speaks_of_is_a_warning_with_a_fix() -> None:
    found = suggesting(("shm-too-small",))
    first = found.findings[0]
    assert (first.id, first.status) == ("shm-too-small", "warn") and first.title.startswith("Likely: ")
    assert first.fixes and found.needs and (found.verdict, found.exit_code) == ("unknown", 3)
    for text in (render_terminal(found, LAYERS, Display(), TITLES), render_markdown(found, LAYERS, TITLES)):
        assert (
            text.index("Likely: ")
            < text.index(first.fixes[0].title)
            < text.index("does not prove it", text.index("Fix"))
        )
        assert text.count("Likely: ") == 1 and found.needs[0].command.split("\n")[0] in text


def test_two_causes_or_a_mere_mention_make_none_likely_enough_for_a_warning() -> None:
    for found in (suggesting(("shm-too-small",), ("memlock-limit",)), suggesting(("shm-too-small",), mention=True)):
        assert found.findings[0].status == "unknown" and found.findings[0].id == "shm-too-small"


def test_a_line_is_named_once_however_many_facts_it_tells() -> None:
    shown = terminal("GPU 0: Tesla V100, torch 2.9.0+cu130, driver 580.82.07")
    assert shown.count("From line 1") == 1 and "From line 1: GPU 0: Tesla V100" in shown
