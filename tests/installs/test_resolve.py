"""What `gpudoctor resolve` prints, carried out: its lines, requirements, pyproject, environment.yml, a Dockerfile's RUN."""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_matrix.resolver import Question, resolve
from compat_matrix.wish import Wish
from doctor.resolve.choice import lines
from doctor.resolve.formats import dockerfile, environment_yml, pyproject_toml, requirements_txt
from tests.judging import matrix

from .environments import Patient
from .shelf import Shelf

New = Callable[..., Patient]
PYTHON = ".".join(platform.python_version_tuple()[:2])
OTHER = Question(gpus=("8.9",), driver="535.183.01", python=PYTHON, wishes=(Wish("torch", "2.9.1"),))
"""On an index of PyTorch's: the default build of 2.9.1 is cu128, and this driver's choice is cu129."""
DEFAULT = Question(gpus=("9.0",), driver="580.82.07", python=PYTHON, wishes=(Wish("torch", "2.11.0"),))
WISHED = Question(
    gpus=("8.9",), driver="580.82.07", python=PYTHON, wishes=(Wish("torch", "2.9.1"), Wish("xformers", "0.0.33.post2"))
)


def expected(q: Question) -> str:
    one = resolve(matrix(), q).candidates[0]
    return one.build.torch + (f"+{one.build.tag}" if one.index else "")


@pytest.mark.parametrize("q", [OTHER, DEFAULT, WISHED], ids=["index", "default", "wish"])
def test_the_line_of_uv(patient: New, shelf: Shelf, q: Question) -> None:
    here = patient("uv")
    line = lines(matrix(), q, resolve(matrix(), q).candidates[0]).uv
    here.room.run(shelf.translate(line).replace("uv pip install", f"uv pip install --python {here.typed}"))
    assert here.installed["torch"] == expected(q)
    assert all(wish.package in here.installed for wish in q.wishes)


@pytest.mark.slow
@pytest.mark.parametrize("q", [OTHER, DEFAULT, WISHED], ids=["index", "default", "wish"])
def test_the_line_of_pip_and_a_dockerfiles_run(patient: New, shelf: Shelf, q: Question) -> None:
    one = resolve(matrix(), q).candidates[0]
    here = patient("pip")
    here.room.run(shelf.translate(lines(matrix(), q, one).pip).replace("python3 -m pip", f"{here.typed} -m pip"))
    assert here.installed["torch"] == expected(q)
    image = dockerfile(matrix(), q, one)
    assert image.splitlines()[0] == f"FROM python:{PYTHON}-slim"
    (command,) = re.findall(r"(?m)^RUN (.*)$", image)
    here.drop("torch", "torchvision")
    here.room.run(shelf.translate(command).replace("pip install", f"{here.typed} -m pip install", 1))
    assert here.installed["torch"] == expected(q)


@pytest.mark.parametrize("tool", ["uv", "pip"])
@pytest.mark.slow
def test_requirements(patient: New, shelf: Shelf, tool: str) -> None:
    here = patient(tool)
    for q in (OTHER, WISHED):  # pinned by local versions
        text = requirements_txt(matrix(), q, resolve(matrix(), q).candidates[0])
        path = here.room.folder / "requirements.txt"
        path.write_text(shelf.translate(text), "utf-8")
        strategy = " --index-strategy unsafe-best-match" if "--extra-index-url" in text else ""
        command = f"uv pip install --python {here.typed}{strategy}" if tool == "uv" else f"{here.typed} -m pip install"
        here.room.run(f"{command} -r {shlex.quote(str(path))}")
        assert here.installed["torch"] == expected(q)


@pytest.mark.parametrize("q", [OTHER, DEFAULT], ids=["index", "default"])
def test_uv_sync_takes_the_build_of_pyproject(patient: New, shelf: Shelf, q: Question) -> None:
    here = patient("uv")
    project = Path(here.room.folder / "work")
    project.mkdir()
    text = pyproject_toml(matrix(), q, resolve(matrix(), q).candidates[0])
    (project / "pyproject.toml").write_text(shelf.translate(text), "utf-8")
    here.room.run(
        f"cd work && UV_NO_CONFIG=0 UV_PROJECT_ENVIRONMENT={shlex.quote(str(here.prefix))} uv sync --no-install-project"
    )
    assert here.installed["torch"] == expected(q)


def test_environment_yml_names_what_pip_installs_or_a_build_of_conda_forge(patient: New, shelf: Shelf) -> None:
    """The list under `pip:` is a requirements file to conda; the conda spec is checked against the recipes' rows."""
    text = environment_yml(matrix(), WISHED, resolve(matrix(), WISHED).candidates[0])
    under = [line.strip().removeprefix("- ") for line in text.partition("- pip:\n")[2].splitlines()]
    here = patient("uv")
    path = here.room.folder / "under.txt"
    path.write_text(shelf.translate("\n".join(under) + "\n"), "utf-8")
    here.room.run(
        f"uv pip install --python {here.typed} --index-strategy unsafe-best-match -r {shlex.quote(str(path))}"
    )
    assert here.installed["torch"] == expected(WISHED) and "xformers" in here.installed
    spec = re.search(
        r"pytorch=([\d.]+)=(\S+)", environment_yml(matrix(), OTHER, resolve(matrix(), OTHER).candidates[0])
    )
    assert spec and (spec[1], spec[2]) in {(row.torch, row.build) for row in matrix().conda_rows}
