"""Base images that are known by name alone: whom NVIDIA's published lists let start, and who is not judged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from compat_matrix import Matrix
from compat_matrix.images import expression
from doctor.images.recipes.read import read_recipe

from ..cli.command import gpudoctor
from ..rows import for_each


def judged(tmp_path: Path, text: str, driver: str, gpu: str) -> tuple[int, str]:
    """(exit code, what is printed, in one line)."""
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    done = gpudoctor("dockerfile", str(file), "--driver", driver, "--gpu", gpu)
    assert not done.stderr, done.stderr
    return done.returncode, " ".join(done.stdout.decode().split())


@pytest.mark.slow
@for_each(
    ("base", "driver", "gpu", "code"),
    [
        ("nvidia/cuda:12.8.1-runtime-ubuntu22.04", "535", "A100", 0),
        ("nvidia/cuda:12.8.1-runtime-ubuntu22.04", "535", "RTX 3090", 1),  # no list from 12.5 on names GeForce
        ("nvidia/cuda:12.8.1-runtime-ubuntu22.04", "570", "RTX 3090", 0),
        ("nvidia/cuda:12.6.3-devel-ubuntu22.04", "550", "L40S", 0),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", "535", "RTX 3090", 0),  # but those up to 12.4 do
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", "545", "RTX 3090", 1),  # 545 is in none
        ("nvidia/cuda:13.0.1-base-ubuntu24.04", "570", "H100", 0),  # by its minor version
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", "470", "T4", 0),  # in both lists of the tag
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", "510", "T4", 3),  # in one of them
        ("nvidia/cuda:13.9.0-base-ubuntu24.04", "570", "H100", 3),  # newer than the matrix: never a failure
        ("nvidia/cuda:13.9.0-base-ubuntu24.04", "535", "RTX 3090", 3),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "535", "RTX 3090", 0),  # made of ubuntu: no condition
        ("pytorch/pytorch:2.6.0-cuda12.6-cudnn9-devel", "535", "RTX 3090", 1),  # made of nvidia/cuda
        ("pytorch/pytorch:2.6.0-cuda12.6-cudnn9-devel", "535", "A100", 0),
        ("nvcr.io/nvidia/pytorch:25.03-py3", "535", "RTX 3090", 0),
        ("nvcr.io/nvidia/pytorch:25.10-py3", "535", "A100", 0),  # by cuda-compat
        ("nvcr.io/nvidia/pytorch:25.10-py3", "535", "RTX 3090", 1),
        ("nvcr.io/nvidia/pytorch:25.10-py3", "580", "GTX 1080", 1),
        ("nvcr.io/nvidia/tritonserver:24.02-py3", "535", "T4", 0),
        ("nvcr.io/nvidia/tensorflow:23.10-tf2-py3", "470", "RTX 3090", 1),
        ("nvcr.io/nvidia/pytorch:35.01-py3", "535", "T4", 3),
    ],
)
def test_the_published_lists_say_which_drivers_start(
    tmp_path: Path, base: str, driver: str, gpu: str, code: int
) -> None:
    found, words = judged(tmp_path, f"FROM {base}\nRUN echo\n", driver, gpu)
    assert found == code, words
    assert ("It may not run on" in words) == (code == 3) and ("would not run" in words) == (code == 1)


def test_the_image_s_own_condition_beats_its_base_s(tmp_path: Path) -> None:
    text = "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.0\n"
    assert judged(tmp_path, text, "535", "RTX 3090")[0] == 0


def test_the_lists_are_put_together_as_they_were_published() -> None:
    m = Matrix.load()
    rows = [row for row in m.images if row.string_sha256_16]
    same = [row for row in rows if hashlib.sha256(expression(row).encode()).hexdigest()[:16] == row.string_sha256_16]
    odd = {(row.tag, row.arch) for row in rows} - {(row.tag, row.arch) for row in same}
    assert len(rows) > 150
    assert {tag for tag, _ in odd} <= {"12.3.0", "12.3.1", "12.3.2"}, "those of arm64 and ppc64le end in a blank"


@pytest.mark.parametrize("release", ["20.03", "23.10", "25.03", "26.07"])
def test_a_month_s_containers_have_one_cuda(release: str) -> None:
    row = Matrix.load().ngc_image(release)
    assert row and row.cuda == {"20.03": "10.2", "23.10": "12.2", "25.03": "12.8", "26.07": "13.3"}[release]


def test_what_torch_needs_is_told_against_the_oldest_driver_of_the_lists(tmp_path: Path) -> None:
    text = "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128\n"
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    words = " ".join(gpudoctor("dockerfile", str(file)).stdout.decode().split())
    assert "needs driver 525.60.13; nvidia/cuda:11.8.0-base-ubuntu22.04 starts with driver 450" in words


CUDA_OF = {
    "nvidia/cuda:12.4.1-base-ubuntu22.04": "12.4.1",
    "nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04": "11.8.0",
    "docker.io/nvidia/cuda:12.1.1-runtime-rockylinux9": "12.1.1",
    "nvidia/cuda:12.4-base-ubuntu22.04": "12.4",
    "nvcr.io/nvidia/cuda:11.0-base": "11.0",
    "nvcr.io/nvidia/pytorch:25.03-py3": "12.8",
    "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel": "12.8",
}


@for_each("image", CUDA_OF)
def test_the_cuda_of_a_base_is_what_its_tag_shows_and_no_more(image: str, tmp_path: Path) -> None:
    """The third number of a tag is kept, and none is made up: 12.4 may be 12.4.0 or 12.4.1."""
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM {image}\n")
    found = read_recipe(path, Matrix.load(), {})
    variables = [dict(one.split("=", 1) for one in image.config["config"]["Env"]) for image in found.images]
    assert {one.get("CUDA_VERSION") for one in variables} == {CUDA_OF[image]}
