"""What an image's config (and its SPDX attestation) says about CUDA, torch and Python, and where it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from compat_matrix import Matrix

from .chosen import chosen_in
from .history import Expanded, made_by
from .installs import torch_installs
from .source import Image, ImageError, Source
from .torch_evidence import TorchEvidence, stated_torch, torch_of, torch_of_spdx

_MADE_BY = (
    ("NVIDIA PyTorch", "NVIDIA_PYTORCH_VERSION"), ("TensorRT", "TENSORRT_VERSION"), ("TensorRT", "TRT_VERSION"),
    ("Triton Inference Server", "NVIDIA_TRITON_SERVER_VERSION"),
    ("Triton Inference Server", "TRITON_SERVER_VERSION"), ("vLLM", "VLLM_VERSION"), ("cuDNN", "CUDNN_VERSION"),
    ("cuDNN", "NV_CUDNN_VERSION"), ("NCCL", "NCCL_VERSION"), ("NVIDIA TensorFlow", "NVIDIA_TENSORFLOW_VERSION"),
)  # fmt: skip
_LABELS = (
    ("PyTorch", "com.nvidia.pytorch.version"), ("TensorRT", "com.nvidia.tensorrt.version"),
    ("cuDNN", "com.nvidia.cudnn.version"), ("NCCL", "com.nvidia.nccl.version"),
    ("built from", "org.opencontainers.image.base.name"), ("title", "org.opencontainers.image.title"),
    ("version", "org.opencontainers.image.version"), ("source", "org.opencontainers.image.source"),
)  # fmt: skip
_MAX_TEXT = 300
_MAX_BASES = 8


class Evidence(Struct, frozen=True, kw_only=True):
    """Everything read from the image without its layers."""

    env: dict[str, str]
    torch: TorchEvidence
    stated_torch: str = ""
    """From a variable or label, and where."""
    stated_torch_source: str = ""
    python: str = ""
    arch_list: tuple[str, ...] = ()
    """TORCH_CUDA_ARCH_LIST, if the image's own torch was built with it (NVIDIA's PyTorch)."""
    compat: tuple[str, str, str] | None = None
    """A cuda-compat inside: path of its libcuda, its driver version ("": unknown), its CUDA version."""
    os_id: str = ""
    os_version: str = ""
    musl: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    """Who made it and what is in it: (name, value)."""


def evidence_of(source: Source, image: Image, m: Matrix) -> Evidence:
    """From the config; if that does not name torch and its build, from the attestation too."""
    found = evidence(image, m)
    if found.torch.version and found.torch.build:
        return found
    statements = source.statements(image)
    return evidence(image, m, statements) if statements else found


def evidence(image: Image, m: Matrix, spdx: Mapping[str, Any] | None = None, *, to_be_built: bool = False) -> Evidence:
    """From the config, and from the SPDX document if one was read.

    to_be_built: if the history leaves torch open, use the one that its installer would choose today.
    """
    inner = image.config.get("config") or {}
    env = environment(inner.get("Env"))
    given = inner.get("Labels")
    labels = {k: v for k, v in given.items() if isinstance(v, str)} if isinstance(given, dict) else {}
    try:
        lines = list(made_by(image.config))
    except Expanded as error:
        raise ImageError(f"{image.name}: {error}") from None
    runs = [made.text for made in lines if made.instruction == "RUN"]
    python = _python(env, [made.text for made in lines])
    stated, where = stated_torch(env, labels)
    if to_be_built:
        platform = "linux_aarch64" if image.config.get("architecture") == "arm64" else "linux_x86_64"
        minor = ".".join(python.split(".")[:2])
        shells = [(run, env) for run in runs]
        installs = [one for each in chosen_in(m, shells, platform, minor, stated.partition("+")[0]) for one in each]
    else:
        installs = [one for run in runs for one in torch_installs(run, env)]
    torch = torch_of(env, stated, where, installs, image, m)
    if spdx and not (torch.version and torch.build):
        torch = torch_of_spdx(spdx, m, image) or torch
    own = bool(env.get("PYTORCH_BUILD_VERSION") and env.get("NVIDIA_PYTORCH_VERSION"))
    return Evidence(
        env=env,
        torch=torch,
        stated_torch=stated,
        stated_torch_source=where,
        python=python,
        arch_list=tuple(env.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()) if own else (),
        compat=_compat(env, [made.text for made in lines if made.instruction == "RUN"]),
        os_id=labels.get("org.opencontainers.image.ref.name", "") if _is_os(labels) else "",
        os_version=labels.get("org.opencontainers.image.version", "") if _is_os(labels) else "",
        musl=any("alpine-minirootfs" in made.text for made in lines),
        labels=(*_about(env, labels), *_built_from(spdx or {})),
    )


def environment(env: object) -> dict[str, str]:
    """`["A=1", ...]` as a mapping; anything that is not a variable is left out."""
    rows = [row.partition("=") for row in env if isinstance(row, str)] if isinstance(env, list) else []
    return {name: value for name, equals, value in rows if name and equals}


def _compat(env: Mapping[str, str], lines: Sequence[str]) -> tuple[str, str, str] | None:
    """NVIDIA's own images name its folder and driver; nvidia/cuda images name its package, in a variable or command."""
    if env.get("_CUDA_COMPAT_PATH") and env.get("CUDA_VERSION"):
        cuda = ".".join(env["CUDA_VERSION"].split(".")[:2])
        return f"{env['_CUDA_COMPAT_PATH']}/lib/libcuda.so.1", env.get("CUDA_DRIVER_VERSION", ""), cuda
    for text in (env.get("NV_CUDA_COMPAT_PACKAGE", ""), *reversed(lines)):
        if found := re.search(r"\bcuda-compat-(\d{2})-(\d)\b", text):
            cuda = f"{found[1]}.{found[2]}"
            return f"/usr/local/cuda-{cuda}/compat/libcuda.so.1", "", cuda
    return None


def _python(env: Mapping[str, str], lines: Sequence[str]) -> str:
    for text in (env.get("PYTHON_VERSION", ""), env.get("PYVER", "")):
        if re.fullmatch(r"3\.\d{1,2}(\.\d{1,3})?", text):
            return text
    for line in reversed(lines):
        found = re.search(
            r"\b(?:PYTHON_VERSION=|PYVER=|conda (?:install|create)[^&;]{0,200}? python=+)(3\.\d{1,2})\b", line
        )
        if found:
            return found[1]
    return ""


def _is_os(labels: Mapping[str, str]) -> bool:
    """Ubuntu's base image has its name and version in these labels; others put their own product there."""
    return labels.get("org.opencontainers.image.ref.name") in ("ubuntu", "debian", "rockylinux")


def _about(env: Mapping[str, str], labels: Mapping[str, str]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for names, values in ((_MADE_BY, env), (_LABELS, labels)):
        for name, key in names:
            if values.get(key):
                found.setdefault(name, values[key][:_MAX_TEXT])
    return list(found.items())


def _built_from(statement: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The images it was built from, according to BuildKit's provenance (SLSA 0.2 and 1)."""
    predicate = statement.get("predicate")
    about = predicate if isinstance(predicate, dict) else {}
    build = about.get("buildDefinition")
    given = about.get("materials") or (build.get("resolvedDependencies") if isinstance(build, dict) else None)
    uris = [one.get("uri") for one in (given if isinstance(given, list) else ()) if isinstance(one, dict)]
    found = [uri for uri in uris if isinstance(uri, str) and uri.startswith("pkg:docker/")]
    return [("built from", uri.removeprefix("pkg:docker/")[:_MAX_TEXT]) for uri in found[:_MAX_BASES]]
