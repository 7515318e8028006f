"""`gpudoctor fix --apply` on a real environment with the real torch CPU wheel: repaired, and restored by its file."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.command import gpudoctor, one_line, save
from ..healthy import healthy
from ..parts import torch_wheel
from ..torches import not_asked, with_torch


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with torch's CPU build, and a sympy older than torch requires."""
    wheel = torch_wheel()
    assert wheel is not None
    folder = tmp_path_factory.mktemp("sick") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, timeout=400)
    subprocess.run([*pip, "--no-deps", "sympy==1.12"], check=True, timeout=200)
    return folder


def sympy(folder: Path) -> str:
    program = "from importlib.metadata import version; print(version('sympy'))"
    asked = [str(folder / "bin/python"), "-c", program]
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.torch_wheel
def test_a_package_off_torchs_bounds_is_repaired_and_restored(environment: Path, tmp_path: Path) -> None:
    restore = tmp_path / "before.txt"
    flags = ("--python", environment, "--expect", "any", "--no-import")
    assert sympy(environment) == "1.12"

    done = gpudoctor("fix", "torch-requirements-unmet", "--apply", "--yes", "--restore-file", restore, *flags)
    assert done.returncode == 0, done
    assert b"repaired: torch-requirements-unmet" in done.stdout and b"before" in done.stdout
    assert sympy(environment) != "1.12"
    assert gpudoctor("fix", "torch-requirements-unmet", *flags).returncode == 0, "there is nothing left to repair"

    lines = restore.read_text().splitlines()
    assert "sympy==1.12" in lines
    command = next(line for line in lines if "install" in line and line.startswith("#   ")).removeprefix("#   ")
    # The index for torch's local version is of use where torch itself was replaced: here nothing may be fetched of it.
    kept = [line for line in lines if not line.startswith(("torch==", "torch @", "--extra-index-url"))]
    restore.write_text("\n".join(kept) + "\n")
    subprocess.run(shlex.split(command), check=True, timeout=200, capture_output=True)
    assert sympy(environment) == "1.12"


@pytest.mark.torch_wheel
def test_no_cuda_build_is_installed_where_there_is_no_gpu(environment: Path, tmp_path: Path) -> None:
    """The machine has no GPU: the fix of cpu-only-torch waits for another machine, --apply leaves it alone."""
    done = gpudoctor("fix", "--apply", "--yes", "--python", environment, "--no-import", cwd=tmp_path)
    report = json.loads(gpudoctor("check", "--python", environment, "--no-import", "--format", "json").stdout)
    if report["findings"][0]["id"] != "no-nvidia-gpu":
        pytest.skip("this machine has an NVIDIA GPU")
    assert done.returncode == 1
    assert b"nothing was changed" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_plan_of_a_saved_report(tmp_path: Path) -> None:
    healthy_report = save(tmp_path, healthy(), name="healthy.json")
    assert gpudoctor("fix", "--from", healthy_report).returncode == 0
    sick = save(tmp_path, not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124")), name="sick.json")
    text = gpudoctor("fix", "--from", sick)
    assert text.returncode == 1 and b"pip install" in text.stdout
    plan = json.loads(gpudoctor("fix", "--from", sick, "--format", "json").stdout)
    assert plan["fixes"] and plan["ends"] in ("pass", "look-again")


def test_refusals(tmp_path: Path) -> None:
    report = save(tmp_path, healthy())
    assert "--apply" in one_line(gpudoctor("fix", "--apply", "--from", report))
    assert "no such check" in one_line(gpudoctor("fix", "no-such-id", "--from", report))
    assert "--yes" in one_line(gpudoctor("fix", "--yes", "--from", report))
