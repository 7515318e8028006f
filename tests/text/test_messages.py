"""The error catalogue: well formed, decides what its samples say, and linear on hostile text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.text import read
from doctor.text.messages import catalogue
from doctor.text.shapes import Shape, shapes

from ..judging import report
from ..rows import for_each
from ..soundness.sound import assert_fixes_are_sound

try:
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_parse as parser

SAMPLES = json.loads((Path(__file__).parent / "samples.json").read_text("utf-8"))


@for_each("sample", SAMPLES, ids=lambda s: f"{s['decides'] or 'open'}: {s['text'][:40]}", quick=8)
def test_what_a_text_decides(sample: dict[str, str]) -> None:
    decided = [symptom.decides for symptom in read(sample["text"]).symptoms if symptom.decides]
    assert decided[:1] == ([sample["decides"]] if sample["decides"] else [])


@pytest.mark.slow
@for_each("sample", SAMPLES, ids=lambda s: f"{s['decides'] or 'open'}: {s['text'][:40]}")
def test_fixes_of_what_a_text_decides_are_sound(sample: dict[str, str]) -> None:
    assert_fixes_are_sound(read(sample["text"]))


def _repeats(node: object, outer: int = 1) -> Iterator[int]:
    """The product of the bounds of each repeat and those around it."""
    for operation, argument in node:  # type: ignore[attr-defined]
        if str(operation) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, inner = argument
            bound = outer * max(1, min(int(most), 100_000))
            yield bound
            yield from _repeats(inner, bound)
        elif str(operation) == "BRANCH":
            for branch in argument[1]:
                yield from _repeats(branch, outer)
        elif str(operation) in ("SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            yield from _repeats(argument[-1], outer)


def test_patterns_cannot_backtrack_badly() -> None:
    """Every repeat is bounded, and so is a repeat within a repeat: lines are cut at 2000 characters."""
    bounds = {m.id: max(_repeats(parser.parse(m.expression, re.I)), default=0) for m in catalogue()}
    assert {name: bound for name, bound in bounds.items() if bound > 1000} == {}


@for_each("shape", shapes(), ids=lambda shape: f"{shape.tool}: {shape.find[0]}")
def test_shapes_are_well_formed_and_bounded(shape: Shape) -> None:
    parsed = parser.parse(shape.pattern, re.I)
    assert all(bound <= 2000 for bound in _repeats(parsed))
    assert shape.find and all(text == text.lower() for text in shape.find)
    groups = re.compile(shape.pattern).groups
    assert all(int(number) <= groups for template in shape.means.values() for number in re.findall(r"\$(\d)", template))


def test_a_judge_of_patterns_sees_a_bomb() -> None:
    assert max(_repeats(parser.parse(r"(a+)+b"))) > 1000
    assert max(_repeats(parser.parse(r"x{0,20}y"))) == 20


FILLERS = (
    "utility,", "a", "/", "&amp;", " ", "0", "_", "=", ".", "sm_80 ", "A1.", "'", ":", "GPU 0: ", "> ",
)  # fmt: skip


def _read_hostile(filler: str) -> None:
    needles = " ".join(needle for message in catalogue() for needle in message.find)
    rows = [filler * 700, needles, *(message.find[0] + filler * 700 for message in catalogue())]
    assert read("\n".join(rows)).target.kind == "text"


@pytest.mark.slow
@for_each("filler", FILLERS[:1])
def test_hostile_lines_are_read(filler: str) -> None:
    """Would not come to an end if a pattern or reader backtracked badly."""
    _read_hostile(filler)


@pytest.mark.slow
@for_each("filler", FILLERS[1:])
def test_more_hostile_lines_are_read(filler: str) -> None:
    _read_hostile(filler)


def test_codes_of_a_kernel_log_are_told_with_who_must_act() -> None:
    log = (
        "[1.0] NVRM: Xid (PCI:0000:79:00): 13, pid=7, Graphics Exception\n[1.1] NVRM: Xid (PCI:0000:79:00): 31, pid=7\n"
        "[1.2] NVRM: Xid (PCI:0000:79:00): 31, pid=8\n[1.3] nvidia-nvswitch0: SXid (PCI:0000:79:00): 12028, Non-fatal\n"
    )
    told = {s.id: s for s in read(log).symptoms if "-xid-" in s.id}
    assert list(told) == ["program-xid-13", "program-xid-31"] and told["program-xid-31"].line == 2
    assert "the program's author" in told["program-xid-31"].means and "compute-sanitizer" in told["program-xid-31"].fix
    assert not any(s.suggests for s in told.values())
    (host,) = [s for s in read("Xid 166 on two nodes").symptoms if s.id.startswith("xid-")]
    assert host.suggests[0] == "gpu-recovery-action-needed" and "whoever runs the host" in host.means


def test_the_cudnn_that_a_program_wants_does_not_break_torch() -> None:
    """CTranslate2 takes cuDNN 9, which torch brings since 2.4, from 4.5.0 on."""
    line = (
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file"
    )

    def first_command(packages: str) -> str:
        finding = next(f for f in report(read(f"{packages}\n{line}")).findings if f.status == "fail")
        return finding.fixes[0].steps[0].command

    assert "ctranslate2>=4.5" in first_command("torch==2.5.1+cu124\nctranslate2==4.4.0\nfaster-whisper==1.0.3")
    assert "ctranslate2" not in first_command("torch==2.5.1+cu124")
    assert "ctranslate2" not in first_command("torch==2.3.1+cu121\nctranslate2==4.4.0")
