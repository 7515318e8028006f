"""Pythons that must not be installed into, and the user's site folder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .environments import Patient
from .judging import Doctor

pytestmark = pytest.mark.slow
New = Callable[..., Patient]
On = Callable[..., Doctor]


def managed(patient: Patient) -> Patient:
    """A Python that its system manages (PEP 668): pip itself refuses to install into it."""
    stdlib = next(patient.prefix.glob("lib/python*"))
    (stdlib / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=Use a virtual environment.\n")
    with pytest.raises(AssertionError, match="externally-managed"):
        patient.room.run(f"{patient.typed} -m pip install wheel")
    return patient


def test_a_new_environment_beside_the_systems(patient: New, doctor: On) -> None:
    sick = managed(patient("system"))
    own = sick.prefix
    commands = doctor("rtx5090").treat(sick, "torch-not-installed")
    assert sick.prefix != own and sick.prefix.is_relative_to(sick.room.folder), commands
    assert "torch" in sick.installed


@pytest.mark.parametrize("base", ["", "user"])
def test_a_copy_in_the_user_site(patient: New, doctor: On, base: str) -> None:
    """`pip install --user` put an older torch there (~/.local, or PYTHONUSERBASE), and it hides the environment's own."""
    sick = patient("system")
    sick.put("torch==2.9.1", by="pip")
    if base:
        sick.room.variables["PYTHONUSERBASE"] = str(sick.room.folder / base)
    sick.room.run(f"{sick.typed} -m pip install -q --user --no-deps --ignore-installed torch==2.6.0")
    assert sick.installed["torch"] == "2.6.0"
    doctor().treat(sick, "user-site-shadows-packages")
    assert sick.installed["torch"] == "2.9.1"
