"""Extensions that compile against the installed torch: built without isolation, since an isolated build finds no torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .environments import Patient
from .judging import Doctor

New = Callable[..., Patient]
On = Callable[..., Doctor]


@pytest.mark.parametrize("kind", [pytest.param("pip", marks=pytest.mark.slow), "uv"])
def test_flash_attn_is_required(patient: New, doctor: On, kind: str) -> None:
    sick = patient(kind)
    sick.put("torch==2.9.1")
    plain = {"pip": f"{sick.typed} -m pip install", "uv": f"uv pip install --python {sick.typed}"}[kind]
    with pytest.raises(AssertionError, match="No module named 'torch'"):
        sick.room.run(f"{plain} flash-attn")
    doctor().treat(sick, "required-package-missing", "--require", "flash-attn")
    built = next(sick.prefix.glob("lib/python*/site-packages/flash_attn/__init__.py")).read_text()
    assert "2.9.1+cu128" in built and sick.installed["torch"] == "2.9.1"


@pytest.mark.slow
def test_an_extension_keeps_the_torch_that_is_there(patient: New, doctor: On) -> None:
    """xformers pins one torch: the version is named that goes with the installed one, and torch with it."""
    sick = patient("uv")
    sick.put("torch==2.9.1")
    commands = doctor().treat(sick, "required-package-missing", "--require", "xformers")
    assert sick.installed["torch"] == "2.9.1" and "xformers" in sick.installed, commands
