"""`resolve -r`: an entry for another platform or Python is neither judged nor changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat_matrix.resolver import Question
from doctor.cli import run
from doctor.resolve.files.entries import here

from ..rows import Faults, for_each

LINUX, WINDOWS = Question(gpus=(), python="3.12"), Question(gpus=(), os="windows", python="3.9")


@for_each(
    ("entry", "linux", "windows"),
    [
        ({"platform": "linux"}, True, False), ({"platform": "win32"}, False, True), ({"platform": "darwin"}, False, False),
        ({"platform": "linux || win32"}, True, True), ({"platform": "!=win32"}, True, False), ({"platform": "==linux"}, True, False),
        ({"python": "^3.10"}, True, False), ({"python": "<3.10"}, False, True), ({"python": "~3.9 || ~3.12"}, True, True),
        ({"python": ">=3.8 <3.10"}, False, True), ({"python": "3.12.*"}, True, False), ({"python": "*"}, True, True),
        ({"markers": "sys_platform == 'linux'"}, True, False), ({"env-markers": "os_name == 'nt'"}, False, True),
        ({"sys_platform": "== 'linux'"}, True, False), ({"platform_machine": "== 'AMD64'"}, False, True),
        ({"python_version": ">= '3.10'"}, True, False), ({"os_name": "!= 'nt'"}, True, False),
        ({"platform_system": "in 'Linux Darwin'"}, True, False), ({"platform": "linux", "python": "<3.10"}, False, False),
        ({"markers": "no marker"}, True, True), ({"platform": 3, "python": ["x"]}, True, True), ("^2.1", True, True),
    ],
)  # fmt: skip
def test_for_which_machine_an_entry_is(entry: object, linux: bool, windows: bool) -> None:
    assert (bool(here(entry, LINUX)), bool(here(entry, WINDOWS))) == (linux, windows)


@for_each(
    ("marker", "extras"),
    [
        ("extra == 'cpu' and extra != 'cuda'", ["cpu"]), ("extra != 'cuda'", ["", "cpu"]), ("'cuda' == extra", ["cuda"]),
        ("extra == 'cuda' or extra == 'cpu'", ["cuda", "cpu"]), ("extra == 'cuda' and sys_platform == 'win32'", []),
        ("extra == \"cuda\" and sys_platform == 'linux'", ["cuda"]), ("python_version > '3'", ["", "cuda", "cpu"]),
    ],
)  # fmt: skip
def test_with_which_extras_an_entry_is(marker: str, extras: list[str]) -> None:
    assert sorted(here({"markers": marker}, LINUX, ["cuda", "cpu"])) == sorted(extras)


OLD_PYTHON = {
    "requirements.txt": "torch==2.1.2 ; python_version {sign} \"{version}\"\n",
    "setup.cfg": "[options]\ninstall_requires =\n  torch==2.1.2; python_version {sign} '{version}'\n",
    "environment.yml": "dependencies:\n- pip:\n  - torch==2.1.2 ; python_version {sign} '{version}'\n",
    "pyproject.toml": '[project]\ndependencies = ["torch==2.1.2 ; python_version {sign} \'{version}\'"]\n',
    "poetry/pyproject.toml": '[tool.poetry.dependencies]\ntorch = [{{ version = "2.1.2", python = "{sign}{version}" }}]\n',
    "pdm/pyproject.toml": '[tool.pdm.dev-dependencies]\nx = ["torch==2.1.2 ; python_version{sign}\'{version}\'"]\n',
    "Pipfile": '[packages]\ntorch = {{ version = "==2.1.2", python_version = "{sign} \'{version}\'" }}\n',
    "pixi.toml": (
        '[workspace]\nname = "a"\n[pypi-dependencies]\n'
        'torch = {{ version = "==2.1.2", env-markers = "python_version {sign} \'{version}\'" }}\n'),
    "uv.lock": (
        'version = 1\n[[package]]\nname = "torch"\nversion = "2.1.2"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
        'resolution-markers = ["python_full_version {sign} \'{version}\'"]\n'),
    "poetry.lock": (
        '[[package]]\nname = "torch"\nversion = "2.1.2"\nmarkers = "python_version {sign} \'{version}\'"\n'
        '[metadata]\ncontent-hash = "0"\n'),
    "Pipfile.lock": '{{"_meta": {{}}, "default": {{"torch": {{"version": "==2.1.2", "markers": "python_version {sign} \'{version}\'"}}}}}}',
}  # fmt: skip


@pytest.mark.slow
@for_each(("sign", "version", "python"), [("<", "3.11", "3.10"), (">=", "3.13", "3.13")])
def test_a_line_for_other_pythons_is_named_where_nobody_named_one(
    sign: str, version: str, python: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Faults() as faults:
        for name, text in OLD_PYTHON.items():
            with faults.of(name):
                path = tmp_path / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text.format(sign=sign, version=version))
                words = ["resolve", "-r", str(path), "--gpu", "RTX 5090", "--driver", "575", "--format", "json"]
                assert run(words) == 3
                found = json.loads(capsys.readouterr().out)
                assert len(found["unknown"]) == 1 and f"(try --python {python})" in found["unknown"][0], found
                assert run([*words, "--python", python]) == 1
                assert len(json.loads(capsys.readouterr().out)["dead"]) == 1
                assert run([*words, "--python", "3.12"]) == 0
                assert not json.loads(capsys.readouterr().out)["unknown"]


def test_a_python_that_the_project_does_not_allow_is_not_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pyproject.toml"
    line = "dependencies = [\"torch==2.1.2 ; python_version < '3.11'\", 'numpy ; python_version < \"3.12\"']\n"
    path.write_text(f'[project]\nrequires-python = ">=3.11"\n{line}')
    assert run(["resolve", "-r", str(path), "--gpu", "RTX 5090", "--driver", "575", "--format", "json"]) == 0
    assert not json.loads(capsys.readouterr().out)["unknown"]


@for_each(
    ("name", "text", "line", "stay"),
    [
        ("pyproject.toml", (
            '[tool.poetry.dependencies]\ntorch = [\n  { version = "2.5.1", platform = "darwin" },\n  { version = "2.5.1", platform = "linux" },\n]\n'
            'triton = [\n  { version = "3.1.0", platform = "darwin" },\n  { version = "3.1.0", platform = "linux" },\n]\n'), 4, ["darwin"]),
        ("pyproject.toml", (
            '[tool.poetry.dependencies]\ntorch = [\n  { version = "2.5.1", python = "<3.9" },\n  { version = "2.5.1", python = ">=3.9" },\n]\n'), 4, ["<3.9"]),
        ("Pipfile", (
            '[packages]\ntorch = { version = "==2.5.1", sys_platform = "== \'linux\'" }\ntriton = { version = "==3.1.0", sys_platform = "== \'win32\'" }\n'
            'torchvision = { version = "==0.20.1", os_name = "== \'nt\'" }\n'), 2, ["triton", "torchvision"]),
        ("pixi.toml", (
            '[workspace]\nname = "a"\n[pypi-dependencies]\ntorch = "==2.9.1"\n[target.linux-64.pypi-dependencies]\ntorch = "==2.5.1"\n'
            '[target.win-64.pypi-dependencies]\ntorch = "==2.2.0"\n[target.win-64.dependencies]\npytorch = "2.1"\n'), 6, ['"==2.9.1"', '"==2.2.0"', '"2.1"']),
        ("pixi.toml", (
            '[workspace]\nname = "a"\n[feature.x.dependencies]\npytorch = "*"\n[feature.x.target.linux.dependencies]\npytorch = { version = "2.5.1", build = "cuda126*" }\n'),
         6, ['pytorch = "*"']),
    ],
)  # fmt: skip
def test_another_platform_s_entry_stays(
    name: str, text: str, line: int, stay: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    words = ["resolve", "-r", str(path), "--gpu", "RTX 5090", "--driver", "575", "--os", "linux", "--format"]
    assert run([*words, "json"]) == 1
    assert [one["number"] for one in json.loads(capsys.readouterr().out)["dead"]] == [line]
    assert run([*words, "edited"]) == 1
    after = capsys.readouterr().out.splitlines()
    kept = [row for row in text.splitlines() if any(one in row for one in stay)]
    assert kept and all(row in after for row in kept), after
