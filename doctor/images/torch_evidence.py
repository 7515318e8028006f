"""Which torch is inside, from variables, labels, the build history, the image's tag and the SPDX attestation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from compat_matrix import Matrix
from compat_matrix.versions import tag_cuda, torch_version

from .installs import TorchInstall
from .source import Image

_TORCH_VARIABLES = ("PYTORCH_VERSION", "TORCH_VERSION", "PYTORCH_BUILD_VERSION")
_TORCH_LABELS = ("com.nvidia.pytorch.version",)
_SERVERS = {"vllm-openai": "vllm", "sglang": "sglang"}
"""Last part of an image's name to the package whose release the tag names (vllm/vllm-openai:v0.10.2)."""
_MAX_TEXT = 300


class TorchEvidence(Struct, frozen=True):
    """What is known about the torch inside. Empty: unknown."""

    version: str = ""
    build: str = ""
    cuda: str = ""
    tag: str = ""
    """cu128, if it is a published build with that tag."""
    source: str = ""
    """As text: `PYTORCH_VERSION`, `the build history: pip install ...`, `the SPDX attestation`."""


def stated_torch(env: Mapping[str, str], labels: Mapping[str, str]) -> tuple[str, str]:
    """(version, the variable or label that states it); empty if none does."""
    for names, values in ((_TORCH_VARIABLES, env), (_TORCH_LABELS, labels)):
        for name in names:
            if torch_version(values.get(name, "")):
                return values[name], name
    return "", ""


def torch_of(
    env: Mapping[str, str], stated: str, where: str, installs: Sequence[TorchInstall], image: Image, m: Matrix
) -> TorchEvidence:
    """The last install in the history takes precedence over a variable, which may be the base image's."""
    if installs:
        last = installs[-1]
        source = f"the build history: {last.text[:_MAX_TEXT]}"
        if last.pinned_by and (found := _pin(m, *last.pinned_by)):
            source = f"{last.pinned_by[0]} {last.pinned_by[1]} pins this torch ({source})"
            return _built(found, last.tag, last.build, source, image, m, last.from_pypi)
        version = last.version or (stated.partition("+")[0] if stated and len(installs) == 1 else "")
        return _built(version, last.tag, last.build, source, image, m, last.from_pypi and bool(last.version))
    release = env.get("NVIDIA_PYTORCH_VERSION", "")
    if not stated and release and env.get("CUDA_VERSION"):  # NVIDIA's own, of a release whose torch is not listed
        cuda = ".".join(env["CUDA_VERSION"].split(".")[:2])
        return TorchEvidence("", "cuda", cuda, "", f"NVIDIA's PyTorch container {release}")
    if not stated:
        return _of_server(env, image, m)
    parts = torch_version(stated)
    if env.get("NVIDIA_PYTORCH_VERSION") and env.get("CUDA_VERSION"):  # built in the image, against its own CUDA
        cuda = ".".join(env["CUDA_VERSION"].split(".")[:2])
        return TorchEvidence(stated, "cuda", cuda, "", f"{where}, CUDA from CUDA_VERSION")
    tag = (parts.tag if parts else "") or _tag_in_name(image.name)
    build = "" if not tag else "cuda" if tag.startswith("cu") else "cpu"
    of_name = tag and not (parts and parts.tag)
    return _built(stated, tag or "", build, where + (", CUDA from the image's tag" if of_name else ""), image, m, False)


def _pin(m: Matrix, package: str, version: str) -> str:
    """The torch that this release of vLLM or SGLang pins; empty if the matrix does not list the release."""
    row = next((row for row in m.extensions if (row.package, row.version) == (package, version)), None)
    found = re.fullmatch(r"==\s*([0-9.]+)", row.torch) if row else None
    return found[1] if found else ""


def _of_server(env: Mapping[str, str], image: Image, m: Matrix) -> TorchEvidence:
    """A vLLM or SGLang image whose tag is a release: the torch that it pins, for the image's own CUDA."""
    name, _, tag = image.name.rpartition(":")
    package = _SERVERS.get(name.rpartition("/")[2])
    version = re.match(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?=$|-)", tag)
    torch = _pin(m, package, version[1]) if package and version else ""
    cuda = _tag_in_name(image.name) or "cu" + "".join(env.get("CUDA_VERSION", "").split(".")[:2])
    if not torch or not version or m.torch_build(torch, cuda, _platform(image)) is None:
        return TorchEvidence()
    return _built(
        torch, cuda, "cuda", f"{package} {version[1]} pins this torch (from the image's tag and CUDA)", image, m, False
    )


def _platform(image: Image) -> str:
    return "linux_aarch64" if image.config.get("architecture") == "arm64" else "linux_x86_64"


def _built(version: str, tag: str, build: str, source: str, image: Image, m: Matrix, pypi: bool) -> TorchEvidence:
    base, _, local = version.partition("+")
    if pypi and (found := m.pypi_tag(base, _platform(image))):
        tag = found
        build = "cuda" if tag.startswith("cu") else "cpu"
        source += f" (from PyPI: {tag})"
    tag = tag or local
    cuda = (tag_cuda(tag) if tag else "") or ""
    whole = f"{base}+{tag}" if base and tag and not local else version
    return TorchEvidence(whole, build or ("cuda" if cuda else ""), cuda, tag if cuda else "", source)


def _tag_in_name(name: str) -> str:
    """`cu128` of a tag such as 2.8.0-cuda12.8-cudnn9-runtime."""
    tag = name.rpartition(":")[2]
    found = re.search(r"(?:^|[-_.])(?:cuda|cu)[-_]?(\d{2})\.?(\d)(?:\.\d+)?(?=$|[-_.])", tag)
    return f"cu{found[1]}{found[2]}" if found else "cpu" if re.search(r"(?:^|[-_])cpu(?:$|[-_])", tag) else ""


def torch_of_spdx(spdx: Mapping[str, Any], m: Matrix, image: Image) -> TorchEvidence | None:
    """From the packages in an SPDX statement; None if it names no torch."""
    predicate = spdx.get("predicate")
    packages = predicate.get("packages") if isinstance(predicate, dict) else None
    for one in packages if isinstance(packages, list) else ():
        if isinstance(one, dict) and one.get("name") == "torch" and isinstance(one.get("versionInfo"), str):
            version = one["versionInfo"]
            parts = torch_version(version)
            if parts:
                tag = parts.tag or ""
                kind = "cuda" if tag else "cpu" if parts.local.startswith("cpu") else ""
                source = "the SPDX attestation from its build"
                return _built(version, tag, kind, source, image, m, not parts.local)
    return None
