"""`resolve -r` on every kind of file that it reads: what is dead, what is written, and the file after the edit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compat_matrix.resolver import Question
from doctor.cli import run
from doctor.commands.read_lines import read_file
from doctor.commands.toml import loads
from doctor.resolve.files.conda import CondaSpec, conda_spec
from doctor.resolve.files.entries import pep440
from doctor.resolve.files.locks import of_pipenv, of_poetry
from doctor.resolve.files.pixi import of_pixi
from doctor.resolve.files.pyproject import of_pipfile, of_pyproject, only_python
from doctor.resolve.machine import Unclear

from ..rows import for_each
from .projects import WHL, uv_indexes

UV = f"""\
[project]
name = "app"
version = "0"
requires-python = ">=3.8"
dependencies = [
  "numpy",
  "torch>=2.1,<2.5",  # the model
  'triton==2.1.0',
]

[dependency-groups]
dev = ["torchvision==0.16.2", {{ include-group = "lint" }}]
lint = ["ruff"]

[tool.uv.sources]
torch = {{ index = "pytorch" }}

[[tool.uv.index]]
name = "pytorch"
url = "{WHL}/cu118"
explicit = true
"""
UV_AFTER = f"""\
[project]
name = "app"
version = "0"
requires-python = ">=3.9"
dependencies = [
  "numpy",
  "torch>=2.1,<=2.7.1",  # the model
]

[dependency-groups]
dev = ["torchvision==0.22.1", {{ include-group = "lint" }}]
lint = ["ruff"]

[tool.uv.sources]
torchvision = {{ index = "pytorch" }}
torch = {{ index = "pytorch" }}

[[tool.uv.index]]
name = "pytorch"
url = "{WHL}/cu128"
explicit = true
"""
UV_PYPI = """\
[project]
name = "app"
version = "0"
requires-python = ">=3.11"
dependencies = ["torch==2.6.0 ; sys_platform == 'linux'", "accelerate"]

[tool.uv.sources]
accelerate = { path = "../accelerate" }
"""
UV_PYPI_AFTER = f"""\
[project]
name = "app"
version = "0"
requires-python = ">=3.11"
dependencies = ["torch==2.7.1 ; sys_platform == 'linux'", "accelerate"]

[tool.uv.sources]
torch = {{ index = "pytorch-cu128" }}
accelerate = {{ path = "../accelerate" }}

[[tool.uv.index]]
name = "pytorch-cu128"
url = "{WHL}/cu128"
explicit = true
"""
POETRY = """\
[tool.poetry]
name = "app"

[tool.poetry.dependencies]
python = "^3.8"
torch = "^2.1.0"  # pinned by hand
torchvision = { version = "0.16.2", optional = true }
sympy = "1.12"

[tool.poetry.group.dev.dependencies]
pytest = "*"
"""
POETRY_AFTER = f"""\
[tool.poetry]
name = "app"

[tool.poetry.dependencies]
python = "^3.9"
torch = {{ version = ">=2.1.0,<=2.7.1", source = "pytorch-cu128" }}  # pinned by hand
torchvision = {{ version = "==0.22.1", source = "pytorch-cu128", optional = true }}
sympy = ">=1.13.3"

[tool.poetry.group.dev.dependencies]
pytest = "*"

[[tool.poetry.source]]
name = "pytorch-cu128"
url = "{WHL}/cu128"
priority = "explicit"
"""
CFG = """\
[metadata]
name = app
[options]
python_requires = >=3.9
install_requires =
    torch==2.1.2
    numpy
    triton==2.1.0
[options.extras_require]
vision = torchvision==0.16.2; python_version >= "3.8"
"""
CFG_AFTER = """\
[metadata]
name = app
[options]
python_requires = >=3.9
install_requires =
    torch==2.7.1+cu128
    numpy
[options.extras_require]
vision = torchvision==0.22.1+cu128 ; python_version >= "3.8"
"""
CONDA = """\
name: app
channels: [pytorch, nvidia]
dependencies:
  - python=3.10
  - pytorch::pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0  # fixed
  - torchaudio
  - pytorch-cuda=12.1
"""
CONDA_AFTER = """\
name: app
channels: [pytorch, nvidia]
dependencies:
  - python=3.10
  - conda-forge::pytorch=2.7.1=cuda129*  # fixed
  - conda-forge::torchaudio
"""
CONDA_PIP = """\
name: app
dependencies:
  - python=3.10
  - pip
  - pip:
      - torch==2.1.2
      - triton==2.1.0
      - transformers
"""
CONDA_PIP_AFTER = f"""\
name: app
dependencies:
  - python=3.10
  - pip
  - pip:
      - --extra-index-url {WHL}/cu128
      - torch==2.7.1+cu128
      - transformers
"""
PIPFILE = """\
[[source]]
url = "https://pypi.org/simple"
name = "pypi"

[packages]
torch = "==2.1.2"
requests = "*"

[requires]
python_version = "3.10"
"""
PIXI = """\
[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]

[dependencies]
pytorch-gpu = { version = "2.5.1", build = "cuda126*" }
python = "3.12.*"

[pypi-dependencies]
rich = "*"
"""
PIXI_PYPI = f"""\
[project]
platforms = ["linux-64"]
[target.linux-64.pypi-dependencies]
torch = {{ version = "==2.5.1", index = "{WHL}/cu124" }}
"""
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "575"]


def ask(path: Path, capsys: pytest.CaptureFixture[str], machine: list[str] | None = None) -> dict[str, Any]:
    capsys.readouterr()
    code = run(["resolve", "-r", str(path), *(machine or BLACKWELL), "--format", "json"])
    printed = capsys.readouterr()
    found: dict[str, Any] = json.loads(printed.out or f'{{"refused": {json.dumps(printed.err)}}}')
    return {**found, "code": code}


@for_each(
    ("name", "before", "dead", "after"),
    [
        ("pyproject.toml", UV, ["torch>=2.1,<2.5"], UV_AFTER),
        ("pyproject.toml", UV_PYPI, ["torch==2.6.0 ; sys_platform == 'linux'"], UV_PYPI_AFTER),
        ("pyproject.toml", POETRY, ['torch = "^2.1.0"'], POETRY_AFTER),
        ("setup.cfg", CFG, ["torch==2.1.2"], CFG_AFTER),
        ("environment.yml", CONDA, ["pytorch::pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0"], CONDA_AFTER),
        ("env.yaml", CONDA_PIP, ["torch==2.1.2"], CONDA_PIP_AFTER),
    ],
)
def test_the_changed_file_of_each_kind(
    name: str, before: str, dead: list[str], after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(before)
    found = ask(path, capsys)
    assert [one["text"] for one in found["dead"]] == dead and found["code"] == 1, found
    assert all(before.splitlines()[one["number"] - 1] for one in found["instead"])
    run(["resolve", "-r", str(path), *BLACKWELL, "--format", "edited"])
    assert capsys.readouterr().out == after
    path.write_text(after)
    assert not ask(path, capsys)["dead"]


@for_each(
    ("name", "text", "dead", "command"),
    [
        ("Pipfile", PIPFILE, 7 - 1, "pipenv lock"),
        ("pixi.toml", PIXI, 6, "pixi lock"),
        ("pixi.toml", PIXI_PYPI, 4, "pixi lock"),
        (
            "poetry.lock",
            ('[[package]]\nname = "torch"\nversion = "2.5.1"\n\n[metadata]\ncontent-hash = "0"\n'
            'python-versions = "^3.10"\n'), 2, "poetry lock",
        ),
        (
            "poetry.lock",
            ('[[package]]\nname = "torch"\nversion = "2.6.0+cu124"\n[package.source]\ntype = "legacy"\n'
            f'url = "{WHL}/cu124"\n[metadata]\ncontent-hash = "0"\n'), 2, "poetry lock",
        ),
        (
            "Pipfile.lock",
            ('{\n "_meta": {"requires": {"python_version": "3.10"}, "sources": []},\n "default": {\n'
            '  "torch": {\n   "version": "==2.1.2"\n  }\n }\n}\n'), 4, "pipenv lock",
        ),
        (
            "pixi.lock",
            ("version: 6\nenvironments:\n  default: {}\npackages:\n"
            "- conda: https://conda.anaconda.org/conda-forge/osx-arm64/pytorch-2.5.1-cpu_generic_py312_0.conda\n"
            "- conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_mkl_py312_h30b5a27_306.conda\n"),
            6, "pixi lock",
        ),
        (
            "pixi.lock",
            ("version: 6\nenvironments:\n  default: {}\npackages:\n"
            "- pypi: https://files.pythonhosted.org/packages/1/torch-2.5.1-cp312-none-macosx_11_0_arm64.whl\n"
            "- pypi: https://files.pythonhosted.org/packages/2/torch-2.5.1-cp312-cp312-manylinux1_x86_64.whl\n"),
            6, "pixi lock",
        ),
        (
            "conda-lock.yml",
            ("version: 1\npackage:\n- name: pytorch\n  version: 2.1.0\n  manager: conda\n  platform: linux-64\n"
            "  url: https://conda.anaconda.org/pytorch/linux-64/pytorch-2.1.0-py3.10_cuda11.8_cudnn8.7.0_0.tar.bz2\n"),
            7, "conda-lock",
        ),
    ],
)  # fmt: skip
def test_dead_in_a_file_that_a_tool_reads_or_writes(
    name: str, text: str, dead: int, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = ask(path, capsys)
    assert [one["number"] for one in found["dead"]] == [dead] and found["code"] == 1, found
    assert found["regenerate"] == command
    run(["resolve", "-r", str(path), *BLACKWELL])
    printed = capsys.readouterr().out
    assert command in printed and "2.7.1" in printed
    found = ask(path, capsys, ["--gpu", "A100", "--driver", "580"])
    assert not found["dead"] and found["code"] in (0, 3)


@for_each(
    ("name", "text", "told"),
    [
        ("pyproject.toml", "[tool.black]\nline-length = 100\n", "no [project]"),
        ("pyproject.toml", "[project]\ndependencies = ['torch = 2']\n", "is not a valid requirement"),
        ("pyproject.toml", "[project\n", "not valid TOML"),
        ("environment.yml", "name: x\n", "no dependencies"),
        ("environment.yml", "a: [\n", "not valid YAML"),
        ("environment.yml", "- 1\n", "no dependencies"),
        ("setup.cfg", "[metadata]\nname = x\n", "no install_requires"),
        ("setup.cfg", "torch\n", "not valid"),
        ("Pipfile.lock", "{}", "not a Pipfile.lock"),
        ("Pipfile.lock", "[" * 5000, "not valid JSON"),
        ("pixi.toml", "[a]\n", "not a pixi.toml"),
        ("pixi.lock", "a: 1\n", "no packages"),
        ("poetry.lock", "[[package]]\nname = 3\n", "a package without a name"),
    ],
)
def test_bad_input_of_each_kind_is_one_line(
    name: str, text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert run(["resolve", "-r", str(tmp_path / name), *BLACKWELL]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and told in printed.err and printed.err.count("\n") == 1, printed


@for_each(
    ("text", "expected"),
    [
        ("^2.1.0", ">=2.1.0,<3"), ("^0.16.2", ">=0.16.2,<0.17"), ("~2.1", ">=2.1,<2.2"), ("~2", ">=2,<3"),
        ("2.1.2", "==2.1.2"), ("2.1.*", "==2.1.*"), ("*", ""), (">=2.0,<3", ">=2.0,<3"), ("~=2.1", "~=2.1"),
        ("^0.0.3", ">=0.0.3,<0.0.4"), ("==2.1.2+cu118", "==2.1.2+cu118"), ("2.1.2+cu118", "==2.1.2+cu118"),
    ],
)  # fmt: skip
def test_poetry_s_versions(text: str, expected: str) -> None:
    assert pep440(text) == expected


@for_each(
    ("text", "expected"),
    [
        ("pytorch=1.11.0", CondaSpec("pytorch", "1.11.0")),
        ("pytorch==2.1", CondaSpec("pytorch", "2.1")),
        ("conda-forge::pytorch=2.5.1=cuda126*", CondaSpec("pytorch", "2.5.1", "cuda126*", "conda-forge")),
        ("pytorch 2.1.* *cuda*", CondaSpec("pytorch", "2.1.*", "*cuda*")),
        ("pytorch>=2.0,<3", CondaSpec("pytorch", ">=2.0,<3")),
        ("pytorch[version='>=2',build='*cuda*']", CondaSpec("pytorch", ">=2", "*cuda*")),
        ("PyTorch  # why", CondaSpec("pytorch")),
        ("://", None),
    ],
)
def test_conda_s_specifications(text: str, expected: CondaSpec | None) -> None:
    assert conda_spec(text) == expected


@for_each(
    ("text", "python"),
    [(">=3.8", ""), (">=3.8,<3.11", "3.10"), ("==3.9.*", "3.9"), ("<4,>=3.8", ""), ("~=3.10", ""), ("~=3.10.0", "3.10"),
     (">=3.12", ""), (">=3.13", "3.13"), (">3.13.2,!=3.14.0", "3.13"), (">=3.14,<4", "3.14"), ("nonsense", ""), ("", "")],
)  # fmt: skip
def test_the_python_that_a_project_is_bound_to(text: str, python: str) -> None:
    assert only_python(text) == python


def test_python_without_a_build_gets_another_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """torch for sm_120 begins with Python 3.9."""
    path = tmp_path / "environment.yml"
    path.write_text("dependencies:\n- python=3.8.5\n- pytorch=1.11.0\n- cudatoolkit=11.3\n")
    found = ask(path, capsys)
    assert found["machine"]["python"] == "3.8" and "Python 3.8" in found["unknown"][0]
    assert {one["write"] for one in found["instead"]} == {"conda-forge::pytorch=2.7.1=cuda129*", "python=3.9", ""}
    path = tmp_path / "requirements.txt"
    path.write_text("torch==1.11.0\n")
    found = ask(path, capsys, [*BLACKWELL, "--python", "3.8"])
    assert found["unknown"][0].startswith("Nothing fits for Python 3.8") and found["instead"]


def test_conda_s_solver_is_not_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "environment.yml"
    for spec, code in (("pytorch", 3), ("pytorch>=2.7", 3), ("pytorch=2.7.1=cuda126*", 1), ("pytorch=1.12", 1)):
        path.write_text(f"dependencies:\n- {spec}\n")
        assert ask(path, capsys)["code"] == code, spec


FORKS = """\
[project]
requires-python = ">=3.11"
dependencies = ["numpy"]
[project.optional-dependencies]
cpu = ["torch==2.7.0"]
cu126 = ["torch==2.6.0", "torchvision==0.21.0"]
cu128 = ["torch==2.7.0", "torchvision==0.22.0"]
[tool.uv]
conflicts = [[{ extra = "cpu" }, { extra = "cu126" }, { extra = "cu128" }]]
[tool.uv.sources]
torch = [{ index = "c", extra = "cpu" }, { index = "a", extra = "cu126" }, { index = "b", extra = "cu128" }]
"""
FORKS += uv_indexes({"c": "cpu", "a": "cu126", "b": "cu128"})
LOCKED = (
    'version = 1\n[[package]]\nname = "torch"\nversion = "2.7.0+cpu"\nsource = {{ registry = "{0}/cpu" }}\n'
    '[[package]]\nname = "torch"\nversion = "2.7.0+{1}"\nsource = {{ registry = "{0}/{1}" }}\n'
)


@for_each(
    ("name", "text", "dead", "elsewhere"),
    [
        ("pyproject.toml", FORKS, [], True),
        ("pyproject.toml", FORKS.replace("cu128", "cu118"), [6], True),
        ("uv.lock", LOCKED.format(WHL, "cu128"), [], False),  # the other one is for CPUs, as an extra for them is
        ("pyproject.toml", FORKS.replace('cu126 = ["torch==2.6.0", "torchvision==0.21.0"]\n', ""), [], False),
        ("uv.lock", LOCKED.format(WHL, "cu118"), [7], False),
    ],
)
def test_of_several_torches_one_has_to_run(
    name: str, text: str, dead: list[int], elsewhere: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = ask(path, capsys)
    assert [one["number"] for one in found["dead"]] == dead, found
    assert any("cannot work here" in one for one in found["unknown"]) is elsewhere


def test_of_several_dead_torches_that_of_the_newest_cuda_is_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others may be for other GPUs: they stay byte by byte, and are named."""
    path = tmp_path / "pyproject.toml"
    old = (
        FORKS.replace("2.7.0", "2.6.0").replace("0.22.0", "0.21.0").replace("cu128", "cu118").replace("cu126", "cu124")
    )
    path.write_text(old)
    found = ask(path, capsys)
    assert [one["number"] for one in found["dead"]] == [6] and [one["number"] for one in found["dead_elsewhere"]] == [7]
    assert run(["resolve", "-r", str(path), "--gpu", "RTX 5090", "--driver", "580", "--format", "edited"]) == 1
    said = capsys.readouterr()
    assert "line 7 cannot work here" in said.err
    changed = {row for row in old.splitlines() if row not in said.out.splitlines()}
    assert not any("cu118" in row for row in changed if "source" not in row and "{" not in row), changed
    path.write_text(said.out)
    assert ask(path, capsys)["dead"] == []


NAMED = f"""\
[project]
dependencies = ["torch==2.7.0", "torchvision==0.22.0"]
[[tool.uv.index]]
name = "old"
url = "{WHL}/cu118"
explicit = true
[[tool.uv.index]]
name = "cpu"
url = "{WHL}/cpu"
explicit = true
[tool.uv.sources]
torch = {{ index = "old" }}
torchvision = {{ index = "old" }}
other = {{ index = "cpu" }}
"""


def test_several_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["torchvision", "torch<2.5", "triton==3.1.0", "torch-geometric"]\n')
    run(["resolve", "-r", str(path), *BLACKWELL, "--format", "edited"])
    after = '[project]\ndependencies = ["torchvision", "torch==2.7.1+cu128", "torch-geometric"]\n'
    assert capsys.readouterr().out == after


def test_an_index_of_something_else_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(NAMED)
    assert ask(path, capsys)["code"] == 1
    run(["resolve", "-r", str(path), *BLACKWELL, "--format", "edited"])
    assert capsys.readouterr().out == NAMED.replace("cu118", "cu128")


def test_the_lock_beside_a_project_names_its_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.5.1"]\n')
    assert not ask(tmp_path / "pyproject.toml", capsys)["add"]
    (tmp_path / "uv.lock").write_text("version = 1\n")
    found = ask(tmp_path / "pyproject.toml", capsys)
    assert found["regenerate"] == "uv lock" and found["add"].startswith("[tool.uv.sources]")


def _spoiled(value: Any) -> Iterator[Any]:
    """The document with each value, one after the other, of another type."""
    for other in (3, "x", [3], {"x": 3}, True):
        yield other
    if isinstance(value, dict):
        for key in value:
            for other in _spoiled(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at in range(len(value)):
            for other in _spoiled(value[at]):
                yield [*value[:at], other, *value[at + 1 :]]


def test_a_value_of_another_type_is_no_crash() -> None:
    """Of each kind that is made of tables: read, or refused in one line."""
    q = Question(gpus=("12.0",), driver="575.64.05")
    lock = '[[package]]\nname = "torch"\nversion = "2.5.1"\nmarkers = "os_name == \'posix\'"\n[package.source]\nurl = "x"\n'
    pipenv = {"_meta": {"requires": {"python_version": "3.10"}, "sources": [{"name": "a", "url": "x"}]},
              "default": {"torch": {"version": "==2.1.2", "index": "a", "markers": "os_name == 'posix'"}}}  # fmt: skip
    environment = {"dependencies": ["python=3.8", "pytorch=1.11", {"pip": ["torch==2"]}]}
    readers: list[tuple[Any, Callable[[Any], Any]]] = [
        *((loads(text), lambda c, t=text: of_pyproject(c, t, "f", q)) for text in (UV, UV_PYPI, POETRY, FORKS)),
        (loads(PIPFILE), lambda c: of_pipfile(c, PIPFILE, "f", q)),
        (loads(PIXI), lambda c: of_pixi(c, PIXI, "f", q)),
        (loads(PIXI_PYPI), lambda c: of_pixi(c, PIXI_PYPI, "f", q)),
        (loads(lock), lambda c: of_poetry(c, lock, "f", q)),
        (pipenv, lambda c: of_pipenv(c, json.dumps(pipenv, indent=1), "f", q)),
        (environment, lambda c: read_file("f.yml", json.dumps(c), q)),
    ]
    tried = 0
    for content, read in readers:
        assert read(content).lines or read(content).pip
        for spoiled in _spoiled(content):
            tried += 1
            if isinstance(spoiled, dict):
                with suppress(Unclear):
                    read(spoiled)
    assert tried > 500


@for_each("line", ["pytorch-cpu=1.13.0", "pytorch-cpu", "conda-forge::pytorch-cpu=2.5.1=cpu_generic*"])
def test_conda_forge_s_build_for_the_cpu_has_a_name_of_its_own(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "environment.yml"
    path.write_text(f"dependencies:\n- python=3.11\n- {line}\n")
    (dead,) = ask(path, capsys, BLACKWELL)["dead"]
    assert dead["reason"] == "cpu is not a CUDA build" and dead["number"] == 3
