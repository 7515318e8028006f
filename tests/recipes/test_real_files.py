"""Files as public repositories have them, each for a class: what is said of them on one host, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..cli.command import gpudoctor
from ..rows import for_each

PIP = "https://download.pytorch.org/whl"
_EXTENSION = f"""\
FROM nvidia/cuda:12.8.1-cudnn-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip git
RUN pip install torch==2.10.0+cu128 --index-url {PIP}/cu128
ENV TORCH_CUDA_ARCH_LIST="8.0;8.6" FORCE_CUDA=1
RUN pip install --no-build-isolation git+https://github.com/facebookresearch/pytorch3d.git
"""


def said(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    """(exit code, what is printed, in one line)."""
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    done = gpudoctor("dockerfile", str(file), *options)
    assert not done.stderr, done.stderr
    return done.returncode, " ".join(done.stdout.decode().split())


@for_each(
    ("text", "gpu", "words"),
    [
        (_EXTENSION, "RTX 5090", "pytorch3d is compiled for sm_80, sm_86, without PTX (TORCH_CUDA_ARCH_LIST)"),
        (_EXTENSION, "H100", "the GPU needs sm_90"),
        (_EXTENSION, "RTX 4090", ""),  # 8.6 runs there
        (_EXTENSION.replace("8.6", "8.6+PTX"), "RTX 5090", ""),
        (_EXTENSION.replace("TORCH_CUDA_ARCH_LIST", "OTHER"), "RTX 5090", ""),
        (
            _EXTENSION.replace("facebookresearch/pytorch3d.git", "NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch")
            .replace("TORCH_CUDA_ARCH_LIST", "TCNN_CUDA_ARCHITECTURES").replace("8.0;8.6", "80;86"),
            "H100", "tiny-cuda-nn is compiled for sm_80, sm_86, without PTX (TCNN_CUDA_ARCHITECTURES)",
        ),
        (
            _EXTENSION.replace("ENV ", "ENV A=1 ").replace("8.0;8.6", "7.0 7.5").replace("facebookresearch/pytorch3d.git", "graphdeco-inria/diff-gaussian-rasterization"),
            "A100", "diff-gaussian-rasterization is compiled for sm_70, sm_75",
        ),
    ],
)  # fmt: skip
def test_an_arch_list_that_omits_the_host_s_gpu(tmp_path: Path, text: str, gpu: str, words: str) -> None:
    code, out = said(tmp_path, text, "--driver", "580", "--gpu", gpu)
    assert (code, words in out, "is compiled for" in out) == (int(bool(words)), True, bool(words)), out


def test_each_variable_that_is_missing_is_named_once(tmp_path: Path) -> None:
    text = "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN pip install torch==2.8.0\n"
    for repository in (
        "NVlabs/nvdiffrast/",
        "graphdeco-inria/diff-gaussian-rasterization",
        "NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch",
    ):
        text += f"RUN pip install git+https://github.com/{repository}\n"
    code, out = said(tmp_path, text, "--fail-on", "warn")
    assert code == 1 and out.count("[arch-list-not-set]") == 2
    assert "nvdiffrast stops unless TORCH_CUDA_ARCH_LIST is set" in out
    assert "tiny-cuda-nn stops (Unknown compute capability) unless TCNN_CUDA_ARCHITECTURES is set" in out


def test_a_compiler_that_is_too_old_for_the_gpu_is_said_instead(tmp_path: Path) -> None:
    text = _EXTENSION.replace("12.8.1-cudnn", "12.4.1-cudnn").replace("cu128", "cu124").replace("2.10.0", "2.6.0")
    _, out = said(tmp_path, text, "--driver", "580", "--gpu", "RTX 5090")
    assert "Start from a devel image with a CUDA version that can compile for sm_120, and add 12.0 to " in out


_D04 = f"""\
FROM nvidia/cuda:11.1.1-cudnn8-devel-ubuntu18.04
RUN pip install torch==1.10 torchvision==0.11.1 -f {PIP}/cu111/torch_stable.html
"""
_D09 = f"""\
FROM nvidia/cuda:11.8.0-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch torchaudio --extra-index-url {PIP}/cu118
"""
_KEPT = "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime"
_RUNTIME = "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n"


@pytest.mark.slow
@for_each(
    ("text", "driver", "gpu", "code", "words"),
    [
        (_D04, "535", "RTX 3090", 0, ""),
        (_D04.replace("cu111/", ""), "535", "RTX 3090", 1, "cu102"),  # of PyPI, as far as the line tells
        (_D09, "525", "RTX 3090", 1, "pip chooses torch 2.14.1+cu130 from PyPI because it is the highest version on its indexes (as of 2"),
        (_D09.replace("--extra-index-url", "--index-url"), "525", "RTX 3090", 0, ""),
        (_D09.replace("pip3 install", "uv pip install --system"), "525", "RTX 3090", 0, ""),
        (_D09.replace("pip3 install", "uv pip install --index-strategy unsafe-best-match"), "525", "RTX 3090", 1, "pip chooses"),
        (_D09.replace("install torch", "install 'torch<2.6'"), "525", "RTX 3090", 0, ""),
        (_D09.replace("install torch", "install torch==2.5.1"), "525", "RTX 3090", 0, ""),
        (_D09.replace("ubuntu22.04", "ubuntu20.04"), "525", "RTX 3090", 0, ""),  # Python 3.8 has torch 2.4.1 at most
        (f"{_RUNTIME}RUN pip3 install torch\n", "535", "A100", 1, "pip chooses torch 2.14.1+cu130"),
        (f"{_RUNTIME}RUN pip install torch -i https://pypi.tuna.tsinghua.edu.cn/simple\n", "535", "A100", 1, "pip chooses"),
        # the Python that the file names
        (_D09.replace("python3-pip", "python3.8 python3-pip"), "525", "RTX 3090", 0, ""),
        (_D09.replace("RUN apt", "ENV UV_PYTHON=3.9\nRUN apt", 1), "525", "RTX 3090", 0, "pip chooses torch 2.8.0+cu128"),
        # a torch that is there is kept, unless it is upgraded or taken out
        (f"FROM {_KEPT}\nRUN pip install torch numpy\n", "535", "RTX 3090", 0, ""),
        (f"FROM {_KEPT}\nRUN pip install 'torch>=2.7' numpy\n", "535", "RTX 3090", 1, "pip chooses torch"),
        (f"FROM {_KEPT}\nRUN pip install -U torch numpy\n", "535", "RTX 3090", 1, "pip chooses torch"),
        (f"FROM {_KEPT}\nRUN pip uninstall -y torch && pip install torch\n", "535", "RTX 3090", 1, "pip chooses torch"),
        ("FROM python:3.12\nRUN pip install torch==2.6.0\nRUN pip install torch accelerate\n", "535", "RTX 3090", 0, ""),
        ("FROM nvcr.io/nvidia/pytorch:25.03-py3\nRUN pip install torch\n", "535", "A100", 0, ""),
        (f"{_RUNTIME}RUN pip install torch -i https://index.example.org/whl\n", "535", "A100", 3, ""),
        ("FROM continuumio/miniconda3\nRUN conda install -y pytorch=1.12.1 cudatoolkit=11.3 -c pytorch\n", "535", "RTX 3090", 0, ""),
        ("FROM continuumio/miniconda3\nRUN conda install -y pytorch=2.3.1 pytorch-cuda=12.1 -c pytorch -c nvidia\n", "575", "RTX 5090", 1, "2.3.1"),
        ("FROM continuumio/miniconda3\nRUN conda install -y pytorch==1.11.0 cudatoolkit=10.2 -c pytorch\n", "535", "RTX 3090", 1, "1.11.0"),
    ],
)  # fmt: skip
def test_an_open_torch_is_what_its_installer_would_choose_today(
    tmp_path: Path, text: str, driver: str, gpu: str, code: int, words: str
) -> None:
    found, out = said(tmp_path, text, "--driver", driver, "--gpu", gpu)
    assert (found, words in out) == (code, True), out


_GPU = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}"
_IMAGE = "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime"


@for_each(
    ("with_gpu", "without", "code"),
    [
        (f"image: {_IMAGE}, {_GPU}", f"image: {_IMAGE}", 0),
        (f"image: {_IMAGE}, runtime: nvidia", f"image: docker.io/{_IMAGE}, command: ui", 0),
        (f"build: ., {_GPU}", "build: {context: ./}", 0),
        ("build: {context: ., dockerfile: Dockerfile}, image: me/app, gpus: all", "build: .", 0),
        (f"image: {_IMAGE}, {_GPU}", "image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", 1),
        (f"build: ., {_GPU}", "build: {context: ., target: second}", 1),
        ("image: postgres", "build: .", 1),
    ],
)
def test_a_service_without_a_gpu_is_meant_where_another_of_its_image_has_one(
    tmp_path: Path, with_gpu: str, without: str, code: int
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {_IMAGE}\nFROM {_IMAGE} AS second\n")
    file = tmp_path / "compose.yml"
    file.write_text(f"services:\n  one: {{{with_gpu}}}\n  two: {{{without}}}\n")
    done = gpudoctor("dockerfile", str(file))
    assert done.returncode == code, done.stdout + done.stderr


@for_each(
    "text",
    [
        "FROM nvcr.io/nvidia/pytorch:25.03-py3\nRUN pip uninstall -y torch torchvision flash_attn\nRUN pip install torch==2.8.0 torchvision==0.23.0\n",
        f"FROM {_KEPT}\nRUN conda remove -y pytorch && pip install torch==2.7.1\n",
        f"FROM {_KEPT}\nRUN uv pip uninstall torch\nRUN uv pip install torch==2.7.1\n",
    ],
)
def test_a_torch_that_was_taken_out_on_purpose_is_not_replaced(tmp_path: Path, text: str) -> None:
    for options in ((), ("--driver", "550", "--gpu", "A100")):
        assert said(tmp_path, text, "--fail-on", "warn", *options)[0] == 0


@for_each("name", ["docker-bake.hcl", "docker-bake.override.json", "images.hcl"])
def test_a_bake_file_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text('target "a" { dockerfile = "Dockerfile" }')
    done = gpudoctor("dockerfile", str(file))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1 and b"a bake file; check the Dockerfiles it names" in done.stderr


@for_each(
    ("text", "code", "words"),
    [
        ("FROM nvcr.io/nvidia/pytorch:23.08-py3\n", 3, "which torch is installed"),  # its torch is not listed
        ("FROM nvcr.io/nvidia/pytorch:22.02-py3\nRUN pip install -r requirements.txt\n", 3, "which torch is installed"),
        ("ARG BASE=nvcr.io/nvidia/pytorch:22.12-py3\nFROM ${BASE}\n", 3, "which torch is installed"),
        ("FROM nvcr.io/nvidia/pytorch:23.08-py3\nRUN pip uninstall -y torch\n", 0, "nothing found"),
        ("FROM nvcr.io/nvidia/pytorch:23.08-py3\nRUN pip install torch==2.8.0\n", 0, "torch-replaced-later"),
        ("FROM nvcr.io/nvidia/tritonserver:23.08-py3\n", 0, "nothing found"),  # has no torch of its own
    ],
)
def test_a_container_of_nvidia_s_whose_torch_is_not_listed(tmp_path: Path, text: str, code: int, words: str) -> None:
    found, out = said(tmp_path, text, "--driver", "575", "--gpu", "RTX 5090")
    assert (found, words in out) == (code, True), out


_TORCH = f"FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN pip install torch==2.8.0 --index-url {PIP}/cu128\n"


@for_each(
    ("text", "code", "words"),
    [
        (
            "FROM ubuntu:18.04\nRUN conda install -y -c pytorch cudatoolkit=9.2 pytorch=1.5.0=py3.8_cuda9.2.148_cudnn7\n",
            3, "It may not run on",
        ),
        (
            "FROM ubuntu:20.04\nRUN conda install -y -c pytorch cudatoolkit=11.3.1 pytorch=1.10.0=py3.9_cuda11.3_0\n",
            1, "PyTorch 1.10.0+cu113 does not support",
        ),
        ("FROM ubuntu:22.04\nRUN conda install -y -c conda-forge pytorch-cpu=2.5.1\n", 1, "CPU-only build"),
        ("FROM ubuntu:22.04\nRUN pip install torch==1.5.0+cu90\n", 1, "cu90 is not a PyTorch index"),
        # asks for the libraries of NVML alone
        ("FROM gcr.io/distroless/cc\nENV NVIDIA_DRIVER_CAPABILITIES=utility NVIDIA_VISIBLE_DEVICES=all\n", 3, "uses CUDA"),
        ("FROM scratch\nENV NVIDIA_DISABLE_REQUIRE=true NVIDIA_DRIVER_CAPABILITIES=utility\n", 3, "nothing failed"),
        ("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_DRIVER_CAPABILITIES=utility\n", 1, "not libcuda"),
        (_TORCH + "ENV NVIDIA_DRIVER_CAPABILITIES=utility\n", 1, "not libcuda"),
        ("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nENV NVIDIA_DISABLE_REQUIRE=1\n", 0, "requirement-not-checked"),
        # what is compiled is the repository that was cloned
        (_TORCH + "RUN git clone https://github.com/NVIDIA/apex.git && cd apex && python setup.py install --cuda_ext\n", 0, "nothing found"),
        (_TORCH + "RUN git clone https://github.com/NVIDIA/apex && pip install --no-build-isolation ./\n", 0, "nothing found"),
        (
            _TORCH + "RUN git clone -b v2 https://github.com/NVlabs/tiny-cuda-nn && cd tiny-cuda-nn/bindings/torch && pip install .\n",
            0, "the build of tiny-cuda-nn stops",
        ),
        (
            _TORCH + "ENV FORCE_CUDA=1\nRUN git clone https://github.com/facebookresearch/pytorch3d && cd pytorch3d "
            "&& TORCH_CUDA_ARCH_LIST='8.0;8.6' pip install --no-build-isolation -e .\n",
            1, "pytorch3d is compiled for sm_80, sm_86, without PTX",
        ),
        (
            _TORCH + "RUN git clone https://github.com/deepseek-ai/DeepEP.git /e && cd /e && TORCH_CUDA_ARCH_LIST='9.0a+PTX;10.0' pip install .\n",
            1, "deep-ep is compiled for sm_90a, sm_100 and PTX for 9.0a",
        ),
        (_TORCH + "RUN git clone https://github.com/x/plain-python && cd plain-python && pip install .\n", 0, "nothing found"),
    ],
)  # fmt: skip
def test_conda_s_builds_bare_images_and_cloned_repositories(tmp_path: Path, text: str, code: int, words: str) -> None:
    found, out = said(tmp_path, text, "--driver", "575", "--gpu", "RTX 5090")
    assert (found, words in out) == (code, True), out
