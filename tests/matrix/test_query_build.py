"""`matrix query build`: it offers cuda-compat to the GPUs that `resolve` offers it to, and says what it left out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from doctor.cli import run

from ..rows import for_each


@for_each(
    ("gpu", "offered"),
    [("H100", True), ("Tesla T4", True), ("9.0", True), ("RTX 4090", False), ("RTX 5090", False), ("TITAN RTX", False)],
)
def test_cuda_compat_is_for_the_same_gpus_as_by_resolve(
    gpu: str, offered: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["matrix", "query", "build", "--gpu", gpu, "--driver", "535", "--forward-compat"]
    assert run([*words, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    found = data.get("result", data)
    assert found["no_forward_compat"] == ([] if offered else [gpu])
    grades = {build["grade"] for build in found["builds"]}
    assert offered or "needs-forward-compat" not in grades
    run(words)
    printed = capsys.readouterr().out
    assert ("cuda-compat does not support" in printed) is not offered
    if gpu != "9.0":  # a capability alone stands for boards of both kinds: the flag decides
        assert run(["resolve", "--gpu", gpu, "--driver", "535", "--explain-all", "--format", "json"]) in (0, 3)
        best = json.loads(capsys.readouterr().out)
        assert any(one["grade"] == "forward-compat" for one in best["candidates"]) is offered


def test_what_is_beyond_the_list_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["matrix", "query", "build", "--gpu", "8.0", "--driver", "580"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].endswith("more builds fit: gpudoctor resolve --explain-all")
    assert int(printed[-2].split()[0]) > 8


@for_each(
    ("question", "rest"),
    [
        (("vllm", "0.33.0,", "flash-attn", "2.8.3"), "flash-attn 2.8.3"),
        (("vllm", "0.33.0", "nonsense"), "nonsense"),
        (("torch", "2.8", "cuda", "12.8"), "cuda 12.8"),
        (("cudnn", "9.10.2", "torch"), "torch"),
    ],
)
def test_what_would_not_be_answered_is_refused(question: tuple[str, ...], rest: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "matrix", "query", *question], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (
        2,
        "",
    ) and f": unexpected {rest!r}; ask one question at a time" in done.stderr


@for_each(
    ("words", "reason"),
    [
        ("--gpu 9.0 --driver 580.82.07 --python 3.6", "has a wheel for Python 3.6 and supports 9.0"),
        ("--gpu 12.0 --python 3.8", "has a wheel for Python 3.8 and supports 12.0"),
        ("--gpu 9.0 --driver 390.1 --python 3.6", "runs on driver 390.1 and supports 9.0"),
        ("--gpu 3.0 --python 3.12", "holds machine code for 3.0"),
    ],
)
def test_the_reason_is_what_the_best_builds_lack(words: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["matrix", "query", "build", *words.split()]) == 0
    assert capsys.readouterr().out == f"none: no published torch build for linux_x86_64 {reason}\n"


@for_each("version", ["abc", "3", "2.7", "3.x", "py3.12"])
def test_a_python_is_read_as_resolve_reads_it(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["matrix", "query", "build", "--gpu", "9.0"], ["resolve", "--gpu", "H100", "--driver", "580"]):
        assert run([*words, "--python", version]) == 2
        assert f"--python '{version}' is not a Python 3 version, such as 3.12" in capsys.readouterr().err


@for_each("option", ["--gpu=H100", "--driver=535", "--python=3.11", "--torch=2.8", "--forward-compat"])
def test_an_option_for_build_is_refused_in_any_other_question(capsys: pytest.CaptureFixture[str], option: str) -> None:
    for question in (("driver", "535.129.03"), ("torch", "2.8"), ("vllm", "0.33.0"), ("driver", "for", "cuda", "12.8")):
        assert run(("matrix", "query", *question, option)) == 2
        assert f"{option.partition('=')[0]} is for matrix query build" in capsys.readouterr().err
