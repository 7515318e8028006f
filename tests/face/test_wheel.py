"""The wheel as pip builds it, and as a release is built (CONTRIBUTING)."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ..rows import for_each
from ..shared import pip_command

ROOT = Path(__file__).parents[2]
WANTED = {
    "doctor/report/page.html.j2",
    "doctor/report/page.js",
    "doctor/commands/printed/systemd.txt",
    "doctor/fleet/configmap.yaml",
    "doctor/fleet/daemonset.yaml",
    "gpudoctor/py.typed",
}


def _built(folder: Path, release: bool) -> Path:
    """A new wheel; of a release with the packages that it is built with."""
    command = [*pip_command(), "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    if release:
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        pip = [str(folder / "venv/bin/pip"), "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "hatchling", "deflate"], check=True, capture_output=True)
        command = [*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _same(name: str, data: bytes) -> bool:
    """Whether a file is as it is here; of Python all that is run and each docstring that is read, with each line where it was."""
    here = (ROOT / name).read_bytes()
    if not name.endswith(".py"):
        return data == here
    one, other = (_run(code, name.startswith("gpudoctor/")) for code in (data, here))
    return one == other


def _run(code: bytes, is_public: bool) -> str:
    """The syntax tree without the strings that Python drops itself, those below constants and fields, and without the
    docstrings of functions, unless they are of the public package or may be a command's help."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        is_plain = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list
        if is_plain and not is_public:
            node.body = [one for one in node.body[:1] if not (node.body[1:] and _dropped(one))] + node.body[1:]
        if isinstance(node, (ast.Module, ast.ClassDef)):
            first, rest = node.body[:1], node.body[1:]
            node.body = [*first, *(one for one in rest if not _dropped(one))]
        if isinstance(node, ast.ClassDef):
            node.end_lineno = node.end_col_offset = None  # the last one may have been such a string
    return ast.dump(tree, include_attributes=True)


def _dropped(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


@pytest.mark.network
@for_each("release", [False, True])
def test_it_is_small_and_whole(release: bool, tmp_path: Path) -> None:
    """With the templates and the data that the commands read, and none of what people read; a release's under 2.3 MiB."""
    folder = tmp_path / str(release)
    folder.mkdir()
    wheel = _built(folder, release)
    assert not release or wheel.stat().st_size < 2_411_724
    packed = zipfile.ZipFile(wheel)
    assert packed.testzip() is None
    names = set(packed.namelist())
    assert any(name.endswith(".data/data/share/man/man1/gpudoctor.1") for name in names)
    assert names >= WANTED and not [name for name in names if name.startswith("doctor/text/catalogue/")]
    (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
    for name, digest, size in csv.reader(packed.read(record).decode().splitlines()):
        data = packed.read(name)
        told = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert not digest or (digest, int(size)) == (f"sha256={told}", len(data)), name
        assert ".dist-info/" in name or ".data/" in name or _same(name, data), name
    target = ["install", "-q", "--no-deps", "--target", str(folder / "there"), str(wheel)]
    subprocess.run([*pip_command(), *target], check=True, capture_output=True)
