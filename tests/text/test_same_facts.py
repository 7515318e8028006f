"""The same facts typed by hand, pasted as collect_env, and read from a report: one finding; and its fix is sound."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.judge.saved import parse_report

from ..cli.command import gpudoctor
from ..rows import for_each
from ..soundness.sound import assert_fixes_are_sound

ENVIRONMENT = """\
Collecting environment information...
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: {available}
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: {gpu}
Nvidia driver version: {driver}
"""
STORIES = {
    "torch-lacks-new-gpu-sm": dict(gpu="NVIDIA GeForce RTX 5080", driver="576.40", torch="2.5.1+cu121", cuda="12.1", available="True"),
    "driver-too-old-for-cuda-build": dict(gpu="NVIDIA GeForce RTX 3090", driver="470.182.03", torch="2.1.0+cu121", cuda="12.1", available="False"),
    "cpu-only-torch": dict(gpu="NVIDIA GeForce RTX 4090", driver="560.35.03", torch="2.4.0+cpu", cuda="Could not collect", available="False"),
    "torch-dropped-old-gpu-sm": dict(gpu="NVIDIA GeForce GTX 1080", driver="580.95.05", torch="2.11.0+cu130", cuda="13.0", available="True"),
}  # fmt: skip


def first(run_output: bytes) -> str:
    return str(json.loads(run_output)["findings"][0]["id"])


@for_each("cause", STORIES, quick=len(STORIES))
def test_one_cause_in_three_forms(cause: str, tmp_path: Path) -> None:
    story = STORIES[cause]
    sentence = "I have a {gpu}, driver {driver}, torch {torch} and python 3.11 on Linux".format(**story)
    pasted = gpudoctor("explain", "-", "--format", "json", data=ENVIRONMENT.format(**story).encode())
    typed = gpudoctor("explain", sentence, "--format", "json")
    (tmp_path / "report.json").write_bytes(pasted.stdout)
    saved = gpudoctor("explain", tmp_path / "report.json", "--format", "json")
    assert [first(run.stdout) for run in (typed, pasted, saved)] == [cause] * 3
    assert {run.returncode for run in (typed, pasted, saved)} == {1}


def test_a_fix_forgets_the_messages_of_its_cause() -> None:
    text = ENVIRONMENT.format(**STORIES["driver-too-old-for-cuda-build"]) + (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver\n"
    )
    run = gpudoctor("explain", "-", "--format", "json", data=text.encode())
    saved = parse_report(run.stdout, "the report")
    assert saved.snapshot.symptoms and first(run.stdout) == "driver-too-old-for-cuda-build"
    assert_fixes_are_sound(saved.snapshot, saved.policy)
