"""An environment whose Python does not start fails, in `check` and `healthcheck`, and what is no fault does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..reaction import unhurried
from ..rows import for_each
from .command import COMMAND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links, rights and signals of Linux")
ID = "python-does-not-start"
UV = "/nowhere/.local/share/uv/python/cpython-3.11.7-linux-x86_64-gnu/bin/python3.11"


def _run(words: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME")}
    return subprocess.run(
        [COMMAND, *unhurried(words)], env={**kept, **env}, capture_output=True, text=True, check=False
    )


def _link(target: str) -> Callable[[Path], None]:
    def harm(binaries: Path) -> None:
        for path in binaries.glob("python*"):
            path.unlink()
        (binaries / "python3").symlink_to(target)

    return harm


def _script(text: str, mode: int = 0o755) -> Callable[[Path], None]:
    def harm(binaries: Path) -> None:
        for path in binaries.glob("python*"):
            path.unlink()
        (binaries / "python3").write_text(text)
        (binaries / "python3").chmod(mode)

    return harm


def _of_another_processor(binaries: Path) -> None:
    """An ELF header of a machine that this one is not: RISC-V, or x86-64 on RISC-V."""
    _script("")(binaries)
    number = 62 if os.uname().machine.startswith("riscv") else 243
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + (2).to_bytes(2, "little") + number.to_bytes(2, "little")
    (binaries / "python3").write_bytes(header + (1).to_bytes(4, "little") + bytes(40))


def _gone(binaries: Path) -> None:
    for path in binaries.glob("python*"):
        path.unlink()


DEAD: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "removed": (_link("/gone"), "gone", "is a link to /gone, which does not exist"),
    "removed by uv": (_link(UV), "gone", UV),
    "removed by pyenv": (_link("/nowhere/.pyenv/versions/3.12.1/bin/python3"), "gone", "3.12.1"),
    "no file at all": (_gone, "gone", "does not exist"),
    "not executable": (_script("#!/bin/sh\n", 0o644), "refused", "Permission denied"),
    "another processor": (_of_another_processor, "refused", "for a different processor"),
    "its interpreter is gone": (_script("#!/nowhere/python3.9\n"), "gone", "does not exist"),
    "crashes": (_script("#!/bin/sh\nkill -SEGV $$\n"), "crash", "signal 11"),
    "a library is missing": (
        _script("#!/bin/sh\necho libpython3.so: no such file >&2\nexit 127\n"),
        "crash",
        "libpython3",
    ),
    "is no Python": (_script("#!/bin/sh\nexit 0\n"), "crash", "did not behave like Python"),
}


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One dead environment for each way to die."""
    base = tmp_path_factory.mktemp("dead")
    made = {}
    for name, (harm, _, _) in DEAD.items():
        made[name] = base / name.replace(" ", "-")
        venv.create(made[name], with_pip=False, symlinks=True)
        harm(made[name] / "bin")
    return made


@for_each("name", sorted(DEAD), quick=4)
def test_check_and_healthcheck_fail(name: str, environments: dict[str, Path]) -> None:
    prefix, (_, fault, words) = environments[name], DEAD[name]
    if name in ("removed", "not executable", "crashes"):
        line = _run(["healthcheck", "--expect", "any"], VIRTUAL_ENV=str(prefix))
        assert line.returncode == 1 and line.stdout.startswith(f"FAIL {ID}"), line
    done = _run(["check", "--no-import", "--expect", "any", "--format", "json"], VIRTUAL_ENV=str(prefix))
    report: dict[str, Any] = json.loads(done.stdout)
    first = report["findings"][0]
    assert (done.returncode, first["id"], first["facts"]["fault"]) == (1, ID, fault)
    assert words in first["detail"].replace("~", os.environ.get("HOME", "~")), first["detail"]
    steps = [step["command"] for fix in first["fixes"] for step in fix["steps"]]
    assert all(f"{prefix}/bin" not in step for step in steps), "nothing is run by the Python that does not start"
    assert any("venv --clear" in step and step.endswith(str(prefix)) for step in steps), steps


def test_the_python_that_is_named_is_tried_too(environments: dict[str, Path]) -> None:
    prefix = environments["removed"]
    for named in ("/bin/false", str(prefix), str(prefix / "bin" / "python3")):
        done = _run(["check", "--expect", "any", "--python", named])
        assert done.returncode == 1 and "This environment's Python does not start" in done.stdout, done
        assert f"{named} -m" not in done.stdout and "Traceback" not in done.stderr


def test_a_folder_without_a_python_is_none(tmp_path: Path) -> None:
    done = _run(["check", "--expect", "any", "--python", str(tmp_path)])
    assert done.returncode == 2 and done.stderr.endswith("no Python environment found\n") and not done.stdout


def test_a_variable_that_breaks_it_is_named(tmp_path: Path) -> None:
    venv.create(tmp_path / "sound", with_pip=False, symlinks=True)
    words = ["check", "--no-import", "--expect", "any", "--python", str(tmp_path / "sound"), "--format", "json"]
    # in isolated mode gpudoctor's own Python does not heed the variable
    command = [sys.executable, "-I", "-m", "doctor", *words]
    env = {**os.environ, "PYTHONHOME": "/nowhere"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    first = json.loads(done.stdout)["findings"][0]
    assert first["id"] == ID and first["fixes"][0]["steps"][0]["command"] == "unset PYTHONHOME"


def test_what_is_no_fault(tmp_path: Path) -> None:
    venv.create(tmp_path / "sound", with_pip=False, symlinks=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "python3").write_text("#!/bin/sh\nexit 1\n")  # a shell passes over what it may not execute
    path = f"{tmp_path / 'early'}:{tmp_path / 'sound' / 'bin'}:{os.environ['PATH']}"
    for env, words in (
        ({"VIRTUAL_ENV": str(tmp_path / "sound")}, "is set to"),
        ({"VIRTUAL_ENV": str(tmp_path / "none")}, "which is not a folder"),
        ({"VIRTUAL_ENV": str(tmp_path / "empty")}, "which holds no Python"),
        ({"CONDA_PREFIX": str(tmp_path / "empty")}, "which holds no Python"),
        ({}, "python3 on PATH"),
    ):
        done = _run(["check", "--no-import", "--expect", "any", "--format", "json"], **{"PATH": path, **env})
        report = json.loads(done.stdout)
        python = report["snapshot"]["python"]
        assert ID not in [finding["id"] for finding in report["findings"]], (env, report["findings"])
        assert python["patient"]["starts"] is True and words in python["chosen_because"], (env, python)


@pytest.mark.slow
def test_the_fix_brings_it_back(tmp_path: Path) -> None:
    prefix = tmp_path / "venv"
    venv.create(prefix, with_pip=False, symlinks=True)
    DEAD["removed"][0](prefix / "bin")
    words = ["check", "--no-import", "--expect", "any", "--format", "json"]
    report = json.loads(_run(words, VIRTUAL_ENV=str(prefix)).stdout)
    command = report["findings"][0]["fixes"][0]["steps"][0]["command"]
    folder = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-c", command], env={**os.environ, "PATH": folder}, check=True, capture_output=True)
    after = json.loads(_run(words, VIRTUAL_ENV=str(prefix)).stdout)
    assert ID not in [finding["id"] for finding in after["findings"]]
