"""`resolve -r environment.yml` and pixi.toml: what pip installs beside conda's torch, or over it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from doctor.cli import run

from ..rows import for_each
from .projects import WHL

CONDA = "dependencies:\n- pytorch={}\n- pytorch-cuda={}\n- pip:\n"
PIXI = (
    '[workspace]\nname = "a"\n[dependencies]\npytorch = {{ version = "{}", build = "cuda{}*" }}\n[pypi-dependencies]\n'
)
NEW, OLD = ["--gpu", "RTX 5090", "--driver", "575"], ["--gpu", "A100", "--driver", "550"]


@for_each(
    ("torch", "pip", "machine", "dead", "written", "takes"),
    [
        # pip keeps conda's torch: its packages follow that one
        ("2.1.0 12.1", ["torchvision==0.16.0"], NEW, ["pytorch=2.1.0"], ["torchvision==0.22.1"], ""),
        ("2.1.0 12.1", ["torchvision==0.16.0"], OLD, [], [], "2.1.0+cu121"),
        ("2.5.1 12.4", ["torch>=2"], NEW, ["pytorch=2.5.1"], [], ""),
        ("2.1.0 12.1", ["bitsandbytes==0.41.0"], NEW, ["pytorch=2.1.0", "bitsandbytes==0.41.0"], ["bitsandbytes==0.50.2"], ""),
        ("2.5.1 12.4", ["tensorrt==8.6.1"], NEW, ["pytorch=2.5.1", "tensorrt==8.6.1"], ["tensorrt>=10.8.0"], ""),
        ("2.1.0 12.1", ["nvidia-cudnn-cu12==8.9.2.26", "triton==2.1.0"], NEW, ["pytorch=2.1.0"], ["", ""], ""),
        ("2.1.0 12.1", ["flash-attn==2.8.3"], ["--gpu", "T4", "--driver", "550"], ["flash-attn==2.8.3"], [], ""),
        # pip installs another one over it, which is what runs
        ("2.5.1 12.4", ["torch==2.9.1"], NEW, [], [], "2.9.1+cu128"),
        ("2.9.1 12.8", ["torch==2.5.1"], NEW, ["torch==2.5.1"], ["torch==2.7.1+cu128"], "2.5.1+cu124"),
        ("2.1.0 12.1", ["torch==2.5.1"], NEW, ["pytorch=2.1.0", "torch==2.5.1"], ["torch==2.7.1+cu128"], "2.5.1+cu124"),
        ("2.1.0 12.1", ["vllm==0.6.3"], OLD, [], [], "2.4.0+cu121"),
        ("2.1.0 12.1", ["vllm==0.6.3"], NEW, ["pytorch=2.1.0", "vllm==0.6.3"], ["vllm==0.11.0", "torch==2.8.0"], "2.4.0+cu121"),
    ],
)  # fmt: skip
def test_pip_s_part(
    torch: str, pip: list[str], machine: list[str], dead: list[str], written: list[str], takes: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / "environment.yml"
    path.write_text(CONDA.format(*torch.split()) + "".join(f"  - {one}\n" for one in pip))
    code = run(["resolve", "-r", str(path), *machine, "--os", "linux", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert [one["text"] for one in found["dead"]] == dead, found
    assert [one["write"] for one in found["instead"] if one["number"] > 4 or not one["number"]] == written, found
    assert code == (0 if not dead else 1 if found["instead"] else 3) and (not takes or found["takes"] == takes), found
    over = [one for one in found["unknown"] if "over conda's torch (line 2)" in one]
    assert bool(over) == any(one in pip for one in ("torch==2.9.1", "torch==2.5.1", "vllm==0.6.3")), found["unknown"]


def test_pixi_s_packages_of_pypi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pixi.toml"
    path.write_text(PIXI.format("2.5.1", "126") + 'torchaudio = "==2.5.1"\ntriton = "==3.1.0"\nrich = "*"\n')
    assert run(["resolve", "-r", str(path), *NEW, "--os", "linux", "--format", "edited"]) == 1
    after = capsys.readouterr().out.splitlines()
    assert after[3] == 'pytorch = { version = "2.7.1", build = "cuda129*", channel = "conda-forge" }'
    assert after[5:] == ['torchaudio = "==2.7.1"', 'rich = "*"']


TORCHES, CARDS = ["2.1.0 12.1", "2.4.1 12.1", "2.7.1 12.6"], [("RTX 5090", "575"), ("A100", "535"), ("GTX 1080", "535")]
PIP = [
    ["xformers==0.0.28"], ["xformers"], ["bitsandbytes==0.41.0"], ["vllm==0.6.3"], ["torch==2.8.0"], ["torch==2.5.1"],
    ["torchvision==0.19.1", "xformers==0.0.27.post2"], ["torch==2.5.1", "xformers==0.0.28.post3"],
]  # fmt: skip


@for_each(("torch", "pip"), [(torch, pip) for torch in TORCHES for pip in PIP], quick=6)
def test_what_the_text_advises_can_be_written(
    torch: str, pip: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the torch of conda and that of pip are of one release then."""
    path = tmp_path / "environment.yml"
    for gpu, driver in CARDS:
        path.write_text(CONDA.format(*torch.split()) + "".join(f"  - {one}\n" for one in pip))
        words = ["resolve", "-r", str(path), "--gpu", gpu, "--driver", driver, "--os", "linux", "--format"]
        run([*words, "json"])
        found = json.loads(capsys.readouterr().out)
        code = run([*words, "edited"])
        after = capsys.readouterr()
        assert code == (3 if found["dead"] and not found["instead"] else bool(found["dead"])) or code == 3, (
            gpu,
            after.err,
        )
        releases = {one[2] for one in re.findall(r"(^|::)(pytorch|torch)=+(\d+\.\d+\.\d+)", "\n".join(
            one["write"] for one in found["instead"]), re.M)}  # fmt: skip
        assert len(releases) <= 1, (gpu, found["instead"])


def test_a_refusal_names_the_line_of_the_user_s_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The changed text has another number of lines before it."""
    path = tmp_path / "environment.yml"
    path.write_text("dependencies:\n- pytorch-gpu=2.7.1\n- cuda-version=12.8\n- pip:\n  - flash-attn==2.8.3\n")
    assert run(["resolve", "-r", str(path), "--gpu", "V100", "--driver", "535", "--format", "edited"]) == 2
    assert "(line 5 could not work: flash-attn" in capsys.readouterr().err


@for_each(
    ("lines", "machine", "written"),
    [
        (
            'pytorch-gpu = "2.3.*"\n[pypi-dependencies]\nxformers = "==0.0.27.post2"\n',
            NEW,
            '[pypi-dependencies]\ntorch = "==2.',
        ),
        ('pytorch = "2.3.*"\n[pypi-dependencies]\nvllm = "==0.6.3"\n', NEW, '[pypi-dependencies]\ntorch = "==2.'),
        (
            f'pytorch = "2.3.*"\n[pypi-dependencies]\ntorch = {{ version = "==2.5.1", index = "{WHL}/cu124" }}\n',
            NEW,
            f'torch = {{ version = "==2.7.1", index = "{WHL}/cu128" }}',
        ),
    ],
)
def test_what_is_new_is_pip_s(
    lines: str, machine: list[str], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch has another name in conda's channels: a row `torch` there cannot be locked."""
    path = tmp_path / "pixi.toml"
    path.write_text(
        f'[workspace]\nname = "a"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n[dependencies]\n{lines}'
    )
    assert run(["resolve", "-r", str(path), *machine, "--os", "linux", "--format", "edited"]) == 1
    after = capsys.readouterr().out
    assert written in after and "\ntorch" not in after.partition("[pypi-dependencies]")[0], after


def test_conda_s_build_does_not_count_on_cuda_compat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "environment.yml"
    path.write_text("dependencies:\n- pytorch=2.3.1\n- pytorch-cuda=12.1\n")
    assert run(["resolve", "-r", str(path), "--gpu", "A100", "--driver", "470", "--os", "linux"]) == 1
    assert "its cu121 build: driver 470" in capsys.readouterr().out
