"""MCP tools that answer as a command does: their arguments, and the command's text and JSON, masked.

Each JSON Schema comes from the types. None of them runs the user's code, and none changes anything.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from doctor.commands.local_names import local_names
from doctor.snapshot.redact import redact

from ._face import flag, many
from ._values import Refused, Resolution

LONGEST = 4096
"""Maximum length of an argument that reaches a command line; a path is never longer on Linux."""
MOST = 64
"""Elements of a list."""
_BUILDS = 3
"""Builds of torch that `resolve` names."""

Word = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
Words = Annotated[tuple[Word, ...], Meta(max_length=MOST)]
_Gpus = Annotated[Words, Meta(description="'RTX 5090', 2xH100, a compute capability or a PCI ID")]
_Driver = Annotated[Word | None, Meta(description="Driver version or branch, such as 570")]
_Drivers = Annotated[Words, Meta(description="Hosts' driver versions or branches, such as 535.183")]
_Python = Annotated[Word | None, Meta(description="Python version, such as 3.12")]
_Os = Annotated[Word | None, Meta(description="linux, windows or wsl")]
_Arch = Annotated[Word | None, Meta(description="x86_64 or aarch64")]
_Saved = Annotated[Word | None, Meta(description="Path of a saved JSON report, instead of this machine")]
Specs = Annotated[
    Words, Meta(description="Paths to TOML files that specify versions, in the format that gpudoctor print spec writes")
]
_Count = Annotated[int, Meta(ge=1)] | None


class Resolve(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `resolve`. Without gpus and report: this machine."""

    packages: Annotated[Words, Meta(description="torch==2.8, vllm, flash-attn ... Default: torch")] = ()
    gpus: _Gpus = ()
    driver: _Driver = None
    python: _Python = None
    os: _Os = None
    arch: _Arch = None
    report: _Saved = None


class WhatIf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `what_if`. os or arch: a machine that gpus and driver describe, instead of this one."""

    driver: _Driver = None
    gpus: _Gpus = ()
    torch: Annotated[Word | None, Meta(description="A different torch build: 2.8, 2.8.0+cu126 or none")] = None
    python: _Python = None
    os: _Os = None
    arch: _Arch = None
    report: _Saved = None


class Fit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `fit`. Give model or params, and gpus or report."""

    model: Annotated[Word | None, Meta(description="The model's folder or config.json")] = None
    params: Annotated[Word | None, Meta(description="Number of parameters, such as 7B")] = None
    gpus: Annotated[Word | None, Meta(description="For example 8xA100-40GB or 'RTX 4090'")] = None
    task: Annotated[Word | None, Meta(description="training (default) or inference")] = None
    dtype: Annotated[Word | None, Meta(description="mixed, fp32, bf16, fp8, int8, nf4, awq, q4_k_m ...")] = None
    optimizer: Annotated[Word | None, Meta(description="adamw (default), adamw-8bit, sgd-momentum or sgd")] = None
    seq: Annotated[_Count, Meta(description="Tokens per sequence. Default: 2048")] = None
    batch: Annotated[_Count, Meta(description="Sequences per GPU, or concurrent requests. Default: 1")] = None
    lora: Annotated[_Count, Meta(description="Train LoRA adapters of this rank")] = None
    base: Annotated[Word | None, Meta(description="Type of the frozen weights; nf4 for QLoRA")] = None
    checkpointing: Annotated[bool, Meta(description="Activation checkpointing")] = False
    solve: Annotated[Word | None, Meta(description="batch, seq or concurrency: find the largest value that fits")] = (
        None
    )
    report: Annotated[Word | None, Meta(description="Path of a saved JSON report from the machine with the GPUs")] = (
        None
    )


class Image(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `image`. Without drivers and against: this machine."""

    reference: Annotated[
        Word, Meta(description="Image name as for docker pull, or the path of an OCI layout or archive")
    ]
    drivers: _Drivers = ()
    gpus: _Gpus = ()
    against: Annotated[
        Word | None, Meta(description="'this' for this machine, or the path of a host's saved JSON report")
    ] = None
    platform: Annotated[Word | None, Meta(description="For example linux/arm64. Default: the host's")] = None
    layers: Annotated[bool, Meta(description="Also read the layers to find torch (slow)")] = False
    spec: Specs = ()


class Dockerfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `dockerfile`. Give files or text."""

    files: Annotated[Words, Meta(description="Paths of Dockerfiles, compose files and manifests")] = ()
    text: Annotated[str, Meta(description="The content of one such file")] = ""
    target: Annotated[Word | None, Meta(description="The stage to build. Default: the last")] = None
    build_args: Annotated[Words, Meta(description="NAME=VALUE, as for docker build")] = ()
    drivers: _Drivers = ()
    gpus: _Gpus = ()
    spec: Specs = ()


_Side = "Path of a saved JSON report or a recording's folder, or a node in a fleet database (now.db:NODE)"


class Compare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `compare`."""

    old: Annotated[Word, Meta(description=f"{_Side}: the earlier state")]
    new: Annotated[Word | None, Meta(description=f"{_Side}: the current state. Default: this machine")] = None
    expect: Annotated[Word | None, Meta(description="Expected GPUs: gpu, any, none, 8, H100 or 8xH100")] = None
    require: Annotated[Words, Meta(description="Packages that must be installed and compatible")] = ()
    ignore: Annotated[Words, Meta(description="Facts to leave out of the lists, such as host.kernel")] = ()


class Answered(Struct, frozen=True, kw_only=True):
    """What the command prints as JSON."""

    exit_code: int
    """0 yes or nothing failed, 1 no or something failed, 3 unknown."""
    answer: Any


_NAMES = {"gpus": "--gpu", "drivers": "--driver", "build_args": "--build-arg", "report": "--from"}


def printed(command: list[str], words: list[str], text: str = "") -> tuple[str, Any, int]:
    """A command's text, its JSON and its exit code; `words` follow `--`, `text` is its stdin. Raises Refused."""
    shown = [
        subprocess.run(
            [sys.executable, "-m", "gpudoctor", *command, "--format", kind, "--", *words],
            input=text.encode("utf-8", "surrogateescape"),  # never ours, which is the protocol's
            capture_output=True,
            check=False,
        )
        for kind in ("json", "text")
    ]
    if not shown[0].stdout:
        line = shown[0].stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Refused(
            line.removeprefix("gpudoctor: ") or f"gpudoctor exited with code {shown[0].returncode} without an answer"
        )
    names = local_names()
    words_of_it = redact(shown[1].stdout.decode("utf-8", "replace"), names)
    return words_of_it, redact(msgspec.json.decode(shown[0].stdout), names), shown[0].returncode


def options(arguments: Struct, *apart: str, **names: str) -> list[str]:
    """The fields as options of the command, except those in `apart`. `names`: field to option."""
    words = []
    for name in arguments.__struct_fields__:
        value = getattr(arguments, name)
        option = {**_NAMES, **names}.get(name, f"--{name}")
        if name in apart or value in (None, False, ()):
            continue
        words += [option] if value is True else many(option, value) if isinstance(value, tuple) else flag(option, value)
    return words


def resolve(arguments: Resolve, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    text, data, _ = printed(["resolve", *options(arguments, "packages")], list(arguments.packages))
    found = msgspec.convert(data, Resolution)
    best = msgspec.structs.replace(found, candidates=found.candidates[:_BUILDS])
    return text, msgspec.to_builtins(best)


def fit(arguments: Fit, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    model = [arguments.model] if arguments.model else []
    return _whole(*printed(["fit", *options(arguments, "model", gpus="--gpus")], model))


def image(arguments: Image, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    return _whole(*printed(["image", *options(arguments, "reference")], [arguments.reference]))


def dockerfile(arguments: Dockerfile, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    if bool(arguments.files) == bool(arguments.text):
        raise Refused("give either files or text")
    files = list(arguments.files) or ["-"]
    return _whole(*printed(["dockerfile", *options(arguments, "files", "text")], files, arguments.text))


def compare(arguments: Compare, _allow_target: bool) -> tuple[str, dict[str, Any]]:
    sides = [side for side in (arguments.old, arguments.new) if side is not None]
    if "-" in sides:
        raise Refused("old and new must be paths, because standard input carries the protocol")
    return _whole(*printed(["compare", *options(arguments, "old", "new")], sides))


def _whole(text: str, data: Any, code: int) -> tuple[str, dict[str, Any]]:
    return text, {"exit_code": code, "answer": data}
