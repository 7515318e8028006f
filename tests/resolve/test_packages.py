"""Packages by name: those that `resolve` judges, those that the matrix only lists, and distributions per CUDA major."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from compat_matrix.packages import _SAME, package_names
from compat_matrix.wishes import KNOWN
from doctor.cli import run

from ..judging import matrix
from ..rows import Faults, for_each

M = matrix()
ONLY_LISTED = sorted(name for name in package_names(M) if name not in KNOWN)


@for_each("version", ["", "==0.16.5"])
def test_a_package_that_is_listed_and_not_judged(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {"deepspeed", "triton", "torchao", "flashinfer-python", "transformer-engine"} <= set(ONLY_LISTED)
    with Faults() as faults:
        for name in ONLY_LISTED:
            with faults.of(name):
                assert run(["resolve", f"{name}{version}", "--gpu", "H100", "--driver", "580"]) == 3
                said = capsys.readouterr().err
                assert f"{name} is listed in this matrix, but resolve does not judge it: run gpudoctor matrix" in said
                command = shlex.split(re.findall(r"run gpudoctor (.+)", said)[0])
                assert command[2:] == [name, *version.split("==")[1:]]
                assert run(command[:3]) == 0, capsys.readouterr().err
                capsys.readouterr()


@for_each("name", sorted(_SAME))
def test_a_name_that_matrix_query_knows_is_in_this_matrix(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["matrix", "query", name]) == 0
    run(["resolve", name, "--gpu", "H100", "--driver", "580"])
    assert "is not in this matrix" not in "".join(capsys.readouterr())


@for_each(
    ("text", "requirement"),
    [
        ("cupy-cuda12x", "cupy-cuda12x=="),
        ("cupy-cuda13x==14.2.0", "cupy-cuda13x==14.2.0"),
        ("jax-cuda12-plugin==0.11.1", "'jax[cuda12]==0.11.1'"),
        ("jax-cuda13-plugin", "'jax[cuda13]=="),
        ("jax[cuda12]<0.11", "'jax[cuda12]==0.10.2'"),
        ("tensorflow[and-cuda]==2.20.0", "'tensorflow[and-cuda]==2.20.0'"),
        ("onnxruntime-gpu[cuda,cudnn]", "'onnxruntime-gpu[cuda,cudnn]=="),
    ],
)
def test_a_distribution_is_that_one(text: str, requirement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["resolve", text, "--gpu", "H100", "--driver", "580"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert requirement in first, first


@for_each(
    ("text", "code", "words"),
    [
        ("cupy-cuda10x", 3, "'cupy-cuda10x' is not in this matrix"),
        ("jax[cuda14]", 3, "'jax-cuda14-plugin' is not in this matrix"),
        ("jax-cuda13-plugin==9.9", 3, "This matrix does not list jax-cuda13-plugin 9.9; its newest is "),
        ("jax-cuda13-plugin==0.4.38", 3, "This matrix does not list jax-cuda13-plugin 0.4.38; its oldest is "),
        ("vllm[x]", 2, "'vllm[x]' is not a package name or requirement"),
        ("numpyro", 3, "'numpyro' is not in this matrix"),
    ],
)
def test_what_is_not_listed(text: str, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["resolve", text, "--gpu", "H100", "--driver", "580"]) == code
    assert words in " ".join("".join(capsys.readouterr()).split())


@for_each(
    ("text", "python"),
    [
        ("xformers<0.0.20", "3.10"),
        ("onnxruntime-gpu==1.11.1", "3.9"),
        ("xformers==0.0.16", "3.10"),
        ("vllm==0.2.7", "3.11"),
    ],
)
def test_one_python_has_wheels_of_all(text: str, python: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The Dockerfile's Python is one of them, and with it the answer stays."""
    words = ["resolve", text, "--gpu", "A100", "--driver", "580"]
    assert run(words) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert f"FROM python:{python}-slim" in "\n".join(rest)
    assert re.search(rf"\(has wheels for Python (3\.\d+ to )?{re.escape(python)}\)", "\n".join(rest))
    assert run([*words, "--python", python]) == 0
    assert capsys.readouterr().out.splitlines()[0] == first
    assert run([*words, "--python", "3.14"]) == 3 and "Nothing fits" in capsys.readouterr().out


@for_each(
    ("packages", "words"),
    [
        (["tensorflow==2.19.1"], "tensorflow==2.19.1 does not need torch. Without torch: write"),
        (
            ["onnxruntime-gpu==1.17.*", "torch==2.15"],
            "onnxruntime-gpu==1.17 does not need torch. Without torch: write",
        ),
        (["flash-attn==2.3.0", "torch==2.15"], ""),
    ],
)
def test_a_framework_that_no_torch_goes_with_may_go_alone(
    packages: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = ["--gpu", "H100", "--driver", "580"]
    assert run(["resolve", *packages, *machine]) == 3
    out = capsys.readouterr().out
    assert words in out and ("does not need torch" in out) == bool(words), out
    (tmp_path / "r.txt").write_text(packages[0] + "\n")
    assert not words or run(["resolve", "-r", tmp_path / "r.txt", *machine]) == 0
