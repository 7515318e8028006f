"""How the answers of a live run's children join the facts from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..snapshot import Missing, Snapshot, TorchRun
from ..targets.agent import AgentResult
from .commands import driver_commands, nvml_binding, own_agent, torch_command

__all__ = ["driver_commands", "nvml_binding", "own_agent", "torch_command", "with_answers"]

_FROM_FILES = ("driver.nvml_library_path", "driver.nvml_library_version", "driver.libcuda_path",
               "driver.libcuda_version", "driver.libcuda_stub")  # fmt: skip


def with_answers(snapshot: Snapshot, agents: Mapping[str, AgentResult], manifest: Mapping[str, Any]) -> Snapshot:
    """The Snapshot of the files with what the agents said. A library that a dead agent did not name stays as found."""
    from .agent_lines import merge_changes

    changes: dict[str, Any] = {}
    witnesses = dict(snapshot.witnesses)
    for name in ("cuda_driver", "nvml", "unlisted_gpus", "python", "torch"):
        if name in agents:
            facts, spoke = _parse(name, agents[name])
            changes = merge_changes(changes, facts)
            witnesses.update(spoke)
    gpus, devices = changes.get("gpus"), changes.get("driver.cuda_devices")
    if isinstance(gpus, tuple) and isinstance(devices, tuple):
        from .cuda_driver import with_cuda

        changes["gpus"] = with_cuda(gpus, devices)
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
    if name == "unlisted_gpus":
        from .unlisted import parse_unlisted

        return parse_unlisted(result)
    if name == "python":
        from .python_start import parse_python_start

        return parse_python_start(result)
    from .torch_run import parse_torch_run

    return parse_torch_run(result)
