"""An environment whose Python does not start: restore that Python, or create a new environment in its place."""

from __future__ import annotations

import re
from typing import Any

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from ..snapshot.typed import quoted
from .install import conda_line, new_venv, stdlib_venv
from .interpreter import GET_UV
from .where import RECHECK, container_kind, recheck_run

_MANAGED = re.compile(r"/(uv/python/cpython|pyenv/versions|\.pyenv/versions)[-/](3\.\d+(?:\.\d+)?)(?=[-/])")
_MADE = ("venv", "uv", "pipx")
NEW = "~/venv-gpu"


def interpreter_fixes(s: Snapshot) -> tuple[Fix, ...]:
    """The mildest first: unset what breaks it, restore the Python, recreate the environment, use a different one."""
    found = (_unset(s), _back(s), _anew(s), _conda(s))
    fixes = tuple(fix for fix in found if fix is not None)
    return fixes or (_another(s),)


def _after(s: Snapshot, emptied: bool) -> dict[str, Any]:
    """Only a new look can tell; `emptied`: what was installed is gone."""
    patient = ("starts", "start_error", "start_fault", "executable", "version", "kind", "writable", "ensurepip")
    changes: dict[str, Any] = {f"python.patient.{name}": RECHECK for name in patient}
    changes.update(recheck_run(s))
    if emptied:
        changes.update({f"torch.{name}": RECHECK for name in s.torch.__struct_fields__})
        changes.update({"python.distributions": RECHECK, "python.extensions": RECHECK})
        changes.update({"python.patient.torch_version": RECHECK, "python.patient.site_packages": RECHECK})
    return changes


def _unset(s: Snapshot) -> Fix | None:
    if not known(s.host.env("PYTHONHOME")) or known(s.python.patient.start_fault) != "crash":
        return None
    others = tuple(v for v in known(s.host.environment) or () if v.name != "PYTHONHOME")
    step = Step(
        text="Python finds its own library without it.",
        command="unset PYTHONHOME",
        where="shell",
        changes={**_after(s, False), "host.environment": others},
    )
    return Fix(id="unset-pythonhome", title="Unset PYTHONHOME", steps=(step,))


def _back(s: Snapshot) -> Fix | None:
    """Reinstall the Python that the link points to, with the tool that installed it: the packages stay as they are."""
    target = known(s.python.patient.link_target) or ""
    managed = _MANAGED.search(target)
    if not managed:
        return None
    version = managed[2]
    uv = managed[1].startswith("uv")
    before = GET_UV if uv and s.python.uv is False else ""
    command = f"{before}uv python install {version}" if uv else f"pyenv install {version}"
    tool = "uv" if uv else "pyenv"
    step = Step(
        text=f"Reinstall it with {tool}: the environment links to it and keeps its packages.",
        command=command,
        where="shell",
        changes=_after(s, False),
    )
    return Fix(id="python-back", title=f"Reinstall Python {version}", steps=(step,))


def _anew(s: Snapshot) -> Fix | None:
    """A virtual environment at the same place: by uv where uv made it, or where its Python crashes (then the one that
    it was made from does, too)."""
    patient = s.python.patient
    prefix, version = known(patient.prefix), known(patient.version)
    if known(patient.kind) not in _MADE or not prefix:
        return None
    python = ".".join(version.split(".")[:2]) if version else "3"
    if patient.kind == "uv" or known(patient.start_fault) in ("crash", "refused"):
        first = GET_UV if s.python.uv is False else ""
        made = new_venv(python, seed=known(patient.kind) != "uv", managed=patient.kind != "uv", clear=True)
        command = f"{first}{made} {quoted(prefix)}"
    else:
        command = f"{stdlib_venv(clear=True)} {quoted(prefix)}"
    step = Step(
        text="This removes the packages in the environment; install them again afterwards.",
        command=command,
        where="shell",
        destructive=True,
        changes=_after(s, True),
    )
    return Fix(
        id="new-environment", title="Create a new environment in the same folder", steps=(step,), note=_lasting(s)
    )


def _conda(s: Snapshot) -> Fix | None:
    if known(s.python.patient.kind) != "conda":
        return None
    step = Step(
        text="conda rewrites Python's files; the other packages stay.",
        command=conda_line(s, ("--force-reinstall", "python")),
        where="shell",
        changes=_after(s, False),
    )
    return Fix(id="conda-python-again", title="Reinstall Python in this conda environment", steps=(step,))


def _another(s: Snapshot) -> Fix:
    first = GET_UV if s.python.uv is False else ""
    step = Step(
        text="Create an environment with its own Python, then pass it with --python.",
        command=f"{first}{new_venv('3.12', seed=True, managed=True)} {NEW}",
        where="shell",
        changes=_after(s, True),
    )
    return Fix(id="another-python", title="Use a different Python", steps=(step,))


def _lasting(s: Snapshot) -> str:
    return "In an image, also copy the Python that the environment links to." if container_kind(s) else ""
