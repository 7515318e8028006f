"""What a base image's name says: its CUDA, whether it has torch and the compiler, and its libc."""

from __future__ import annotations

import re

from msgspec import Struct


class Base(Struct, frozen=True, kw_only=True):
    """cuda: major.minor, '' for none or unknown; torch: version; nvcc: None if the name does not say."""

    name: str
    cuda: str = ""
    torch: str = ""
    nvcc: bool | None = None
    gpu: bool = False
    """The image sets the variables that make the container toolkit mount the driver."""
    musl: bool = False
    python: str = ""
    ngc: bool = False
    """NVIDIA's own torch, with its TORCH_CUDA_ARCH_LIST."""
    bare: bool = False
    """Only a system or Python."""
    cuda_tag: str = ""
    """The nvidia/cuda tag that it is or is built on; it has that image's driver condition."""
    ngc_release: str = ""
    """Month of NVIDIA's framework containers ('25.03')."""


_NGC_FRAMEWORKS = {
    f"nvcr.io/nvidia/{name}"
    for name in ("pytorch", "tensorflow", "tritonserver", "tensorrt", "mxnet", "paddlepaddle", "jax", "dgl", "pyg",
                 "cuda-dl-base", "modulus/modulus", "physicsnemo/physicsnemo")
}  # fmt: skip
"""Released monthly, all with the same CUDA in a month."""


def base_of(name: str) -> Base:
    """From its path and tag alone; nothing is pulled."""
    if "$" in name:
        return Base(name=name)
    path, _, tag = name.partition("@")[0].removeprefix("docker.io/").removeprefix("library/").rpartition(":")
    if not path or "/" in tag:
        path, tag = name.partition("@")[0], "latest"
    path = path.removeprefix("docker.io/").removeprefix("library/")
    version = next(iter(re.findall(r"^(\d{1,2}\.\d)(?:\.\d+)?(?=-|$)", tag)), "")
    if re.fullmatch(r"(?:nvcr\.io/|public\.ecr\.aws/)?nvidia/(?:cuda|cudagl)(?:-(?:x86_64|arm64|sbsa))?", path):
        nvcc = True if "devel" in tag else False if re.search(r"base|runtime", tag) else None
        return Base(name=name, cuda=version, nvcc=nvcc, gpu=True, cuda_tag=tag if version else "")
    if re.fullmatch(r"pytorch/(?:pytorch|manylinux\S*)", path):
        cuda = re.search(r"cuda(\d{2}\.\d)", tag)
        release = re.match(r"(\d+\.\d+\.\d+)", tag)
        return Base(
            name=name, cuda=cuda[1] if cuda else "", torch=release[1] if release and cuda else "", gpu=bool(cuda),
            nvcc="devel" in tag if cuda else None, cuda_tag=cuda[1] if cuda and "devel" in tag else "",
        )  # fmt: skip
    if path.startswith("nvcr.io/nvidia/") and not re.search(r"/(?:distroless|k8s|cloud-native|gpu-operator)\b", path):
        own = path.endswith("/pytorch")
        month = re.match(r"(\d\d\.\d\d)(?=-|$)", tag) if path in _NGC_FRAMEWORKS else None
        return Base(name=name, gpu=True, ngc=own, nvcc=True if own else None, ngc_release=month[1] if month else "")
    if re.search(r"(?:^|/)(?:vllm-openai|text-generation-inference|tritonserver|sglang|tensorrt|rapidsai)\b", path):
        return Base(name=name, gpu=True)
    python = re.match(r"(3\.\d{1,2})", tag) if re.fullmatch(r"(?:.*/)?python", path) else None
    musl = path == "alpine" or path.endswith("/alpine") or "alpine" in tag
    bare = re.fullmatch(
        r"(?:scratch|gcr\.io/distroless/.*|ubuntu|debian|python|fedora|rockylinux|centos|alpine|continuumio/\w+|condaforge/\w+)",
        path,
    )
    return Base(name=name, musl=musl, python=python[1] if python else "", nvcc=False if bare else None, bare=bool(bare))
