"""`resolve -r`: files that a file includes, and packages that no index answers, are named and never judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run

from ..rows import for_each

MACHINE = ["--gpu", "A100", "--driver", "550", "--os", "linux"]


def ask(path: Path, text: str, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    path.write_text(text)
    capsys.readouterr()
    code = run(["resolve", "-r", str(path), *MACHINE, "--format", "json", *more])
    printed = capsys.readouterr()
    return {**json.loads(printed.out or f'{{"refused": {json.dumps(printed.err)}}}'), "code": code}


@for_each(
    ("name", "text", "told"),
    [
        ("environment.yml", "dependencies:\n- numpy\n- pip:\n  - -r base.txt\n", ["line 4: base.txt was not read"]),
        ("environment.yml", "dependencies: [pip: ['-c con.txt', -e .]]\n", ["line 1: con.txt was not", "line 1: the requirements of . were"]),
        ("environment.yml", "dependencies:\n- pip:\n  - submodules/simple-knn\n", ["line 3: the requirements of submodules/simple-knn"]),
        ("environment.yml", "dependencies:\n- pip:\n  - numpy = 1\n", ["line 3: 'numpy = 1' is not a valid requirement, so it was not judged"]),
        ("requirements.txt", "-e .[dev]\n..\n", ["line 1: the requirements of .[dev]", "line 2: the requirements of .."]),
        ("requirements.txt", "--editable=${HOME}/lib\n-e lib\\sub\n", ["line 1: the requirements of ${HOME}/lib", "line 2: the requirements of lib"]),
        ("requirements.txt", "sub/lib\nfile:lib\n", ["line 1: the requirements of sub/lib", "line 2: the requirements of file:lib"]),
        ("requirements.txt", "-e ../lib\n./x\n", ["line 1: the requirements of ../lib", "line 2: the requirements of ./x"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\nlib = { path = "../lib" }\n', ["line 2: the requirements of ../lib"]),
        ("pyproject.toml", '[tool.poetry.dependencies]\nlib = [\n { path = "../lib", platform = "linux" },\n { path = "../mac", platform = "darwin" },\n]\n',
         ["line 3: the requirements of ../lib"]),
        ("pyproject.toml", '[project]\ndependencies = ["lib"]\n[tool.uv.sources]\nlib = { workspace = true }\n', ["line 4: the requirements of the workspace's lib"]),
        ("pyproject.toml", '[project]\ndependencies = ["lib"]\n[tool.uv.sources.lib]\npath = "../lib"\n', ["line 4: the requirements of ../lib"]),
        ("pyproject.toml", '[project]\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = { file = ["a.txt", "b.in"] }\n',
         ["line 4: a.txt was not read", "line 4: b.in was not read"]),
        ("pyproject.toml", '[project]\ndynamic = ["dependencies"]\n[tool.hatch.metadata.hooks.requirements_txt]\nfiles = ["a.txt"]\n', ["line 4: a.txt was not read"]),
        ("pyproject.toml", '[project]\ndynamic = ["dependencies"]\n', ["line 2: the build backend sets the dependencies"]),
        ("pyproject.toml", '[project]\nname = "a"\n[tool.pdm.dev-dependencies]\nx = ["-e file:///${PROJECT_ROOT}/sub#egg=sub"]\n', ["line 4: the requirements of file:///"]),
        ("pyproject.toml", '[project]\ndependencies = ["lib @ file:///srv/lib"]\n', ["line 2: the requirements of file:///srv/lib"]),
        ("pyproject.toml", '[project]\ndependencies = ["x"]\n[tool.uv]\noverride-dependencies = ["torch==2.5.1", "numpy"]\n', ["line 4: torch==2.5.1 in override-dep"]),
        ("pyproject.toml", '[project]\ndependencies = ["x"]\n[tool.pdm.resolution.overrides]\nnumpy = "1"\ntorch = "2.5.1"\n', ["line 5: torch in overrides"]),
        ("pyproject.toml", '[project]\nname = "a"\n[tool.pixi.pypi-dependencies]\nlib = { path = "." }\n', ["line 4: the requirements of ."]),
        ("pixi.toml", '[workspace]\nname = "a"\n[pypi-dependencies]\nlib = { path = ".", editable = true }\n', ["line 4: the requirements of ."]),
        ("pixi.toml", '[workspace]\nname = "a"\n[dependencies]\nlib = { path = "../lib" }\n', ["line 4: the requirements of ../lib"]),
        ("Pipfile", '[packages]\nlib = { path = "../lib", editable = true }\n', ["line 2: the requirements of ../lib"]),
        ("setup.cfg", "[options]\ninstall_requires = file: a.txt, b.txt\n", ["line 2: a.txt was not read", "line 2: b.txt was not read"]),
        ("setup.cfg", "[options]\ninstall_requires =\n  numpy\n[options.extras_require]\nx = file: a.txt\n", ["line 5: a.txt was not read"]),
    ],
)  # fmt: skip
def test_what_a_file_includes_is_named(
    name: str, text: str, told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ask(tmp_path / name, text, capsys)
    assert found["code"] == 3 and len(found["unknown"]) == len(told), found
    assert all(one.startswith(start) for one, start in zip(found["unknown"], told, strict=True)), found["unknown"]


def test_a_group_of_the_same_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[project]\nname = "a"\n[dependency-groups]\na = [{ include-group = "b" }]\nb = ["torch==2.5.1"]\n'
    found = ask(tmp_path / "pyproject.toml", text, capsys)
    assert (found["code"], found["takes"], found["unknown"]) == (0, "2.5.1+cu124", [])


@for_each(
    ("name", "text", "line", "why"),
    [
        ("requirements.txt", "torch @ git+https://example.org/pytorch@v2\ntorchvision==0.1\n", 1, "a repository"),
        ("requirements.txt", "numpy\n-e git+https://github.com/pytorch/pytorch.git@v2.1#egg=torch\n", 2, "a repository"),
        ("requirements.txt", "git+ssh://git@github.com/pytorch/pytorch.git\n", 1, "a repository"),
        ("requirements.txt", "torch @ file:///opt/torch.whl\n", 1, "a path"),
        ("requirements.txt", "https://example.org/torch-2.1.0.tar.gz\n", 1, "a URL"),
        ("environment.yml", "dependencies:\n- pip:\n  - torch @ git+https://example.org/x\n", 3, "a repository"),
        ("pyproject.toml", '[project]\ndependencies = [\n "torch @ git+https://example.org/x",\n]\n', 3, "a repository"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=1"]\n[tool.uv.sources]\ntorch = { git = "https://example.org/x" }\n', 4, "a repository"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=1"]\n[tool.uv.sources]\ntorch = [\n { path = "../t", marker = "sys_platform == \'linux\'" },\n]\n', 5, "a path"),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=1"]\n[tool.uv.sources.torch]\nworkspace = true\n', 4, "a workspace"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = { git = "https://example.org/x", tag = "v2" }\n', 2, "a repository"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = { path = "../torch" }\n', 2, "a path"),
        ("pixi.toml", '[workspace]\nname = "a"\n[pypi-dependencies]\ntorch = { git = "https://example.org/x" }\n', 4, "a repository"),
        ("pixi.toml", '[workspace]\nname = "a"\n[pypi-dependencies]\ntorch = { path = "../torch" }\n', 4, "a path"),
        ("Pipfile", '[packages]\ntorch = { git = "https://example.org/x", ref = "main" }\n', 2, "a repository"),
        ("Pipfile", '[packages]\ntorch = { file = "./torch.whl" }\n', 2, "a path"),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch @ git+https://example.org/x\n", 3, "a repository"),
        ("uv.lock", 'version = 1\n[[package]]\nname = "torch"\nversion = "2.5.1"\nsource = { git = "https://example.org/x" }\n', 3, "a repository"),
        ("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.5.1"\n[package.source]\ntype = "directory"\nurl = "x"\n[metadata]\ncontent-hash = "0"\n', 2, "a path"),
        ("Pipfile.lock", '{"_meta": {},\n "default": {\n  "torch": {"git": "https://example.org/x"}}}\n', 3, "a repository"),
    ],
)  # fmt: skip
def test_a_torch_that_no_index_has_is_not_judged(
    name: str, text: str, line: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is another torch written beside it for what goes with torch."""
    found = ask(tmp_path / name, text, capsys)
    assert f"line {line}: torch comes from {why}, so it was not judged" in found["unknown"], found
    assert (found["code"], found["dead"], found["instead"], found["takes"]) == (3, [], [], ""), found


@for_each("text", ["^2.1 || ^3.0", ">=2.1 <3", "latest"])
def test_a_version_that_is_not_understood_is_said(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ask(tmp_path / "pyproject.toml", f'[tool.poetry.dependencies]\ntorch = "{text}"\n', capsys)
    assert found["code"] == 3 and "has an unrecognized version (" in found["unknown"][0], found


def test_stdin_gets_no_command_that_reads_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.5.1\n")
    machine = ["--gpu", "RTX 5090", "--driver", "575"]
    for name in (str(file), "-"):
        with open(file) as opened:
            monkeypatch.setattr("sys.stdin", opened)
            assert run(["resolve", "-r", name, *machine]) == 1
        assert ("--verify" in capsys.readouterr().out) == (name != "-")
