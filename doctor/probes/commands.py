"""Who is asked in a live run: the commands of the agents, and with which Python they run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_PATIENT = f"{os.path.dirname(os.path.dirname(__file__))}/patient"  # noqa: PTH120 (pathlib costs 5 ms to import)


def driver_commands() -> dict[str, list[str]]:
    """The commands of the agents that ask NVML and libcuda; they run in gpudoctor's own Python."""
    return {"cuda_driver": own_agent("cuda_driver"), "nvml": own_agent("nvml", nvml_binding())}


def own_agent(name: str, *arguments: str) -> list[str]:
    """The command of an agent that runs in gpudoctor's own Python."""
    from ..targets.process import agent_argv

    return agent_argv(f"{_PATIENT}/{name}.py", *arguments)


def nvml_binding() -> str:
    """The folder that nvidia-ml-py lies in; empty if it is not installed."""
    return next((p for p in sys.path if p and os.access(f"{p}/pynvml.py", os.R_OK)), "")


def torch_command(patient: Mapping[str, Any], agent: str = "torch_facts") -> list[str] | None:
    """The command of an agent that imports torch in the patient's Python; None if that has no interpreter.

    `patient`: the gatherer's line of that Python. Nothing in the working directory is imported: a file there must not
    run because gpudoctor was called there (what its name would hide is read from the folder's list).
    """
    from ..targets.process import script_argv

    python = patient.get("executable")
    if not isinstance(python, str) or not python:
        return None
    return script_argv(python, f"{_PATIENT}/{agent}.py")
