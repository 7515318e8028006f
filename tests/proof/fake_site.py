"""A site-packages folder with the fake torch, and the agents run on it as gpudoctor runs them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import doctor.patient
from doctor.targets.agent import AgentResult
from doctor.targets.process import OnLine, script_argv, start_agent, wait_agents

PATIENT = Path(doctor.patient.__file__).parent
DEADLINE_S = 60.0
SHORT_S = 0.5
CLEARED = ("CUDA_", "NVIDIA_", "LD_", "ONEDNN_", "DNNL_", "NCCL_", "GLOO_", "PYTHON")


def environment(folder: Path, **told: Any) -> dict[str, str]:
    """An environment whose torch is the fake one, with its settings and a JIT cache of its own."""
    package = folder / "site" / "torch"
    package.mkdir(parents=True)
    here = Path(__file__).parent
    shutil.copy(here / "fake_torch.py", package / "__init__.py")
    shutil.copy(here / "fake_distributed.py", package / "distributed.py")
    (folder / "tmp").mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(CLEARED)},
        "PYTHONPATH": str(folder / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_CACHE_PATH": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        "FAKE_TORCH": json.dumps(told),
        "FAKE_TORCH_BACKENDS": str(folder / "backends"),
    }


def run(
    agent: str,
    env: dict[str, str],
    *arguments: str,
    python: str = sys.executable,
    silent_in: tuple[str, str] | None = None,
    on_line: OnLine | None = None,
) -> AgentResult:
    """Run an agent to its end. `silent_in`: the step and device behind which it is given little time."""
    argv = script_argv(python, str(PATIENT / f"{agent}.py"), *arguments)

    def heard(line: dict[str, Any]) -> None:
        if silent_in and (line.get("begin"), line.get("device")) == silent_in:
            child.deadline = monotonic() + SHORT_S
        if on_line is not None:
            on_line(line)

    child = start_agent(argv, DEADLINE_S, env, heard)
    return wait_agents(child)[0]


def rows(result: AgentResult, kind: str) -> list[Any]:
    """The objects of one kind of line, in order."""
    return [line[kind] for line in result.lines if kind in line]


def fields(result: AgentResult) -> dict[str, Any]:
    """Field to value."""
    return {line["field"]: line["value"] for line in result.lines if "field" in line and "value" in line}
