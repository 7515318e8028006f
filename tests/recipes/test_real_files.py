"""Files as public repositories have them, each for a class: what is said of them on one host, and what is not."""

from __future__ import annotations

from pathlib import Path

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


def test_a_compiler_that_is_too_old_for_the_gpu_is_said_instead(tmp_path: Path) -> None:
    text = _EXTENSION.replace("12.8.1-cudnn", "12.4.1-cudnn").replace("cu128", "cu124").replace("2.10.0", "2.6.0")
    _, out = said(tmp_path, text, "--driver", "580", "--gpu", "RTX 5090")
    assert "Begin with a devel image whose CUDA can compile for sm_120, and add 12.0." in out
