"""`resolve -r`: frameworks and ranges beside torch's line: judged as an installer reads them, and kept where they can
stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..rows import for_each
from .test_rest_of_file import answer, changed

WHL = "https://download.pytorch.org/whl"
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "575", "--python", "3.12"]
VOLTA = ["--gpu", "Tesla V100", "--driver", "535", "--python", "3.11"]
CU129 = f"--extra-index-url {WHL}/cu129\n"


@for_each(
    ("text", "machine", "after"),
    [
        # a framework without its CUDA extra names no torch: pip still chooses the newest torch
        ("onnxruntime-gpu==1.18.0\ntorch\n", BLACKWELL, f"{CU129}onnxruntime-gpu==1.18.0\ntorch<=2.13.0\n"),
        ("tensorflow==2.16.1\ntorch\n", BLACKWELL, f"{CU129}tensorflow==2.16.1\ntorch<=2.13.0\n"),
        # one that loads the libraries that torch brings goes on doing so
        (
            "torch==2.2.0\nonnxruntime-gpu==1.19.2\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch==2.7.1+cu128\nonnxruntime-gpu==1.19.2\n",
        ),
        # what uses no GPU of NVIDIA's has nothing to do with torch's CUDA
        ("jax[tpu]\ntorch==2.5.1\n", BLACKWELL, f"--extra-index-url {WHL}/cu128\njax[tpu]\ntorch==2.7.1+cu128\n"),
        ("jax[cpu]==0.4.30\ntorch\n", BLACKWELL, f"{CU129}jax[cpu]==0.4.30\ntorch<=2.13.0\n"),
        ("jax\ntorch\ntensorflow-cpu\n", BLACKWELL, f"{CU129}jax\ntorch<=2.13.0\ntensorflow-cpu\n"),
        # the build for another CUDA is named by its extra, and a range stays one
        ("torch\njax[cuda13]\n", BLACKWELL, f"{CU129}torch<=2.13.0\njax[cuda12]\n"),
        ("torch\njax[cuda13]>=0.7\n", BLACKWELL, f"{CU129}torch<=2.13.0\njax[cuda12]>=0.7\n"),
        # a range whose newest release goes with the written torch stays
        (
            "torch>=1.7,!=1.12.0\ntorchvision>=0.8.1,!=0.13.0\n", VOLTA,
            f"--extra-index-url {WHL}/cu126\ntorch!=1.12.0,>=1.7,<=2.14.1\ntorchvision>=0.8.1,!=0.13.0\n",
        ),
        (
            "torch>=2.2.0\nxformers>=0.0.22\n", BLACKWELL,
            f"--extra-index-url {WHL}/cu128\ntorch>=2.2.0,<=2.11.0\nxformers>=0.0.22\n",
        ),
        # an upper bound alone, because another line may need an older release
        (
            "transformers==4.40.0\ntorch>=2.3.0\nvllm>=0.4.2\n", VOLTA,
            "transformers==4.40.0\ntorch>=2.3.0,<=2.10.0\nvllm>=0.4.2,<=0.19.1\n",
        ),
        ("torch==2.0.1\nxformers>=0.0.21\n", [*BLACKWELL[:5], "3.10"],
         "torch==2.8.0\nxformers>=0.0.21,<=0.0.32.post2\n"),
        ("torch==2.0.1\nxformers==0.0.22\n", [*BLACKWELL[:5], "3.10"], "torch==2.8.0\nxformers==0.0.32.post2\n"),
        # the range is right, the index is missing
        ("torch<=2.12.1,>=2.0.0  # why\n", BLACKWELL, f"{CU129}torch<=2.12.1,>=2.0.0  # why\n"),
        (
            "torch\ntorchvision<0.20\n", VOLTA,  # one that allows no such release does not
            "torch\ntorchvision<0.20\n",
        ),
    ],
)  # fmt: skip
def test_lines_beside_torch(
    text: str, machine: list[str], after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    assert changed(file, machine, capsys) == after


@for_each(
    ("text", "machine", "after"),
    [  # pip takes the newest that has a wheel, so this is what must run
        ("onnxruntime-gpu\n", VOLTA, "onnxruntime-gpu<=1.26.0\n"),
        ("onnxruntime-gpu>=1.16\ntorch==2.5.1\n", VOLTA, "onnxruntime-gpu>=1.16,<=1.26.0\ntorch==2.5.1\n"),
        ("onnxruntime-gpu>=1.16,<1.26\n", VOLTA, "onnxruntime-gpu>=1.16,<1.26\n"),
        ("tensorflow\n", [*VOLTA[:2], "--driver", "450", "--python", "3.11"], "tensorflow<=2.14.1\n"),
        # CUDA 13 compiles nothing for Volta and Pascal, whatever the driver
        ("onnxruntime-gpu\n", [*VOLTA[:2], "--driver", "580", "--python", "3.11"], "onnxruntime-gpu<=1.26.0\n"),
        ("cupy-cuda13x\n", ["--gpu", "GTX 1080", *BLACKWELL[2:3], "580"], "cupy-cuda12x\n"),
        ("jax[cuda13]==0.12.0.1\n", VOLTA[:4], "jax[cuda12]==0.12.0.1\n"),
        ("jax[cuda13]\n", ["--gpu", "GTX 1080", *BLACKWELL[2:3], "580"], "jax[cuda12]\n"),
        # cuda-compat is not something a requirement file can ask for
        ("cupy-cuda13x\n", [*VOLTA[:2], "--driver", "450", "--python", "3.11"], "cupy-cuda11x\n"),
        ("jax\nflax\n", [*VOLTA[:2], "--driver", "450", "--python", "3.11"], "jax\nflax\n"),
    ],
)
def test_an_open_framework_is_the_newest_release(
    text: str, machine: list[str], after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    assert changed(file, machine, capsys) == after
    dead = answer(file, machine, capsys)["dead"]
    assert bool(dead) == (after != text) and "torch" not in str([one["reason"] for one in dead])


@for_each(
    ("name", "text", "lines"),
    [  # an entry has its extras in a key of its own
        ("Pipfile", '[packages]\ntorch = "==2.1.0"\njax = {extras = ["cuda13"], version = "*"}\n',
         ['jax = { version = "<=0.5.3", extras = ["cuda12"] }']),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.1.0"\njax = { version = ">=0.4", extras = ["cuda13"] }\n',
         ['jax = { version = ">=0.4,<=0.5.3", extras = ["cuda12"] }']),
        ("pixi.toml", '[workspace]\nname = "x"\n[pypi-dependencies]\ntorch = "*"\njax = { version = ">=0.4", extras = ["cuda13"] }\n',
         ['jax = { version = ">=0.4", extras = ["cuda12"] }']),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.0.1"\nonnxruntime-gpu = "1.18.0"\n',
         ['onnxruntime-gpu = { version = "==1.26.*", extras = ["cuda", "cudnn"] }']),
        # one that torch's libraries never served keeps its release, also where another line contradicts torch
        ("pyproject.toml", ('[project]\nname = "x"\ndependencies = ["torch>=2.0,<2.5", "tensorflow[and-cuda]==2.15.0"]\n'
         '[dependency-groups]\ndev = ["onnxruntime-gpu==1.17.0"]\n'), ['dev = ["onnxruntime-gpu==1.17.0"]']),
    ],
)  # fmt: skip
def test_a_framework_in_a_file_of_another_kind(
    name: str, text: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text(text)
    after = changed(file, BLACKWELL[:4], capsys).splitlines()
    assert [line for line in lines if line not in after] == [], after


CONDA = "https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.7.1-cuda129_mkl_py310_h0e1f9a7_300.conda"


@for_each(
    ("wheel", "dead"),
    [
        ("onnxruntime_gpu-1.31.1-cp310-cp310-manylinux_2_28_x86_64.whl", "onnxruntime-gpu==1.31.1"),
        ("bitsandbytes-0.42.0-py3-none-any.whl", "bitsandbytes==0.42.0"),
        ("torch-2.1.0-cp310-cp310-manylinux1_x86_64.whl", "torch==2.1.0"),
        ("onnxruntime_gpu-1.22.0-cp310-cp310-manylinux_2_28_x86_64.whl", ""),
    ],
)
def test_a_lock_of_conda_has_its_wheels_judged_too(
    wheel: str, dead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"https://index.example/packages/ab/cd/{wheel}"
    name, version = wheel.split("-")[:2]
    rows = (("pytorch", "2.7.1", "conda", CONDA), (name, version, "pip", url))
    packages = "".join(
        f"- name: {name}\n  version: {version}\n  manager: {manager}\n  platform: linux-64\n  url: {url}\n"
        for name, version, manager, url in rows
    )
    file = tmp_path / "conda-lock.yml"
    file.write_text(f"version: 1\npackage:\n{packages}")
    found = answer(file, BLACKWELL[:4], capsys)["dead"]
    assert [one["text"] for one in found] == ([dead] if dead else [])
