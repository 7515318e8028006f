"""`resolve -r`: indexes that a kind of file names in its own way, and kinds that cannot name one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli import run

from ..rows import for_each

WHL = "https://download.pytorch.org/whl"
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "575", "--os", "linux"]
PIXI = '[workspace]\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n'
LINE = '[pypi-dependencies]\ntorch = ">=2.4,<2.5"\n'
HATCH = '[project]\nname = "a"\ndependencies = ["torch>=2.4,<2.5"]\n[tool.hatch.envs.default.env-vars]\n'


@for_each(
    ("name", "text", "takes"),
    [
        ("pixi.toml", f'{PIXI}[pypi-options]\nindex-url = "{WHL}/cu118"\n{LINE}', "2.4.1+cu118"),
        ("pixi.toml", f'{PIXI}[pypi-options]\nextra-index-urls = ["{WHL}/cu124"]\n{LINE}', "2.4.1+cu124"),
        ("pixi.toml", (
            f'{PIXI}[pypi-options]\nextra-index-urls = ["{WHL}/cu124"]\n[feature.x.pypi-options]\nextra-index-urls = ["{WHL}/cu118"]\n'
            f"[feature.x.{LINE[1:]}"), "2.4.1+cu118"),  # the first that has it
        ("pixi.toml", (
            f'{PIXI}[pypi-options]\nextra-index-urls = ["{WHL}/cu118", "{WHL}/cu124"]\nindex-strategy = "unsafe-best-match"\n'
            f"{LINE}"), "2.4.1+cu124"),
        ("pyproject.toml", (
            f'[project]\nname = "a"\ndependencies = ["torch>=2.4,<2.5"]\n[[tool.uv.index]]\nurl = "{WHL}/cu118"\n'
            f'[[tool.uv.index]]\nurl = "{WHL}/cu124"\n'), "2.4.1+cu118"),
        ("pyproject.toml", (
            f'[project]\nname = "a"\ndependencies = ["torch>=2.4,<2.5"]\n[tool.uv]\nindex-strategy = "unsafe-best-match"\n'
            f'[[tool.uv.index]]\nurl = "{WHL}/cu118"\n[[tool.uv.index]]\nurl = "{WHL}/cu124"\n'), "2.4.1+cu124"),
        ("pixi.toml", f'{PIXI}[feature.x.pypi-options]\nindex-url = "{WHL}/cu118"\n{LINE}', "2.4.1+cu121"),  # of another feature
        ("pixi.toml", f"{PIXI}{LINE}", "2.4.1+cu121"),
        ("pyproject.toml", (
            f'[project]\nname = "a"\n[tool.pixi.workspace]\nchannels = []\n[tool.pixi.pypi-options]\nindex-url = "{WHL}/cu118"\n'
            f"[tool.pixi.{LINE[1:]}"), "2.4.1+cu118"),
        ("pyproject.toml", f'{HATCH}PIP_INDEX_URL = "{WHL}/cu118"\n', "2.4.1+cu118"),
        ("pyproject.toml", f'{HATCH}UV_EXTRA_INDEX_URL = "{WHL}/cu124"\n', "2.4.1+cu124"),
        ("pyproject.toml", f'{HATCH}OTHER = "{WHL}/cu124"\n', "2.4.1+cu121"),
    ],
)  # fmt: skip
def test_the_index_that_a_file_names(
    name: str, text: str, takes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    words = ["resolve", "-r", str(tmp_path / name), "--format", "json"]
    assert run([*words, "--gpu", "A100", "--driver", "580", "--os", "linux"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["takes"] == takes, found
    assert run([*words, *BLACKWELL]) == 1
    assert json.loads(capsys.readouterr().out)["takes"] == takes


@for_each(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["torch==2.4.1"]\n'),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch==2.4.1\n"),
    ],
)
def test_a_kind_that_cannot_name_an_index_says_what_to_install_it_with(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every format: an edited file alone would not install."""
    (tmp_path / name).write_text(text)
    for form in ("text", "edited"):
        assert run(["resolve", "-r", str(tmp_path / name), *BLACKWELL, "--format", form]) == 1
        printed = capsys.readouterr()
        note = f"This file cannot specify an index; pass this to the installer:  --extra-index-url {WHL}/cu128\n"
        assert note == printed.err if form == "edited" else note in printed.out, printed
        assert "+cu128" in printed.out


def test_the_index_in_hatch_s_variables_is_named_and_not_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f'{HATCH}PIP_INDEX_URL = "{WHL}/cu118"\n')
    assert run(["resolve", "-r", str(path), *BLACKWELL]) == 1
    assert f"The index is set in Hatch's env-vars: change it there to  {WHL}/cu128" in capsys.readouterr().out
    assert run(["resolve", "-r", str(path), *BLACKWELL, "--format", "edited"]) == 2
    refused = capsys.readouterr()
    assert not refused.out and "its index is set in Hatch's env-vars" in refused.err


def test_pixi_s_python_chooses_the_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pixi.toml"
    path.write_text(
        '[workspace]\nname = "a"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n[dependencies]\npython = "3.11.*"\n'
        '[pypi-dependencies]\ntorch = "==2.5.1"\nflash-attn = "==2.7.4.post1"\n'
    )
    assert run(["resolve", "-r", str(path), *BLACKWELL, "--format", "edited"]) == 1
    assert "-cp311-cp311-linux_x86_64.whl" in capsys.readouterr().out


@for_each(
    ("index", "code", "words"),
    [
        ("https://a.example/api/pypi/public/rocm7.14-ubi9/simple/", 3, "line 2: its index is not listed"),
        ("https://a.example/cuda13.0-ubi9/simple", 3, "line 2: its index is not listed"),
        ("https://a.example/whl/gaudi/simple/", 3, "line 2: its index is not listed"),
        ("https://user:word@a.example/packages/", 3, "line 2: its index is not listed"),
        ("https://a.example/repository/pypi/simple/", 1, "it installs torch 2.6.0+cu124"),  # a mirror of PyPI
        ("https://a.example/simple", 1, "it installs torch 2.6.0+cu124"),
        (f"{WHL}/rocm6.4", 1, "rocm6.4 is not a CUDA build"),
    ],
)
def test_an_index_with_builds_of_its_own_is_not_pypi(
    index: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"--index-url {index}\ntorch==2.6.0\ntorchaudio==2.6.0\nvllm==0.8.5\n")
    assert run(["resolve", "-r", str(file), *BLACKWELL]) == code
    said = " ".join(capsys.readouterr().out.split())
    assert words in said and "word@" not in said
