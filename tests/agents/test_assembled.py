"""An agent in one piece, sent through a pipe to a Python that has nothing of gpudoctor, says what it says here."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest

from doctor.targets.assembled import assembled

from .run import PATIENT, run_cuda, run_nvml

OnMachine = Callable[..., dict[str, str]]
TIMES = {"counters_ms"}


def oldest() -> str:
    """A Python 3.8 where there is one, else this one."""
    beside = Path(sys.base_prefix).parent.glob("3.8*/bin/python")  # as pyenv has them; its shims may not start
    found = [*map(str, beside), *filter(None, [shutil.which("python3.8")])]
    starts = (p for p in found if subprocess.run([p, "-c", ""], capture_output=True).returncode == 0)
    return next(starts, sys.executable)


def piped(python: str, name: str, arguments: list[str], env: dict[str, str], folder: Path) -> list[dict[str, Any]]:
    argv = [python, "-I", "-S", "-", *arguments]
    text = assembled(name).encode()
    done = subprocess.run(argv, input=text, env=env, cwd=folder, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but times."""
    return [{k: v for k, v in line.items() if k != "ms"} for line in lines if line.get("field") not in TIMES]


@pytest.mark.parametrize("python", [oldest(), sys.executable], ids=["oldest", "this"])
def test_a_piped_agent_says_what_it_says_here(on_machine: OnMachine, tmp_path: Path, python: str) -> None:
    env = on_machine("healthy-h100")
    assert told(piped(python, "cuda_driver", [], env, tmp_path)) == told(run_cuda(env).lines)
    folder = os.path.dirname(pynvml.__file__)
    there = told(piped(python, "nvml", [folder], env, tmp_path))
    if not any(line.get("field") == "binding" and "error" in line for line in there):  # the binding needs a newer one
        assert there == told(run_nvml(env).lines)
    assert any(line.get("field") == "library" and "value" in line for line in there)


def test_an_agent_of_one_file_is_sent_as_it_is(tmp_path: Path) -> None:
    assert piped(oldest(), "unlisted_gpus", [str(tmp_path)], dict(os.environ), tmp_path) == []


@pytest.mark.slow
def test_every_part_that_an_agent_imports_is_sent_with_it() -> None:
    """`from . import part` would not be seen: what names the part is."""
    for path in PATIENT.glob("*.py"):
        used = {
            node.module or f"import without a name in line {node.lineno}"
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.level == 1
        }
        sent = assembled(path.stem)
        assert {
            part for part in used if f"part('{part}', " not in sent and f"part(\\'{part}\\', " not in sent
        } == set(), path


def test_what_is_sent_is_made_of_short_parts() -> None:
    sizes = {path.name: len(path.read_text("utf-8").splitlines()) for path in PATIENT.glob("*.py")}
    assert {name: size for name, size in sizes.items() if size > 300} == {}
    agents = ("nvml", "cuda_driver", "driver_proof", "torch_proof", "collective_proof", "torch_speed", "training_speed",
              "nvml_sampler")  # fmt: skip
    for name in agents:
        assert "\\npart(" in assembled(name)
