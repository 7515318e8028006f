"""`python` of the MCP server's tools: the interpreter of an environment, and never another program."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from gpudoctor._interpreter import interpreter

from .environments import with_torch

PREFIX = Path(sys.prefix)


def test_environments_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked, copied = with_torch(tmp_path / "linked"), with_torch(tmp_path / "copied", copies=True)
    conda = tmp_path / "conda"
    shutil.copytree(Path(sys.base_prefix) / "bin", conda / "bin", symlinks=True, ignore=lambda *_: ())
    for name in ("conda-meta", "lib/python3.11"):
        (conda / name).mkdir(parents=True)
    (conda / "lib" / "python3.11" / "os.py").write_text("")
    for prefix in (PREFIX, Path(sys.base_prefix), linked, copied, conda):
        found = interpreter(str(prefix))
        assert found and Path(found).parent == prefix / "bin", prefix
        assert interpreter(found) == found
    assert interpreter(sys.executable) == sys.executable
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))  # Debian has no `python` there
    assert interpreter(Path(sys.executable).name) == sys.executable


def test_what_is_none(tmp_path: Path) -> None:
    """Nothing of it is run: each would leave its mark."""
    mark = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {mark}\n"

    def put(path: Path, program: str | Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(program, Path):
            shutil.copy(program, path)
        else:
            path.write_text(program)
        path.chmod(0o755)
        return path

    downloads = tmp_path / "Downloads"
    posing = with_torch(downloads / "posing")
    for name in os.listdir(posing / "bin"):
        if name.startswith("python"):
            (posing / "bin" / name).unlink()
    other = with_torch(downloads / "other")
    for name in os.listdir(other / "bin"):
        if name.startswith("python"):
            (other / "bin" / name).unlink()
    linked = downloads / "linked" / "bin" / "python"
    linked.parent.mkdir(parents=True)
    linked.symlink_to("/bin/false")
    alone = put(downloads / "alone" / "bin" / "python3", Path(sys.executable).resolve())
    refused = [
        "/bin/false", "false", "/bin/sh", "/dev/null", str(tmp_path), "/nonexistent", "", " ", "-", "--prove", "..",
        str(put(downloads / "run.sh", script)),
        str(put(downloads / "python", script)),
        str(put(posing / "bin" / "python", script)),
        str(posing),
        str(put(other / "bin" / "python", Path("/bin/false"))),
        str(other),
        str(linked),
        str(alone),  # a Python without its standard library is no environment
        str(put(downloads / "bin" / "python3", b"\x7fELF".decode() + "Py_BytesMain")),
        "x" * 5000, "a\0b",
    ]  # fmt: skip
    assert {path: interpreter(path) for path in refused} == dict.fromkeys(refused, "")
    assert not mark.exists()


def test_a_loop_of_links_and_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("python3")
    assert interpreter(str(tmp_path / "python3")) == ""
    os.mkfifo(tmp_path / "python")
    assert interpreter(str(tmp_path / "python")) == ""
