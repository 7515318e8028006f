"""A different Python, if the patient's has no wheel that fits."""

from __future__ import annotations

from collections.abc import Sequence

from compat_matrix.versions import numbers

from ..findings import Fix, Matrix
from ..snapshot import Snapshot, known
from .machine import wheel_platform
from .torch import install_torch
from .which_torch import which_torch


def compatible_python(s: Snapshot, m: Matrix, gpus: Sequence[str] | None = None, *, any_driver: bool = False) -> str:
    """A Python version that a fitting torch build has a wheel for, near the newest; '' where there is none.

    Not the very newest one: other packages follow later. The nearest to the patient's where that is newer than all.
    """
    choice = which_torch(s, m, gpus=gpus, any_python=True, any_driver=any_driver)
    release = m.torch_release(choice.build.torch).release if choice else None
    if release is None:
        return ""
    pythons: list[str] = [name for name in getattr(release, f"pythons_{wheel_platform(s)}") if not name.endswith("t")]
    if pythons and numbers(known(s.python.patient.version))[:2] > numbers(pythons[-1])[:2]:
        return pythons[-1]
    return pythons[-3] if len(pythons) > 2 else pythons[-1] if pythons else ""


def new_python_fix(s: Snapshot, m: Matrix, gpus: Sequence[str] | None = None) -> Fix | None:
    """Make an environment of a Python that has a fitting torch wheel, and install torch there."""
    python = compatible_python(s, m, gpus)
    if not python:
        return None
    old = known(s.python.patient.version)
    title = (
        f"Use Python {python}: no torch build that fits has a wheel for Python {old}"
        if old
        else (f"Use Python {python}, for which the torch build that fits has a wheel")
    )
    return install_torch(s, m, id="new-python-environment", title=title, gpus=gpus, python=python)
