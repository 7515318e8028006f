"""What is installed in the patient's own Python environment, before and after a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..findings import Step
from ..snapshot import ABSENT, Distribution, Missing, Snapshot, known
from .install import environment_line, remove_line

NEW_VENV = "~/venv-gpu"
"""Where a fix makes an environment when the patient's own must not or cannot be changed."""


def uninstall_command(s: Snapshot, names: Sequence[str]) -> str:
    """Removes distributions with the tool that installed them (conda's own packages with conda)."""
    return remove_line(s, names, installed_by_conda(s, names))


def installed_by_conda(s: Snapshot, names: Sequence[str]) -> bool:
    """Whether conda brought one of these."""
    if known(s.python.patient.prefix):
        return any(d.installer == "conda" for d in installed(s, names))
    return "torch" in names and known(s.torch.installer) in ("conda", "mamba", "conda-forge")


def installed(s: Snapshot, names: Sequence[str]) -> tuple[Distribution, ...]:
    """The distributions of these names that are installed (none where the list is not known)."""
    return tuple(d for d in known(s.python.distributions) or () if d.name in names)


def needs_new_environment(s: Snapshot) -> bool:
    """Whether the patient must not be installed into (PEP 668) or cannot be written by this user."""
    patient = s.python.patient
    return known(patient.externally_managed) is True or known(patient.writable) is False


def new_environment(s: Snapshot, python: str = "") -> tuple[Step, Snapshot]:
    """The step that makes a virtual environment, and the Snapshot after it (empty environment, pip inside).

    `python`: a version such as `3.12` where the patient's own version will not do; uv then fetches it.
    """
    if python:
        text = f"Create a new environment with Python {python}; the one that was examined stays as it is."
    else:
        text = "Create your own virtual environment; do not install into the one that was examined."
    version = python or s.python.patient.version
    # The rest of the environment is known to be empty only once it has been made.
    patient = {
        "prefix": NEW_VENV, "executable": f"{NEW_VENV}/bin/python", "version": version, "kind": "venv",
        "externally_managed": False, "writable": True, "torch_version": ABSENT, "site_packages": Missing("recheck"),
    }  # fmt: skip
    if python:
        patient["free_threaded"] = False
    pip = Distribution(name="pip", version="0", location=f"{NEW_VENV}/lib/python/site-packages")
    changes: dict[str, Any] = {f"python.patient.{name}": value for name, value in patient.items()}
    changes.update({"python.distributions": (pip,), "python.extensions": (), "torch.version": ABSENT})
    command = environment_line(s, NEW_VENV, python)
    return Step(text=text, command=command, where="shell", changes=changes), s.replace(changes)


def with_distributions(
    s: Snapshot, put: Sequence[Distribution], drop: Sequence[str] = ()
) -> tuple[Distribution, ...] | Missing:
    """The list of distributions after some were installed (each replaces its namesakes) and others removed."""
    if isinstance(s.python.distributions, Missing):
        return s.python.distributions
    gone = {*drop, *(d.name for d in put)}
    return (*put, *(d for d in s.python.distributions if d.name not in gone))


def site_packages(s: Snapshot) -> str:
    """Where an install would go: next to the installed torch, else the first site-packages folder."""
    for distribution in installed(s, ("torch", "pip")):
        return distribution.location
    folders = known(s.python.patient.site_packages)
    return folders[0] if folders else "site-packages"
