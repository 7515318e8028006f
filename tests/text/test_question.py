"""Short questions are answered in the first lines."""

from __future__ import annotations

import json

import pytest

from doctor.cli import run

from ..rows import Faults

Capture = pytest.CaptureFixture[str]
ANSWERED = {
    "driver 535, torch 2.8.0+cu129": (
        "Yes, through minor-version compatibility",
        "PTX newer than CUDA 12.2 does not work",
    ),
    "driver 580, torch 2.8.0+cu129": ("Yes: driver 580", "without limitations"),
    "GTX 1080 and torch 2.11?": ("No: a plain install of torch 2.11.0 (cu130)", "6.1", "torch==2.11.0+cu126"),
    "RTX 4090 and torch 2.11?": ("Yes: a plain install of torch 2.11.0 (cu130) has code for RTX 4090",),
    "which CUDA for driver 470": ("Driver 470 supports CUDA 11.4", "11.5 to 11.8", "torch==2.7.1+cu118"),
    "can I use CUDA 12.8 with driver 535?": ("Yes, through minor-version", "built with CUDA 12.8"),
    "CUDA 13.0 on driver 535?": ("Not by itself", "cuda-compat"),
    "CUDA 12.4 on driver 470?": ("Not by itself",),
    "what torch for RTX 3090 and driver 470": ("torch 2.7.1 for CUDA 11.8",),
    "which torch for a 5090 on driver 570": ("torch 2.13.0 for CUDA 12.9",),
    "which torch for two 5090s on driver 570?": ("torch 2.13.0 for CUDA 12.9",),
    "what torch works with 2x5090 and driver 570": ("torch 2.13.0 for CUDA 12.9",),
    "best pytorch for 8 H100s, driver 535": ("torch 2.14.1 for CUDA 12.6",),
    "does a 5060 ti work with torch 2.6?": ("No: a plain install of torch 2.6.0", "12.0"),
    "which torch for a gtx1080 and driver 570": ("torch 2.14.1 for CUDA 12.6",),
    "which torch for a foo card on driver 570": ("CUDA 12.6. It has code for compute capability 5.0 to 9.0",),
    "does RTX 5090 work with torch 2.6?": ("No: a plain install of torch 2.6.0",),
    "RTX 5090 on driver 550 torch 2.8": ("does not support this GPU", "branch 570 or newer"),
    "my training uses 5 % of the GPU": ("gpudoctor watch -- python train.py", "gpudoctor prove"),
    "my GPU is slow": ("gpudoctor watch -- python train.py", "gpudoctor prove"),
}
OTHERWISE = {
    "torch 2.11 on a jetson orin with driver 540?": ("jetson-generic-wheel", "Install torch"),
    "does vllm 0.10 work on V100s with driver 535?": ("gpudoctor check", "Install torch"),
    "which flash-attn for a 4090 and driver 550": ("gpudoctor resolve flash-attn --gpu 'RTX 4090'", "Install torch"),
}
"""What the matrix's torch does not answer: what is said, and what is not."""
NOT_ASKED = (
    "RuntimeError: CUDA error: no kernel image is available, torch 2.6, RTX 5090",
    "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver. driver 535",
    "driver 535\n" * 9 + "torch 2.8.0+cu129",
    "RTX 3090, driver 550\nSegmentation fault (core dumped)",
    "RTX 3090, driver 550",
)


def test_the_answer_stands_first(capsys: Capture) -> None:
    with Faults() as faults:
        for question, words in ANSWERED.items():
            with faults.of(question):
                run(["explain", question])
                text = " ".join(capsys.readouterr().out.split())
                assert all(word in text for word in words), text
                assert "not enough to decide" not in text and "No environment problem found" not in text
                run(["explain", question, "--format", "json"])
                answers = json.loads(capsys.readouterr().out)["text"]["answers"]
                assert words[0] in " ".join(f"{one['text']} {one['command']}" for one in answers)
                run(["explain", question, "--format", "markdown"])
                shown = capsys.readouterr().out.partition("<details>")[0].splitlines()
                assert any(words[0].split()[0] in line for line in shown[:6]), shown[:6]
                assert "FAIL" in shown[0] or len(shown) <= 25, len(shown)


def test_a_torch_answers_no_question_about_something_else(capsys: Capture) -> None:
    with Faults() as faults:
        for question, (words, never) in OTHERWISE.items():
            with faults.of(question):
                run(["explain", question])
                text = " ".join(capsys.readouterr().out.split())
                assert words in text and never not in text, text


def test_an_error_is_no_question(capsys: Capture) -> None:
    with Faults() as faults:
        for text in NOT_ASKED:
            with faults.of(text[:40]):
                run(["explain", text, "--format", "json"])
                assert json.loads(capsys.readouterr().out)["text"]["answers"] == []
