"""The children of a live run: who is started, with which Python, and how their answers join the facts from files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ..snapshot import Missing, Snapshot, TorchRun
from ..targets.agent import AgentResult
from ..targets.local import Line

_PATIENT = f"{os.path.dirname(os.path.dirname(__file__))}/patient"  # noqa: PTH120 (pathlib costs 5 ms to import)
_FROM_FILES = ("driver.nvml_library_path", "driver.nvml_library_version", "driver.libcuda_path",
               "driver.libcuda_version", "driver.libcuda_stub")  # fmt: skip


def driver_commands() -> dict[str, list[str]]:
    """The commands of the agents that ask NVML and libcuda; they run in gpudoctor's own Python."""
    from ..targets.process import agent_argv

    binding = next((p for p in sys.path if p and os.access(f"{p}/pynvml.py", os.R_OK)), "")
    return {
        "cuda_driver": agent_argv(f"{_PATIENT}/cuda_driver.py"),
        "nvml": agent_argv(f"{_PATIENT}/nvml.py", binding),
    }


def torch_command(patient: Line, cwd: str) -> list[str] | None:
    """The command that imports torch in the patient's Python; None where that has no interpreter.

    A torch in the working directory is what the user's scripts there would import. It is taken first only where the
    folder is the user's own: a stranger's file in /tmp must not run because gpudoctor was called there.
    """
    python = patient.get("executable")
    if not isinstance(python, str) or not python:
        return None
    command = [python, f"{_PATIENT}/torch_facts.py"]
    if cwd and any(os.access(f"{cwd}/{name}", os.R_OK) for name in ("torch/__init__.py", "torch.py")):
        try:
            status = os.stat(cwd)  # noqa: PTH116
        except OSError:
            return command
        if hasattr(os, "geteuid") and status.st_uid == os.geteuid() and not status.st_mode & 0o022:
            command.append("--cwd-first")
    return command


def with_answers(snapshot: Snapshot, agents: Mapping[str, AgentResult], manifest: Mapping[str, Any]) -> Snapshot:
    """The Snapshot of the files with what the agents said. A library that a dead agent did not name stays as found."""
    from .agent_lines import merge_changes

    changes: dict[str, Any] = {}
    witnesses = dict(snapshot.witnesses)
    for name in ("cuda_driver", "nvml", "torch"):
        if name in agents:
            said, spoke = _parse(name, agents[name])
            changes = merge_changes(changes, said)
            witnesses.update(spoke)
    for path in _FROM_FILES:
        if path in changes and isinstance(changes[path], Missing) and changes[path].reason != "absent":
            del changes[path]
    if "torch" not in agents and manifest.get("import_torch") is True:
        changes.update(dict.fromkeys(_RUN, _not_run(snapshot)))
    return snapshot.replace({**changes, "witnesses": witnesses})


_RUN = tuple(f"torch_run.{name}" for name in TorchRun.__struct_fields__ if name != "warnings")


def _not_run(snapshot: Snapshot) -> Missing:
    version, python = snapshot.torch.version, snapshot.python.patient.executable
    if isinstance(version, Missing):
        return version
    if isinstance(python, Missing):
        return Missing("absent", "the environment has no interpreter")
    return Missing("timeout", "its files were not read in time")


def _parse(name: str, result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    if name == "nvml":
        from .nvml import parse_nvml

        return parse_nvml(result)
    if name == "cuda_driver":
        from .cuda_driver import parse_cuda_driver

        return parse_cuda_driver(result)
    from .torch_run import parse_torch_run

    return parse_torch_run(result)
