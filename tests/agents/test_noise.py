"""What a library prints: it spoils no line, and none of it is lost, whichever agent it is and however that ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pynvml
import pytest

from doctor.targets.process import agent_argv, script_argv, start_agent, wait_agents

from ..rows import for_each
from .run import DEADLINE_S, PATIENT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries of ELF")
NOISE = ("Python on stdout", "C on stdout", "Python on stderr")
"""Each without the end of its line, which a buffer of lines would keep."""
TORCH = f"""
import ctypes, os, sys
print("{NOISE[0]}", end="")
ctypes.CDLL(None).printf(b"{NOISE[1]}")
print("{NOISE[2]}", end="", file=sys.stderr)
"""
ENDS = {"raises": "raise ImportError('no torch')", "killed": "os.kill(os.getpid(), 9)"}
"""A hang ends as `killed` does, and a crash runs no exit handler either."""
AGENTS = {
    "torch_facts": [],
    "torch_proof": ["--device", "cpu"],
    "torch_speed": ["--device", "cpu"],
    "torch_soak": ["--device", "cpu", "--seconds", "1"],
    "training_speed": ["--device", "cpu"],
    "collective_proof": ["--device", "cpu", "--seconds", "5"],
    "collective_speed": ["--device", "cpu"],
    "fit_pass": [json.dumps({"runs": [], "batch": 1, "sequence": 1})],
}
"""Those that import torch, with arguments that let each come to it."""
C = """
#include <stdio.h>
int nvmlInit_v2(void) { printf("C on stdout"); return 9; }
int nvmlInitWithFlags(unsigned flags) { return flags ? 0 : nvmlInit_v2(); }
int cuInit(unsigned flags) { return flags ? 0 : nvmlInit_v2(); }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
"""
ASKING = {
    "cuda_driver": [],
    "driver_proof": [],
    "nvml": [str(Path(pynvml.__file__).parent)],
}
"""Those that load a driver's library, beside the sampler, which ends with its stdin."""


@for_each("end", list(ENDS), quick=2)
def test_what_torch_prints_is_kept(tmp_path: Path, end: str) -> None:
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH + ENDS[end] + "\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env |= {"PYTHONPATH": str(package.parent)}
    started = [
        start_agent(script_argv(sys.executable, str(PATIENT / f"{name}.py"), *arguments), DEADLINE_S, env)
        for name, arguments in AGENTS.items()
    ]
    for name, result in zip(AGENTS, wait_agents(*started), strict=True):
        assert result.noise == [], name
        assert [text for text in NOISE if text not in result.stderr_tail] == [], (name, result.stderr_tail)


def test_what_a_driver_prints_is_kept(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(C)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", name, "driver.c"], cwd=tmp_path, check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    started = [
        start_agent(agent_argv(str(PATIENT / f"{name}.py"), *arguments), DEADLINE_S, env)
        for name, arguments in ASKING.items()
    ]
    for name, result in zip(ASKING, wait_agents(*started), strict=True):
        assert result.fault is None and result.noise == [], (name, result)
        assert "C on stdout" in result.stderr_tail, (name, result.lines)
    sampler = agent_argv(str(PATIENT / "nvml_sampler.py"), *ASKING["nvml"])
    with subprocess.Popen(
        sampler, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdin and run.stdout and run.stderr
        assert any(b'"init"' in line for line in run.stdout)
        run.stdin.close()
        assert b"C on stdout" in run.stderr.read()


def test_every_agent_with_a_library_is_among_these() -> None:
    """Whoever diverts stdout does it by the one function, and is run above (far and far_answer run others of them)."""
    texts = {path.stem: path.read_text("utf-8") for path in PATIENT.glob("*.py")}
    calling = {name for name, text in texts.items() if "real_output()" in text} - {"noise"}
    assert calling == {*AGENTS, *ASKING, "nvml_sampler", "far", "far_answer"}
    diverting = {name for name, text in texts.items() if "os.dup2(2, 1)" in text}
    assert diverting == {"noise", "driver_proof"}  # and back, where it cannot become itself once more
