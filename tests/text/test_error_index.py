"""docs/errors.md: `explain` of each line names one of the causes that the page gives for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doctor.commands.flags import EXPLAIN, read_flags
from doctor.commands.run_explain import explain_text
from doctor.text import read
from doctor.text.suspects import speaks_of_a_fault

from ..judging import report
from ..rows import Faults, for_each

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_ROW = re.compile(r"\| (?P<fence>`{1,2}) ?(?P<text>.+?) ?(?P=fence) \| (?P<causes>.+) \|")
_CAUSE = re.compile(r"(?P<more>\(?)\[(?P<id>[a-z0-9-]+)\]\(")


def judged(text: str) -> Any:
    """The report of a text."""
    return report(read(text))


def every_row() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(line, causes, causes in parentheses) of the page."""
    for line in PAGE.read_text("utf-8").splitlines():
        if row := _ROW.fullmatch(line):
            causes = [*_CAUSE.finditer(row["causes"])]
            assert causes, line
            plain, more = ([one["id"] for one in causes if bool(one["more"]) is asked] for asked in (False, True))
            yield row["text"].replace("\\|", "|"), tuple(plain), tuple(more)


def rows() -> list[tuple[str, tuple[str, ...]]]:
    """(line, causes) of the page, without those that have all their causes in parentheses."""
    return [(text, (*plain, *more)) for text, plain, more in every_row() if plain]


def test_most_rows_have_a_cause_that_the_line_alone_shows() -> None:
    shown = sum(line.startswith("| `") for line in PAGE.read_text("utf-8").splitlines())
    assert shown > 500 and len(rows()) > 0.8 * shown


@for_each("text, causes", rows(), quick=20)
def test_explain_of_the_line_names_a_cause_of_its_row(tmp_path: Path, text: str, causes: tuple[str, ...]) -> None:
    flags = read_flags(EXPLAIN, ["--output", str(tmp_path / "report")])
    assert flags is not None
    explain_text(text.encode(), "argument", flags)
    shown = (tmp_path / "report").read_text("utf-8")
    words = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", re.sub(r"-\n\s+", "-", shown)))
    assert not words.isdisjoint(causes), shown


def first_candidate(told: Any) -> str:
    """What `explain` shows first of the causes that a text leaves open; '' where it decides one or shows none."""
    decided = any(found.status == "fail" for found in told.findings)
    return "" if decided else told.likely or next(iter(told.possible), "")


@for_each("text, causes", [(text, (*plain, *more)) for text, plain, more in every_row() if plain], quick=20)
def test_the_first_candidate_of_explain_stands_in_the_row(text: str, causes: tuple[str, ...]) -> None:
    told = judged(text)
    if speaks_of_a_fault(told.snapshot):  # where no message says that anything fails, any cause is possible
        assert first_candidate(told) in ("", *causes)


PLACES_TOLD = {
    "nvidia-container-cli: WSL environment detected but no adapters were found": "container-no-gpu-flag",
    "sh: 1: nvidia-smi: not found": "cuda-device-order-mismatch",
    "[dc@0x1] NET/IB : Got completion from peer 10.0.0.2<4096> with status=12 opcode=0 len=0": "memlock-limit",
}


@for_each("text, cause", PLACES_TOLD.items(), ids=PLACES_TOLD)
def test_a_cause_that_no_message_of_the_line_has_is_not_shown(text: str, cause: str) -> None:
    assert cause not in judged(text).possible


@for_each("text, plain", [(text, plain) for text, plain, more in every_row() if more], quick=20)
def test_what_explain_decides_by_the_line_alone_stands_without_parentheses(text: str, plain: tuple[str, ...]) -> None:
    decided = {found.id for found in judged(text).findings if found.status == "fail" and not found.cause}
    assert decided <= set(plain)


def test_the_line_decides_by_all_messages_in_it_and_by_what_it_tells_of_the_place() -> None:
    index = {text: plain for text, plain, _ in every_row()}
    shown = {
        'could not select device driver ""': "engine-lacks-gpu-support",
        '"/dev/nvidia-uvm-tools": lstat': "uvm-device-missing",
        "/usr/lib/wsl/lib/libnvidia-ml.so.1]": "wsl-linux-driver-installed",
    }
    with Faults() as faults:
        for part, cause in shown.items():
            with faults.of(part):
                assert [plain[0] for text, plain in index.items() if part in text and plain] == [cause]


NO_DRIVER = (
    "Found no NVIDIA driver on your system",
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    "AssertionError: Found no NVIDIA driver on your system.",
)


@for_each("text", NO_DRIVER)
def test_a_cause_of_pods_is_named_in_texts_about_kubernetes_alone(text: str) -> None:
    without, with_it = (judged(words).possible for words in (text, f"{text}\nkubectl logs trainer-0: a Kubernetes pod"))
    assert not [name for name in without if name.startswith("k8s-")]
    assert "container-no-gpu-flag" in without[:2]
    assert "k8s-runtimeclass-missing" in with_it


SMALL_SHARES = {
    "tf-input-bound-part": "Your program is MODERATELY input-bound because 12.3% of the total step time is waiting.",
    "invalid-device": "ValueError: Invalid CUDA 'device=0' requested. Use 'device=cpu' or pass valid CUDA device(s)",
    "nvcuda": "ImportError: Could not find 'nvcuda.dll'. TensorFlow requires that this DLL be installed in a directory",
}


@for_each("text", SMALL_SHARES.values(), ids=SMALL_SHARES)
def test_what_a_message_comes_from_is_told_in_every_format_though_the_words_make_it_unlikely(
    tmp_path: Path, text: str
) -> None:
    [row] = judged(text).text.messages
    for form in ("text", "markdown", "html", "brief"):
        flag = ["--brief"] if form == "brief" else ["--format", form]
        flags = read_flags(EXPLAIN, [*flag, "--output", str(tmp_path / form)])
        assert flags is not None
        explain_text(text.encode(), "argument", flags)
        assert row.causes[0] in (tmp_path / form).read_text("utf-8"), form


def test_rocm_ptxas_and_a_module_of_python_2_are_no_fault_of_the_driver() -> None:
    hip = judged("RuntimeError: HIP error: invalid device function")
    assert not hip.possible and hip.text.messages[-1].causes == ("no-nvidia-gpu",)
    ptxas = judged("ptxas a.ptx, line 9; fatal   : Unsupported .version 8.4; current version is '8.1'")
    assert "ptx-newer-than-driver" not in ptxas.possible and not ptxas.likely
    for symbol in ("PyCObject_Type", "PyString_Type", "_Py_ZeroStruct"):
        path = "/opt/ros/kinetic/lib/python2.7/dist-packages/cv2.so"
        [found] = judged(f"ImportError: {path}: undefined symbol: {symbol}").findings
        assert found.id == "user-site-shadows-packages"
        assert [step.command for step in found.fixes[0].steps] == ["env -u PYTHONPATH python"]
