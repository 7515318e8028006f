"""Images that model the real lines: their environment, labels and history, with a few files for layers."""

from __future__ import annotations

from collections.abc import Callable

from .layouts import PROVENANCE, SPDX, Descriptor, Layout, config, layer
from .lines import LINES

_GIVEN = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
_UBUNTU = {"org.opencontainers.image.ref.name": "ubuntu", "org.opencontainers.image.version": "22.04"}
_FILES = layer({"etc/os-release": b"ID=ubuntu\nVERSION_ID=22.04\n"})


def cuda(layout: Layout, tag: str, architecture: str = "amd64", history: tuple[str, ...] = ()) -> Descriptor:
    """nvidia/cuda:TAG-base-ubuntu22.04 with its requirement and its cuda-compat, and what was built upon it."""
    short = LINES[tag].cuda.replace(".", "-")
    env = {
        "NVARCH": {"amd64": "x86_64", "arm64": "sbsa"}[architecture],
        "NVIDIA_REQUIRE_CUDA": LINES[tag].requirement,
        "CUDA_VERSION": tag,
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        **_GIVEN,
    }
    lines = (
        "/bin/sh -c #(nop)  ARG RELEASE",
        f"ENV CUDA_VERSION={tag}",
        (
            f"RUN /bin/sh -c apt-get install -y --no-install-recommends cuda-cudart-{short}=${{NV_CUDA_CUDART_VERSION}} "
            f"cuda-compat-{short} && rm -rf /var/lib/apt/lists/* # buildkit"
        ),
        *history,
    )
    labels = {**_UBUNTU, "maintainer": "NVIDIA CORPORATION <cudatools@nvidia.com>"}
    return layout.image(config(env=env, labels=labels, history=lines, architecture=architecture), [_FILES])


def pytorch(layout: Layout, version: str, cuda_version: str) -> Descriptor:
    """pytorch/pytorch:VERSION-cudaX.Y-cudnn9-runtime: the install ran in another stage, so only the variable tells."""
    env = {"PYTORCH_VERSION": version, "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64", **_GIVEN}
    tag = f"cu{cuda_version.replace('.', '')}"
    history = (
        f"ARG CUDA_VERSION={cuda_version}",
        "LABEL com.nvidia.volumes.needed=nvidia_driver",
        (
            f"RUN |3 PYTHON_VERSION=3.11 CUDA_PATH={tag} INSTALL_CHANNEL=whl /bin/sh -c case ${{TARGETPLATFORM}} in "
            '"linux/arm64") pip install --extra-index-url https://download.pytorch.org/whl/cpu/ torch torchvision ;; '
            "*) pip install --index-url https://download.pytorch.org/${INSTALL_CHANNEL}/${CUDA_PATH#.}/ torch torchvision ;; "
            "esac && /opt/conda/bin/conda clean -ya # buildkit"
        ),
        f"ENV PYTORCH_VERSION={version}",
    )
    labels = {**_UBUNTU, "com.nvidia.volumes.needed": "nvidia_driver"}
    return layout.image(config(env=env, labels=labels, history=history), [_FILES])


def ngc(layout: Layout) -> Descriptor:
    """nvcr.io/nvidia/pytorch:25.10-py3: a torch of its own, cuda-compat inside, a requirement that asks for nothing."""
    env = {
        "CUDA_VERSION": "13.0.2.006",
        "CUDA_DRIVER_VERSION": "580.95.05",
        "_CUDA_COMPAT_PATH": "/usr/local/cuda/compat",
        "NVIDIA_REQUIRE_CUDA": "cuda>=9.0",
        "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS": "",
        "LD_LIBRARY_PATH": "/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        "NVIDIA_PRODUCT_NAME": "PyTorch",
        "NVIDIA_PYTORCH_VERSION": "25.10",
        "PYTORCH_VERSION": "2.9.0a0+145a3a7",
        "PYTORCH_BUILD_VERSION": "2.9.0a0+145a3a7",
        "TORCH_CUDA_ARCH_LIST": "8.0 8.6 9.0 10.0 11.0 12.0+PTX",
        "CUDNN_VERSION": "9.14.0.64",
        **_GIVEN,
    }
    labels = {
        **_UBUNTU,
        "com.nvidia.cuda.version": "9.0",
        "com.nvidia.pytorch.version": "2.9.0a0+145a3a7",
        "com.nvidia.volumes.needed": "nvidia_driver",
    }
    about = config(env=env, labels=labels, history=("ARG PYVER=3.12",), Entrypoint=["/opt/nvidia/nvidia_entrypoint.sh"])
    return layout.image(about, [_FILES])


def attested(layout: Layout) -> Descriptor:
    """Built by BuildKit upon 12.8 from a requirements file: only its SPDX document names torch."""
    one = cuda(layout, "12.8.1", history=("RUN /bin/sh -c pip install -r requirements.txt # buildkit",))
    spdx = {"spdxVersion": "SPDX-2.3", "packages": [{"name": "torch", "versionInfo": "2.8.0+cu128"}]}
    provenance = {
        "buildType": "https://mobyproject.org/buildkit@v1",
        "materials": [{"uri": "pkg:docker/nvidia/cuda@12.8.1"}],
    }
    return layout.index([one, layout.attestation(one, {SPDX: spdx, PROVENANCE: provenance})])


def alpine(layout: Layout) -> Descriptor:
    """python:3.12-alpine: no CUDA, musl."""
    history = ("ADD alpine-minirootfs-3.20.3-x86_64.tar.gz / # buildkit", "ENV PYTHON_VERSION=3.12.7")
    return layout.image(config(env={"PYTHON_VERSION": "3.12.7"}, history=history), [_FILES])


def zstd(layout: Layout) -> Descriptor:
    """torch 2.9 for CUDA 13.0 upon a plain Python, layers by zstd."""
    line = "RUN /bin/sh -c pip install --no-cache-dir torch==2.9.1 --index-url https://download.pytorch.org/whl/cu130"
    about = config(env={"PYTHON_VERSION": "3.12.7", **_GIVEN}, history=(line,))
    return layout.image(about, [layer({"etc/os-release": b"ID=debian\n"}, "zstd")])


_CPU = "RUN /bin/sh -c pip3 install torch==2.8.0 --index-url https://download.pytorch.org/whl/cpu # buildkit"
_CU118 = (
    "RUN /bin/sh -c uv pip install --system torch==2.6.0+cu118 --extra-index-url https://download.pytorch.org/whl/cu118"
)
IMAGES: dict[str, Callable[[Layout], Descriptor]] = {
    "cuda:11.8.0": lambda layout: cuda(layout, "11.8.0"),
    "cuda:12.4.1": lambda layout: cuda(layout, "12.4.1"),
    "cuda:12.8.1": lambda layout: cuda(layout, "12.8.1"),
    "cuda:13.0.0": lambda layout: cuda(layout, "13.0.0"),
    "cuda:multi": lambda layout: layout.index([cuda(layout, "12.8.1"), cuda(layout, "12.8.1", "arm64")]),
    "pytorch:2.6.0": lambda layout: pytorch(layout, "2.6.0", "12.4"),
    "pytorch:2.8.0": lambda layout: pytorch(layout, "2.8.0", "12.8"),
    "ngc:25.10": ngc,
    "cpu-in-cuda:1": lambda layout: cuda(layout, "12.8.1", history=(_CPU,)),
    "cu118-in-12.8:1": lambda layout: cuda(layout, "12.8.1", history=(_CU118,)),
    "attested:1": attested,
    "alpine:3.12": alpine,
    "zstd:1": zstd,
}
"""Name to what adds it to a layout."""
