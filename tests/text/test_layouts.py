"""One story in the layouts that people and tools write it in: always the same first finding, or none that is proven."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.cases import ask_here
from doctor.snapshot import Missing
from doctor.text import read

from ..rows import for_each

Facts = dict[str, Any]

STORIES: dict[str, tuple[Facts, list[str]]] = {
    "torch-lacks-new-gpu-sm": (
        {"gpu": "NVIDIA GeForce RTX 5080", "driver": "576.40", "torch": "2.5.1+cu121", "python": "3.11.9"},
        ["RuntimeError: CUDA error: no kernel image is available for execution on the device"],
    ),
    "driver-too-old-for-cuda-build": (
        {"os": "Ubuntu 20.04", "gpu": "Tesla T4", "driver": "450.80.02", "torch": "2.4.0+cu121", "cuda_available": False},
        ["UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11000)."],
    ),
    "cpu-only-torch": (
        {"os": "Windows 11", "gpu": "NVIDIA GeForce RTX 4070", "torch": "2.6.0+cpu", "cuda_available": False},
        ["AssertionError: Torch not compiled with CUDA enabled"],
    ),
    "framework-build-without-gpu": ({"os": "Windows 11", "framework": "tensorflow", "tensorflow": "2.17.0"}, []),
    "cuda-visible-devices-wrong": (
        {"torch": "2.6.0+cu124", "CUDA_VISIBLE_DEVICES": "5", "driver": "560.35.03"},
        ["RuntimeError: No CUDA GPUs are available"],
    ),
    "shm-too-small": (
        {"container": "docker", "shm_size_mb": 64, "torch": "2.3.0+cu121"},
        ["RuntimeError: DataLoader worker (pid 91) is killed by signal: Bus error. It is possible that",
         "dataloader's workers are out of shared memory. Please try to raise your shared memory limit."],
    ),
}  # fmt: skip
OTHER = {"gpu": "graphics_card", "driver": "nvidiaDriverVersion", "torch": "installed pytorch", "os": "Operating-System",
         "cuda_available": "torch.cuda.is_available()", "framework": "ml framework", "python": "python_version",
         "container": "running in container", "shm_size_mb": "/dev/shm size (MB)"}  # fmt: skip


def pairs(facts: Facts) -> list[tuple[str, Any]]:
    return list(facts.items())


def joined(facts: Facts, error: list[str], form: str, between: str = ", ") -> str:
    return "\n".join([between.join(form.format(key, value) for key, value in pairs(facts)), *error])


def other(facts: Facts) -> Facts:
    return {OTHER.get(key, key): value for key, value in facts.items()}


def rows(form: str) -> Callable[[Facts, list[str]], str]:
    return lambda facts, error: "\n".join([*(form.format(key, value) for key, value in pairs(facts)), "", *error])


def table(facts: Facts, error: list[str]) -> str:
    cells = [list(map(str, facts)), ["---"] * len(facts), [str(value) for value in facts.values()]]
    return "\n".join(["| " + " | ".join(row) + " |" for row in cells] + ["", *error])


def nested(facts: Facts) -> Facts:
    host = {key: value for key, value in facts.items() if key in ("os", "container", "shm_size_mb")}
    inner = {key: value for key, value in facts.items() if key not in host and key != "gpu"}
    boards = {"gpus": [{"model": facts["gpu"], "count": 1}]} if "gpu" in facts else {}
    return {"host": host, "software": inner, **boards}


def yaml(value: Any, indent: str = "") -> str:
    lines = []
    for key, inner in value.items():
        if isinstance(inner, dict):
            lines += [f"{indent}{key}:", yaml(inner, indent + "  ")]
        elif isinstance(inner, list):
            lines += [f"{indent}{key}:", *(f"{indent}  - " + yaml(item, indent + "    ").lstrip() for item in inner)]
        else:
            lines.append(f"{indent}{key}: {json.dumps(inner)}")
    return "\n".join(line for line in lines if line)


FORMS: dict[str, Callable[[Facts, list[str]], str]] = {
    "lines": rows("{}: {}"),
    "arrows": rows("{} -> {}"),
    "tabs": rows("{}\t{}"),
    "padded": rows("{:<30}: {}"),
    "toml": rows('{} = "{}"'),
    "bullets": rows("- **{}**: `{}`"),
    "numbers": rows("1. {}: {}"),
    "headings": rows("### {}\n\n{}\n"),
    "cells": lambda facts, error: "| Item | Value |\n| --- | --- |\n" + rows("| {} | {} |")(facts, error),
    "table": table,
    "html": rows("<tr><td>{}</td><td>{}</td></tr>"),
    "one line": lambda facts, error: joined(facts, error, "{}: {}"),
    "keys of others": lambda facts, error: rows("{}: {}")(other(facts), error),
    "one line, keys of others": lambda facts, error: joined(other(facts), error, "{}: {}", "; "),
    "inner pairs": lambda facts, error: "machine: " + joined(facts, error, "{}={}"),
    "json": lambda facts, error: json.dumps({"facts": facts, "error_text": error}),
    "nested json": lambda facts, error: json.dumps(nested(facts), indent=2) + "\n" + "\n".join(error),
    "python": lambda facts, error: repr(facts) + "\n" + "\n".join(error),
    "yaml": lambda facts, error: yaml(nested(facts)) + "\n\n" + "\n".join(error),
    "error first": lambda facts, error: "\n".join([*(f"> {line}" for line in error), "", rows("{}: {}")(facts, [])]),
    "json log": lambda facts, error: rows("{}: {}")(facts, [json.dumps({"log": f"{line}\n"}) for line in error]),
}


@pytest.mark.slow
@for_each("form", FORMS)
@for_each("cause", STORIES)
def test_one_story_in_every_layout(cause: str, form: str) -> None:
    facts, error = STORIES[cause]
    report = ask_here(FORMS[form](facts, error))
    assert report["findings"][0]["id"] == cause, FORMS[form](facts, error)


def test_nothing_is_read_out_of_a_list_of_packages_of_the_system() -> None:
    text = "ii  nvidia-driver-550   550.107.02-0ubuntu1   amd64   NVIDIA driver metapackage\n"
    assert read(f"{text}Nvidia driver version: 535.183.01\n").driver.nvml_driver_version == "535.183.01"


@for_each("words", ["other build", "latest", "from source"])
def test_words_are_no_version_of_a_package(words: str) -> None:
    assert isinstance(read(f"flash_attn=={words}\n").python.distributions, Missing)
