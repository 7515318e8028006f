"""Questions of people, with answers worked out from sources; and every pair that may be asked."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from compat_matrix import Matrix
from compat_matrix.packages import goes_with, package_rows
from doctor.cli import run
from doctor.commands.matrix_for import things

from ..rows import Faults

Capture = pytest.CaptureFixture[str]
QUESTIONS = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))
VALUES = {"driver": "470.256.02", "cuda": "12.4", "gpu": "GT 730", "torch": "2.6.0", "python": "3.11", "cudnn": "9.10.2",
          "nccl": "2.27.3"}  # fmt: skip
PAIRS_THAT_STAND = (
    "driver cuda", "driver gpu", "driver torch", "cuda driver", "cuda gpu", "cuda torch", "cuda cudnn", "cuda nccl",
    "torch cuda", "torch driver", "torch gpu", "torch python", "torch cudnn", "torch nccl", "python torch",
    "gpu driver", "gpu cuda", "gpu torch", "gpu cudnn", "cudnn torch", "cudnn cuda", "cudnn gpu", "nccl torch",
    "nccl cuda", "triton torch", "torchvision torch", "torchvision cuda", "torchvision driver", "torchvision gpu",
    "torchvision python", "torch torchvision", "cuda torchvision", "python torchvision", "vllm torch", "vllm python",
    "torch vllm", "cuda vllm", "python vllm", "driver vllm", "gpu vllm", "torchaudio vllm", "cudnn vllm",
    "flash-attn torch", "flash-attn cuda", "flash-attn python", "flash-attn driver", "torch flash-attn",
    "tensorflow cuda", "tensorflow python", "tensorflow driver", "cuda tensorflow", "python tensorflow",
    "cudnn tensorflow", "jax cuda", "jax python", "cuda jax", "onnxruntime-gpu cuda", "cuda onnxruntime-gpu",
)  # fmt: skip


def _answer(capsys: Capture, words: list[str], code: int) -> str:
    assert run(words) == code, words
    printed = capsys.readouterr()
    return " ".join((printed.out + printed.err).split())


def test_answers_are_those_of_the_sources(capsys: Capture) -> None:
    assert len({row["ask"] for row in QUESTIONS}) == len(QUESTIONS) >= 94 and all(row["source"] for row in QUESTIONS)
    with Faults() as faults:
        for row in QUESTIONS:
            with faults.of(row["ask"]):
                text = _answer(capsys, ["matrix", "query", *shlex.split(row["ask"])], row.get("exit", 0))
                answer = text.partition("source: ")[0]
                assert all(word in answer for word in row["words"]), answer
                assert not [
                    word for word in row.get("not", ()) if re.search(rf"(?<![\\d.]){re.escape(word)}", answer)
                ], answer


@pytest.mark.slow
def test_explain_answers_the_same_questions(capsys: Capture) -> None:
    """Word for word: both ask the same function."""
    with Faults() as faults:
        for row in QUESTIONS:
            if " for " not in row["ask"] or " --" in row["ask"] or (row.get("exit", 0) and "KIND" in row["words"][0]):
                continue
            with faults.of(row["ask"]):
                said = _answer(capsys, ["matrix", "query", *shlex.split(row["ask"])], row.get("exit", 0))
                again = _answer(capsys, ["explain", row["ask"]], 3 if row.get("exit") else 0)
                assert said.removeprefix("gpudoctor: ") == again


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Which torchvision goes with torch 2.4.1?", "0.19.1"),
        ("what driver for CUDA 12.8", "570.26"),
        ("vllm==0.33.0", "torch 2.14.0"),
        ("driver 470 gpu GT 730", "with GF108: too-new"),
        ("driver 470 gpu 'GT 730'", "with GF108: too-new"),
        ('torch for gpu "GTX 1080"?', "cu126"),
        ("'vllm 0.33.0'", "torch 2.14.0"),
        ("driver for RTX 5090?", "branch 570 or newer"),
    ],
)
def test_explain_takes_a_question_as_people_put_it(capsys: Capture, text: str, word: str) -> None:
    assert word in _answer(capsys, ["explain", text], 0)


def value_of(m: Matrix, kind: str) -> str:
    return VALUES.get(kind) or package_rows(m, kind)[0].version


def _pair(capsys: Capture, m: Matrix, wanted: str, kind: str) -> bool:
    """Whether it is answered; what is not is one line, and nothing names CUDA 12.7."""
    code = run(["matrix", "query", wanted, "for", kind, value_of(m, kind)])
    printed = capsys.readouterr()
    text = printed.out or printed.err
    assert (code, bool(printed.out)) in ((0, True), (2, False)), text
    assert code == 0 or re.search(
        r"in this matrix|this matrix does not list|KIND is one of|cannot say|does not pin torch|could be any of", text
    ), text
    assert code or not re.search(r"(?<![\d.])12\.7(?![\d.])", text.partition("source: ")[0]), text
    return not code


def test_pairs_that_the_tables_hold_are_answered(capsys: Capture) -> None:
    m = Matrix.load()
    with Faults() as faults:
        for pair in PAIRS_THAT_STAND:
            wanted, kind = pair.split()
            with faults.of(pair):
                assert _pair(capsys, m, wanted, kind)


SUBJECTS = (
    "driver 535.129.03", "driver 535.129.03 cuda 12.8", "driver 470 gpu 'GT 730'", "gpu 'RTX 5090'", "torch 2.11.0",
    "build --gpu 7.0 --driver 580.82.07 --python 3.11", "cudnn 9.10.2", "nccl 2.27.3", "cuda 12.8", "error 804",
    "framework tensorflow 2.15", "vllm 0.33.0", "flash-attn 2.8.3",
)  # fmt: skip


@pytest.mark.slow
def test_one_short_source_and_all_of_them_on_request(capsys: Capture) -> None:
    """For each subject, and each pair of things that an answer is about."""
    m = Matrix.load()
    pairs = [(wanted, kind, value_of(m, kind)) for wanted, kind in (pair.split() for pair in PAIRS_THAT_STAND)]
    asked = [shlex.split(one) for one in SUBJECTS] + [[w, "for", kind, value] for w, kind, value in pairs]
    with Faults() as faults:
        for words in asked:
            with faults.of(" ".join(words)):
                said = _lines(capsys, words)
                listed = _lines(capsys, [*words, "--sources"])
                short, full = ([line for line in one if line.startswith("source: ")] for one in (said, listed))
                if not full:  # nothing goes with it: no row says so
                    assert said == listed and re.search(r"no (?:published torch|release)", " ".join(said)), said
                    continue
                assert len(short) == 1 and said[:-1] == listed[: -len(full)]
                first, _, more = short[0].partition(" (first of ")
                assert full[0].startswith(first) and len(first) < 200, short
                assert bool(more) == (len(full) > 1 or first != full[0])
                found = json.loads("\n".join(_lines(capsys, [*words, "--sources", "--format", "json"])))
                assert [f"source: {one['text']}" for one in found["sources"]] == full
                assert found["answer"] == json.loads("\n".join(_lines(capsys, [*words, "--format", "json"])))


def _lines(capsys: Capture, words: list[str]) -> list[str]:
    assert run(["matrix", "query", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_every_pair_is_answered_or_refused_in_one_line(capsys: Capture) -> None:
    m = Matrix.load()
    with Faults() as faults:
        for wanted in things(m):
            for kind in things(m):
                with faults.of(f"{wanted} for {kind}"):
                    _pair(capsys, m, wanted, kind)


@pytest.mark.parametrize(
    ("package", "kind", "value"),
    [
        ("bitsandbytes", "gpu", "6.1"), ("tensorrt", "driver", "580.65.06"), ("onnxruntime-gpu", "gpu", "6.1"),
        ("deepspeed", "torch", "2.8.0"), ("vllm", "cuda", "11.8"), ("torchvision", "torch", "2.4.1"), ("flash-attn", "gpu", "9.0"),
    ],
)  # fmt: skip
def test_a_release_that_may_work_too_is_not_left_out(capsys: Capture, package: str, kind: str, value: str) -> None:
    """Unknown is no 'no': the newest releases of TensorRT were missing beside the one whose driver is known."""
    m = Matrix.load()
    good = {row.version: goes_with(m, row, kind, value, "linux_x86_64") for row in package_rows(m, package)}
    works = [version for version, answer in good.items() if answer]
    unknown = [version for version, answer in good.items() if answer is None]
    said = _answer(capsys, ["matrix", "query", package, "for", kind, value], 0)
    assert works and works[0] in said and ("; unknown for " in said) == bool(unknown)
    assert f"; unknown for {', '.join(unknown[:3])}" in said or not unknown
