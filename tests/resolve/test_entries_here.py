"""`resolve -r`: an entry for another platform or Python is neither judged nor changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat_matrix.resolver import Question
from doctor.cli import run
from doctor.resolve.files.entries import here

from ..rows import for_each

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
    assert (here(entry, LINUX), here(entry, WINDOWS)) == (linux, windows)


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
