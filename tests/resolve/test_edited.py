"""`resolve -r --format edited` on many forms of every kind of file: valid, judged again, all else byte for byte."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run
from doctor.commands.toml import loads

from ..rows import Faults, for_each

WHL = "https://download.pytorch.org/whl"
BLACKWELL = ["--gpu", "RTX 5090", "--driver", "575", "--os", "linux"]
OLD_DRIVER = ["--gpu", "RTX 3090", "--driver", "470", "--os", "linux"]
UV = f'[[tool.uv.index]]\nname = "pytorch-cu124"\nurl = "{WHL}/cu124"\nexplicit = true\n'
POETRY = f'[[tool.poetry.source]]\nname = "pytorch-cu124"\nurl = "{WHL}/cu124"\npriority = "explicit"\n'
PIPENV = f'[[source]]\nurl = "{WHL}/cu124"\nverify_ssl = true\nname = "pytorch-cu124"\n'
FORMS: list[tuple[str, str]] = [
    ("requirements.txt", "# ours\nnumpy\ntorch==2.5.1  # pinned\ntriton==3.1.0\nrequests\n"),
    ("requirements.txt", f"--index-url {WHL}/cu124\ntorch[opt-einsum]==2.5.1\ntorchvision==0.20.1 ; python_version > '3'\n"),
    ("requirements.txt", "numpy\ntorchvision==0.20.1"),
    # uv
    ("pyproject.toml", '[project]\ndependencies = [\n  "torch==2.5.1",  # why\n  \'torchvision==0.20.1\'\n]\n[tool.uv]\n'),
    ("pyproject.toml", f'[project]\ndependencies = ["torch==2.5.1", "triton==3.1.0"]\n[tool.uv.sources]\ntorch = {{ index = "pytorch-cu124" }}\n{UV}'),
    ("pyproject.toml", (
        '[project]\ndependencies = ["torch==2.5.1"]\n[tool.uv.sources]\ntorch = [\n'
        '  { index = "pytorch-cu124", marker = "sys_platform == \'linux\'" },\n'
        f'  {{ index = "mac", marker = "sys_platform == \'darwin\'" }},\n]\n{UV}'
        '[[tool.uv.index]]\nname = "mac"\nurl = "https://example.org/simple"\n')),
    ("pyproject.toml", (
        '[project]\ndependencies = ["torch==2.5.1 ; sys_platform == \'linux\'"]\n[tool.uv]\n'
        f'index = [\n  {{ name = "pytorch-cu124", url = "{WHL}/cu124", explicit = true }},\n]\n'
        'sources = { torch = { index = "pytorch-cu124" } }\n')),
    ("pyproject.toml", (
        '[project]\ndependencies = ["torchvision==0.20.1"]\n[tool.uv]\nindex = [{ name = "a", url = "https://a/simple" }]\n'
        'sources = { x = { index = "a" } }\n')),
    ("pyproject.toml", (
        f'[project]\ndependencies = ["torch==2.5.1"]\n{UV}[[tool.uv.index]]\nname = "other"\nurl = "{WHL}/cu128"\n'
        f'explicit = true\n[[tool.uv.index]]\nname = "old"\nurl = "{WHL}/cu126"\nexplicit = true\n'
        '[tool.uv.sources.torch]\nindex = "pytorch-cu124"\n')),
    ("pyproject.toml", (  # as uv's own guide has it: another index on other platforms
        '[project]\ndependencies = ["torch==2.5.1"]\n[tool.uv.sources]\n'
        'torch = [{ index = "mac", marker = "sys_platform != \'linux\'" }]  # why\n'
        '[[tool.uv.index]]\nname = "mac"\nurl = "https://example.org/simple"\nexplicit = true\n')),
    ("pyproject.toml", (
        '[project]\ndependencies = ["torch==2.5.1"]\n[tool.uv.sources]\n'
        'torch = { index = "mac", marker = "sys_platform == \'darwin\'" }\n'
        '[[tool.uv.index]]\nname = "mac"\nurl = "https://example.org/simple"\nexplicit = true\n')),
    ("pyproject.toml", (  # by extra: an element for this platform would overlap with it
        '[project]\ndependencies = ["torch"]\n[project.optional-dependencies]\ncu13 = ["numpy"]\n[tool.uv.sources]\n'
        'torch = [\n    { index = "pytorch-cu130", marker = "extra == \'cu13\'" },\n]\n'
        + UV.replace("cu124", "cu130"))),
    # PDM, and no tool
    ("pyproject.toml", '[project]\ndependencies = ["torch==2.5.1"]\n[tool.pdm]\n'),
    ("pyproject.toml", f'[project]\ndependencies = ["torch==2.5.1"]\n[[tool.pdm.source]]\nname = "cu124"\nurl = "{WHL}/cu124"\ninclude_packages = ["torch*"]\n'),
    ("pyproject.toml", '[project]\ndependencies = ["torch>=2.1,<2.6"]\n[project.optional-dependencies]\nx = ["torchvision"]\n'),
    # Poetry
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.10"\ntorch = "2.5.1"\ntorchvision = { version = "^0.20", optional = true }\n'),
    ("pyproject.toml", (
        '[tool.poetry.dependencies]\npython = "^3.10"\ntorch = [\n  { version = "^2.1", platform = "darwin" },  # torch\n'
        '  { version = "2.5.1", platform = "linux", source = "pytorch-cu124" },\n'
        f'  {{ version = "2.5.1", platform = "win32", source = "pytorch-cu124" }},\n]\n{POETRY}')),
    ("pyproject.toml", f'[tool.poetry.dependencies.torch]\nversion = "2.5.1"\nsource = "pytorch-cu124"\n[tool.poetry.group.x.dependencies]\ntorchvision = "*"\n{POETRY}'),
    ("pyproject.toml", '[[tool.poetry.dependencies.torch]]\nversion = "2.5.1"\nplatform = "linux"\n[[tool.poetry.dependencies.torch]]\nversion = "2.2"\nplatform = "darwin"\n'),
    ("pyproject.toml", '[project]\ndependencies = ["torch==2.5.1"]\n[tool.poetry]\nname = "a"\n'),
    ("pyproject.toml", f'[project]\ndependencies = ["torch==2.5.1"]\n[tool.poetry.dependencies]\ntorch = {{ source = "pytorch-cu124" }}\n{POETRY}'),
    ("pyproject.toml", '[tool.poetry.dependencies]\n"torchvision" = "0.20.1"\nnumpy = "*"\n'),
    # Pipenv
    ("pyproject.toml", '[project]\ndependencies = ["torch==2.5.1"]\noptional-dependencies = {a = ["torch==2.5.1"], b=["triton==3.1.0"]}\n[tool.uv]\n'),
    ("pyproject.toml", (
        '[tool.poetry.dependencies]\ntorch       = "2.5.1"   # aligned\n'
        'torchvision = {version = "0.20.1", extras = ["a", "b" ]}\ntriton.version = "*"\n[tool.poetry.extras]\n')),
    ("Pipfile", '[packages]\ntorch = "==2.5.1"\nrequests = "*"\n'),
    ("Pipfile", (
        f'{PIPENV}[packages]\ntorch = {{ version = "==2.5.1", index = "pytorch-cu124", sys_platform = "== \'linux\'" }}\n'
        'triton = { version = "==3.1.0", platform_machine = "== \'x86_64\'" }\n'
        '[dev-packages]\ntorchvision = { version = "==0.20.1", sys_platform = "== \'win32\'", index = "pytorch-cu124" }\n')),
    # pixi
    ("pixi.toml", f'[workspace]\nchannels = ["conda-forge"]\n[pypi-dependencies]\ntorch = {{ version = "==2.5.1", index = "{WHL}/cu124" }}\ntorchvision = ">=0.20"\n'),
    ("pixi.toml", '[workspace]\nchannels = ["conda-forge"]\n[dependencies]\npytorch-gpu = "2.5.1"\ncuda-version = "12.4.*"\n[pypi-dependencies]\ntorchaudio="==2.5.1"\n'),
    ("pyproject.toml", (
        '[project]\nname = "a"\ndependencies = ["numpy"]\n[tool.pixi.workspace]\nchannels = ["conda-forge"]\n'
        '[tool.pixi.pypi-dependencies]\n# torch\ntorch = "==2.5.1"\n[tool.pixi.target.osx-arm64.pypi-dependencies]\ntorch = "==2.5.0"\n')),
    ("pyproject.toml", '[project]\nname = "a"\n[tool.pixi.feature.x.dependencies]\npytorch = { version = "2.5.1", build = "cuda126*" }\n'),
    # conda
    ("environment.yml", "name: a\ndependencies:\n  - python=3.10\n  - pytorch::pytorch=2.1.0  # why\n  - pytorch-cuda=12.1\n"),
    ("environment.yml", "name: a\ndependencies: [python=3.10, pytorch=2.1.0, pytorch-cuda=12.1, 'torchvision']\n"),
    ("environment.yml", "dependencies:\n- pip:\n  - \"torch==2.5.1\"  # why\n  - triton==3.1.0\n  - 'torchvision>=0.20,<1'\n- pip\n"),
    ("environment.yml", "dependencies: [pip, pip: [torch==2.5.1, triton==3.1.0]]\n"),
    ("environment.yml", "dependencies:\n- pip: [\n    torchvision==0.20.1,\n    numpy]\n"),
    ("environment.yml", "dependencies:\n- pytorch=2.1.0\n- pytorch-cuda=12.1\n- pip:\n  - torchvision==0.16.0\n  - bitsandbytes==0.41.0\n"),
    ("environment.yml", "dependencies:\n- pytorch=2.1.0\n- pytorch-cuda=12.1\n- pip:\n  - nvidia-cudnn-cu12==8.9.2.26\n"),
    ("environment.yml", "dependencies:\n- pytorch=2.1.0\n- pytorch-cuda=12.1\n- pip:\n  - torch==2.5.1\n"),
    ("environment.yml", "dependencies:\n- &torch pytorch=2.1.0\n- pytorch-cuda=12.1\n- pip: [\"x\"]\n"),
    # setuptools
    ("setup.cfg", "[options]\ninstall_requires =\n\ttorch==2.5.1;\n\ttriton==3.1.0;\n\tnumpy\n"),
    ("setup.cfg", "[metadata]\nname = a\n[options]\ninstall_requires =\n    torch==2.5.1\n    triton==3.1.0\n    numpy\n"),
    ("setup.cfg", "[options]\ninstall_requires = torch==2.5.1\n[options.extras_require]\nx = torchvision==0.20.1\n"),
    ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n[options.extras_require]\nx =\n  torchvision==0.20.1\n"),
]  # fmt: skip


def edited(
    file: Path, data: bytes, machine: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> tuple[int, bytes]:
    file.write_bytes(data)
    capsysbinary.readouterr()
    code = run(["resolve", "-r", str(file), *machine, "--format", "edited"])
    printed = capsysbinary.readouterr()
    assert bool(printed.out) == (code != 2), printed.err
    return code, printed.out or printed.err


def answer(file: Path, machine: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> dict[str, Any]:
    capsysbinary.readouterr()
    run(["resolve", "-r", str(file), *machine, "--format", "json"])
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return found


def yaml(text: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def cfg(text: str) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


PARSERS: dict[str, Callable[[str], Any]] = {".toml": loads, "": loads, ".yml": yaml, ".cfg": cfg, ".txt": str}


def check(name: str, text: str, machine: list[str], folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The promises about one edited file."""
    file = folder / name
    code, after = edited(file, text.encode(), machine, capsysbinary)
    assert code == 1, (code, after)
    before = answer(file, machine, capsysbinary)
    PARSERS[file.suffix](after.decode())
    named = {one["number"] for one in before["instead"]}
    kept = [row for n, row in enumerate(text.splitlines(), 1) if n not in named]
    rows, missing = after.decode().splitlines(), []
    for row in kept:
        if row in rows:
            del rows[: rows.index(row) + 1]
        else:
            missing.append(row)
    assert not [row for row in missing if not _holds_additions(row, before)], missing
    file.write_bytes(after)
    again = answer(file, machine, capsysbinary)
    assert not again["dead"] and (not again["takes"] or again["takes"] == before["gives"]), again
    # ends of lines and the byte order mark stay
    code, windows = edited(file, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), machine, capsysbinary)
    assert windows == b"\xef\xbb\xbf" + after.replace(b"\n", b"\r\n"), windows
    # a comment with the same words above each line changes nothing
    decoys = "".join(f"# {row.strip()}\n{row}\n" for row in text.splitlines())
    code, commented = edited(file, decoys.encode(), machine, capsysbinary)
    plain = [row for row in commented.decode().splitlines() if not row.startswith("# ")]
    assert plain == [row for row in after.decode().splitlines() if not row.startswith("# ")], commented.decode()


def _holds_additions(row: str, before: dict[str, Any]) -> bool:
    """`index = [...]` or `sources = {...}` in which an added table finds its place, the line that a new one is put
    beside, and pip's part without an item."""
    if row == "- pip:":
        return any(not one["write"] for one in before["instead"])
    if any(not one["number"] for one in before["instead"]) and "torchvision" in row:
        return True
    return bool(before["add"]) and row.startswith(("index = [", "sources = {"))


@for_each(("name", "text"), FORMS, quick=3)
def test_an_edited_file_keeps_what_it_promises(
    name: str, text: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    check(name, text, BLACKWELL, tmp_path, capsysbinary)


@pytest.mark.slow
def test_on_another_machine_too(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with Faults() as faults:
        for name, text in FORMS:
            with faults.of(text):
                check(name, text, OLD_DRIVER, tmp_path, capsysbinary)


def test_what_cannot_be_kept_is_refused_in_one_line(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Dotted keys of a table cannot be added to; the text still tells what to write."""
    file = tmp_path / "pyproject.toml"
    text = '[project]\ndependencies = ["torch==2.5.1"]\n[tool.uv]\nsources.numpy = { index = "a" }\n'
    code, told = edited(file, text.encode(), BLACKWELL, capsysbinary)
    assert code == 2 and told.count(b"\n") == 1 and b"cannot be edited automatically" in told, told
    assert run(["resolve", "-r", str(file), *BLACKWELL]) == 1
    assert b"torch==2.7.1" in capsysbinary.readouterr().out


def test_the_name_of_an_index_follows_its_address(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Everywhere; a name without the tag stays, and an index that another platform's packages are from."""
    for name, text in FORMS:
        if 'name = "pytorch-cu124"' in text:
            _, after = edited(tmp_path / name, text.encode(), BLACKWELL, capsysbinary)
            gone = b"cu124" not in after
            assert gone or "win32" in text or '"other"' in text, after  # the file has another index for torch already
            if not gone:
                continue
            named = text.replace("pytorch-cu124", "pytorch")
            _, kept = edited(tmp_path / name, named.encode(), BLACKWELL, capsysbinary)
            assert kept == after.replace(b"pytorch-cu128", b"pytorch"), kept


def test_a_terminal_gets_no_hidden_characters(tmp_path: Path) -> None:
    """A file or pipe gets the user's own bytes."""
    file = tmp_path / "requirements.txt"
    file.write_bytes(b"# \x1b[2J\r\ntorch==2.5.1\r\n")
    command = [sys.executable, "-m", "doctor", "resolve", "-r", str(file), *BLACKWELL, "--format", "edited"]
    piped = subprocess.run(command, capture_output=True, check=False).stdout
    main, other = os.openpty()
    subprocess.run(command, stdout=other, check=False)
    os.close(other)
    shown = os.read(main, 10_000)
    os.close(main)
    assert b"# \x1b[2J\r\n" in piped and b"\x1b" not in shown and b"torch==2.7.1+cu128" in shown, (piped, shown)
