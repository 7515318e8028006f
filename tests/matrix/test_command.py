"""`gpudoctor matrix`: what a person types."""

from __future__ import annotations

import json
import shlex
from datetime import date, timedelta

import msgspec
import pytest

from compat_matrix import Matrix
from compat_matrix.tables import TABLES
from doctor.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("driver 535.129.03", ["branch 535 (lts): CUDA 12.2", "end of life: 2026-06"]),
        ("driver 535.129.03 cuda 12.8", ["minor-version:", "525.60.13", "SASS", "source: docs.nvidia.com"]),
        ("driver 535.129.03 cuda 13.0", ["needs-forward-compat:", "cuda-compat-13-0"]),
        ("driver 572.61 cuda 12.8 --os windows", ["native:"]),
        ("driver 565.57.01 gpu RTX 5090", ["too-old:", "570"]),
        ("gpu RTX 5090", ["NVIDIA GeForce RTX 5090: Blackwell, compute capability 12.0, 32 GiB, PCI 2B85"]),
        ("gpu 2330", ["NVIDIA H100 80GB HBM3"]),
        ("gpu 12.1", ["NVIDIA GB10"]),
        ("torch 2.11.0", ["from PyPI: Linux x86_64 cu130", "torchvision: 0.26.0", "cu126  linux_x86_64"]),
        ("build --gpu 7.0 --driver 580.82.07 --python 3.11", ["pip install torch==2.14.1", "whl/cu126", "native"]),
        ("build --gpu 'Tesla K40m' --driver 470.256.02", ["none: no published torch build"]),
        ("build --gpu 3.5", ["none: no published torch build"]),
        ("cudnn 9.10.2", ["wheel_cu12: 9.10.2.21"]),
        ("nccl 2.32.3", ["13.4"]),
        ("cuda 12.8", ["host_gcc_max_major: 14"]),
        ("error 804", ["cudaErrorCompatNotSupportedOnDevice"]),
        ("driver for cuda 12.8", ["570.26", "525.60.13", "580", "source: docs.nvidia.com"]),
        ("driver for gpu RTX 5090", ["branch 570 or newer", "required", "to install: branch 580"]),
        ("driver for RTX 5090", ["branch 570 or newer"]),
        ("driver for torch 2.11.0", ["cu130: driver 580.65.06", "cu126: driver 525.60.13"]),
        ("cuda for driver 535", ["CUDA 12.2", "12.9"]),
        ("cuda for gpu GTX 1080", ["12.9 is the last"]),
        ("cuda for torch 2.8.0", ["cu129, cu128, cu126", "from PyPI: cu128"]),
        ("torch for cuda 12.8", ["torch 2.11.0: cu128"]),
        ("torch for driver 535.129.03", ["torch 2.14.1: cu126"]),
        ("'torch for gpu \"GTX 1080\"'", ["torch 2.14.1: cu126"]),
        ("torch for python 3.8", ["2.4.1"]),
        ("python for torch 2.6.0", ["3.9, 3.10, 3.11, 3.12, 3.13"]),
        ("framework tensorflow 2.1", ["CUDA 10.1, cuDNN 7.6, Python 2.7, 3.5", "source: tensorflow.org"]),
        ("framework jax 0.9.0", ["jax-cuda12-plugin", "jax-cuda13-plugin 0.9.0: CUDA 13.0", "extra with-cuda"]),
        ("cudnn for torch 2.8.0", ["9.10.2.21"]),
        ("triton for torch 2.8.0", ["3.4.0"]),
        ("error NVML_ERROR_LIB_RM_VERSION_MISMATCH", ["code: 18"]),
    ],
)
def test_query(capsys: Capture, question: str, words: list[str]) -> None:
    arguments = shlex.split(question)
    assert run(["matrix", "query", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and all(word in printed.out for word in words), printed.out
    assert run(["matrix", "query", *arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("query driver", "a value is missing"),
        ("query driver 999.1", "newer than this matrix"),
        ("query driver 1.2", "not listed"),
        ("query driver 535.1 with 12.8", "VERSION [cuda VERSION"),
        ("query driver 535.1 gpu nothing", "not listed"),
        ("query gpu nothing", "not listed"),
        ("query torch 9.9", "newer than this matrix"),
        ("query torch x", "not listed"),
        ("query build", "--gpu"),
        ("query build 7.0", "accepts only options, not '7.0'"),
        ("query build --gpu nothing", "not listed"),
        ("query cudnn 1.0", "not listed"),
        ("query error 99999", "not listed"),
        ("query weather today", "weather"),
        ("query", "WORDS"),
        ("query framework tensorflow", "NAME VERSION"),
        ("query framework tensorflow 9.9", "not listed"),
        ("query framework keras 3.0", "listed: cupy-cuda11x"),
        ("query driver for gpu", "driver for gpu: name the GPU"),
        ("query cuda 12.7", "never published: only driver branch 565 reports it"),
        ("query vllm 0.26.5", "(nearest listed: 0.26.0 and 0.27.0"),
        ("query torchao 0.11.9", "(nearest listed: 0.12.0)"),
        ("query deepspeed 0.18.99", "(nearest listed: 0.18.9 and 0.19.0)"),
        ("query triton 3.4.7", "(nearest listed: 3.4.0 and 3.5.0)"),
        ("query tensorflow 2.19.9", "(nearest listed: 2.19.1 and 2.20.0)"),  # its row says 2.19
        ("query onnxruntime-gpu 1.30.7", "(nearest listed: 1.30.0 and 1.31.0)"),
        ("query python for tensorflow 2.15.77", "(nearest listed: 2.15.1 and 2.16.1)"),
        ("query framework tensorflow 2.19.9", "not listed"),
        ("query framework onnxruntime-gpu 1.30.7", "not listed"),
        ("query vllm 99.0", "newer than this matrix"),
        ("query python for driver 535", "KIND is one of torch"),
        ("query driver for weather 3", "KIND is one of"),
        ("query weather for cuda 12.8", "'weather'"),
        ("query driver for cuda 99.1", "newer than this matrix"),
        ("query torch for driver 9.9", "not listed"),
        ("query torch for gpu nothing", "not listed"),
        ("query python for torch 99.1", "newer than this matrix"),
        ("sources nobody-said-so", "no source"),
        ("show drivers --matrix /nowhere", "No such file"),
        ("export /nowhere/at/all.json", "cannot write"),
        ("show weather", "no such table"),
        ("show driver", "did you mean drivers"),
        ("show drivers --where branch", "FIELD=VALUE"),
        ("show drivers --where colour=red", "FIELD=VALUE, where FIELD is one of branch, "),
        ("show --where branch=535", "name the TABLE"),
        ("show --format yaml", "yaml"),
    ],
)
def test_what_cannot_be_answered_is_one_line(capsys: Capture, arguments: str, words: str) -> None:
    assert run(["matrix", *arguments.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err and printed.err.count("\n") == 1


@pytest.mark.slow
def test_a_condition_takes_what_show_and_json_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Every value of every row: as its JSON writes it, and as `show` does."""
    gpus = [msgspec.structs.asdict(row) for row in Matrix.load().gpus[:12]]
    for row in gpus:
        for name, value in row.items():
            if value in (None, "", (), {}, False):
                continue
            shown = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            as_json = "true" if value is True else f"{value:g}" if isinstance(value, float) else shown
            for text in {shown, as_json} if not isinstance(value, dict) else ():
                assert run(["matrix", "show", "gpus", "--where", f"{name}={text}", "--json"]) == 0
                assert row["name"] in {one["name"] for one in json.loads(capsys.readouterr().out)}, (name, text)
    assert run(["matrix", "show", "gpus", "--where", "name=Voodoo 2"]) == 0
    assert capsys.readouterr() == ("", "gpudoctor: no row in gpus has name=Voodoo 2\n")


def test_show(capsys: Capture) -> None:
    assert run(["matrix", "show"]) == 0
    listing = capsys.readouterr().out
    assert all(table in listing for table in TABLES)
    assert run(["matrix", "show", "drivers", "--where", "branch=535", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["cuda"] == "12.2" and row["source"].startswith("Debian libcuda1")
    assert run(["matrix", "show", "torch_builds", "--where", "torch=2.11.0", "--where", "sass=11.0"]) == 0
    assert capsys.readouterr().out.startswith("torch=2.11.0  tag=cu130  platform=linux_aarch64")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_prints(capsys: Capture, table: str) -> None:
    assert run(["matrix", "show", table]) == 0
    assert "confidence=" in capsys.readouterr().out


@pytest.mark.slow
def test_lint(capsys: Capture) -> None:
    assert run(["matrix", "lint"]) == 0
    assert capsys.readouterr().out == f"matrix {Matrix.load().version}: no problems\n"


def test_sources(capsys: Capture) -> None:
    assert run(["matrix", "sources"]) == 0
    listed = capsys.readouterr().out
    key = listed.split(":")[0]
    assert listed.count("\n") > 100
    assert run(["matrix", "sources", key, "--format", "json"]) == 0
    assert all(row["table"] in TABLES for row in json.loads(capsys.readouterr().out))
    assert run(["matrix", "sources", "endoflife"]) == 0
    assert "drivers: branch=" in capsys.readouterr().out


def test_age_names_the_tables_for_which_a_release_is_overdue(capsys: Capture) -> None:
    m = Matrix.load()
    row = max(m.publishers, key=lambda one: one.every_days)
    read = min(date.fromisoformat(row.read_date), date.fromisoformat(m.version.replace(".", "-")))
    for days, is_old in ((row.every_days, False), (row.every_days + 1, True)):
        on = (read + timedelta(days=days)).isoformat()
        assert run(["matrix", "age", "--on", on, "--format", "json"]) == 0
        tables = json.loads(capsys.readouterr().out)["tables"]
        assert len(tables) == len(m.publishers)
        (one,) = [t for t in tables if (t["table"], t["package"]) == (row.table, row.package)]
        assert (one["days"], one["old"]) == (days, is_old)
        assert run(["matrix", "age", "--on", on]) == 0
        old = capsys.readouterr().out.partition("Older than")[2].partition("Compared within")[0]
        assert (f"{row.table} {row.package}".strip() in old) is is_old


def test_age_counts_from_no_day_that_is_none(capsys: Capture) -> None:
    assert run(["matrix", "age", "--on", "yesterday"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
