"""`matrix query build`: it offers cuda-compat to the GPUs that `resolve` offers it to, and says what it left out."""

from __future__ import annotations

import json
import shlex
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
    compat = [build["grade"] == "needs-forward-compat" for build in found["builds"]]
    assert any(compat) is offered and compat == sorted(compat) and compat.count(False) == 8, compat
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
    number, _, command = printed[-2].partition(" more builds fit: ")
    assert int(number) > 8 and command == "gpudoctor resolve --gpu 8.0 --driver 580 --explain-all"


@for_each(
    "words",
    [
        "--gpu 'RTX 4090' --gpu 8.0 --driver 535",
        "--gpu H100 --driver 550.54.15 --python 3.11 --torch '>=2.4,<2.9'",
        "--gpu 'RTX 3060' --driver 560.94 --os wsl",
        "--gpu GH200 --driver 570 --arch aarch64 --torch 2.8",
    ],
)
@for_each("also", [[], ["--forward-compat"]])
def test_the_command_for_the_rest_lists_as_many(
    words: str, also: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """For the same machine: without one it would be about this one. By resolve, cards in data centers get cuda-compat."""
    assert run(["matrix", "query", "build", *shlex.split(words), *also, "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    run(["matrix", "query", "build", *shlex.split(words), *also])
    line = next((one for one in capsys.readouterr().out.splitlines() if " more builds fit: " in one), "")
    assert bool(line) == bool(first["more"])
    if line:
        assert run([*shlex.split(line.partition(": gpudoctor ")[2]), "--format", "json"]) == 0
        every = json.loads(capsys.readouterr().out)["candidates"]
        fits = [one for one in every if one["grade"] != "forward-compat" or also]
        assert len(fits) == len(first["builds"]) + first["more"]


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
