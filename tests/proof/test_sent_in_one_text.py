"""Agents that fork or start themselves once more, sent through a pipe to a Python 3.8 that has nothing of gpudoctor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.targets.assembled import assembled
from tests.agents.test_assembled import oldest
from tests.fakes import Machine

from ..rows import for_each
from .fake_site import environment

OnMachine = Callable[..., dict[str, str]]
BROKEN = Machine.load("rtx3060-gtx1080").with_(fail__cuLaunchKernel__0="719")
LOADER = """
import torch, time
agent = Agent(1, "cpu", "standard", 60.0)
agent.torch, agent.fresh = torch, True
agent.loaders([0, 1], time.monotonic() + 20)
print(os.getcwd(), sorted(n for n in map(int, os.listdir("/proc/self/fd")) if n > 3))
"""
"""The loader's part alone, in a Python begun anew, as where the import of torch has touched CUDA."""
TORCH = """
import itertools, types
class DataLoader:
    def __init__(self, images, **settings): pass
    def __iter__(self): return itertools.repeat(None)
cuda = types.SimpleNamespace(is_available=lambda: False)
"""


def piped(text: str, *words: str, env: dict[str, str] | None = None, cwd: Path) -> list[Any]:
    """Its lines: JSON, or words where they are none."""
    argv = [oldest(), *words]
    done = subprocess.run(argv, input=text.encode(), env=env, cwd=cwd, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) if line.startswith(b"{") else line.decode() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("memory", [True, False], ids=["in memory", "in a folder"])
def test_after_an_error_the_driver_proof_goes_on_with_the_next_device(
    on_machine: OnMachine, tmp_path: Path, memory: bool
) -> None:
    (tmp_path / "driver_proof.py").write_text("raise SystemExit('of the working directory')")
    text = (
        assembled("driver_proof")
        if memory
        else f"import os\nvars(os).pop('memfd_create', 0)\n{assembled('driver_proof')}"
    )
    lines = piped(text, "-I", "-S", "-", env=on_machine(BROKEN), cwd=tmp_path)
    first, second = [line["driver_proof"] for line in lines if "driver_proof" in line]
    assert (first["device"], first["error_code"]) == (0, 719)
    assert (second["device"], second["right"]) == (1, True)


def test_pairs_and_ranks_are_processes_of_their_own(tmp_path: Path) -> None:
    env = environment(tmp_path, devices=2)
    (tmp_path / "here").mkdir()
    (tmp_path / "here/torch.py").write_text("raise ImportError('of the working directory')")
    lines = piped(assembled("collective_proof"), "-", "--seconds", "30", env=env, cwd=tmp_path / "here")
    assert [line["pair"]["right"] for line in lines if "pair" in line] == [True, True]
    assert [line["collective"]["right"] for line in lines if "collective" in line] == [True]
    assert len({pid for line in lines if line.get("field") == "pids" for pid in line["value"]}) == 3
    assert not list((tmp_path / "tmp").iterdir())


def with_torch_of(source: str, folder: Path) -> dict[str, str]:
    """The environment of a Python whose torch is this file."""
    for name in ("torch", "torch/utils", "torch/utils/data"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(source)
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def test_the_training_forks(tmp_path: Path) -> None:
    env = with_torch_of("raise ImportError('broken')", tmp_path)
    lines = piped(assembled("training_speed"), "-", "--device", "cpu", env=env, cwd=tmp_path)
    assert next(line["cpu"] for line in lines if "cpu" in line)["under_load"] > 0
    assert lines[-1]["ended"]["detail"] == "ImportError: broken"


@pytest.mark.slow
def test_the_training_measures_in_a_python_begun_anew(tmp_path: Path) -> None:
    text = f"__name__ = 'parts'\n{assembled('training_speed')}{LOADER}"
    lines = piped(text, "-", env=with_torch_of(TORCH, tmp_path), cwd=tmp_path)
    assert [line["rate"]["what"] for line in lines[:-1] if "rate" in line] == ["0", "1"]
    assert not [line for line in lines[:-1] if "ended" in line]
    assert lines[-1] == f"{tmp_path} []", "a descriptor was left open"


@for_each("name", ["collective_proof", "training_speed"])
def test_no_agent_takes_the_torch_of_the_folder_that_it_is_sent_to(tmp_path: Path, name: str) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('of the working directory')")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    argv = [sys.executable, "-", "--device", "cpu"]
    text = assembled(name).encode()
    done = subprocess.run(argv, input=text, env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert b"No module named 'torch'" in done.stdout and b"working directory" not in done.stdout
