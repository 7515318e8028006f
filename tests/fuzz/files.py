"""Files of requirements, as `resolve -r` reads and edits them: the first line of an input is the file's name."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.resolver import Question
from doctor.commands.read_lines import read_file
from doctor.guard import Refusal
from doctor.resolve.conda_pip import with_pip
from doctor.resolve.files.dialect import spelled
from doctor.resolve.files.edit import Unwritable, edited
from doctor.resolve.files.lines import RequirementFile
from doctor.resolve.forks import every_fork
from doctor.resolve.machine import Unclear

from ..resolve.test_edited import FORMS

NAMES = ("requirements.txt", "pyproject.toml", "environment.yml", "setup.cfg", "Pipfile", "pixi.toml")
MOST_JUDGED = 8
"""Lines of torch and what goes with it, each of which is judged with all others."""


def requirements(data: bytes) -> object:
    name, _, text = data.decode("utf-8", "replace").partition("\n")
    name = name if name in NAMES else NAMES[len(text) % len(NAMES)]
    q = Question(gpus=("12.0",), driver="575.64.05", python="3.12")
    try:
        file = read_file(name, text, q)
        spans_are_inside(file, text)
        if len(file.lines) > MOST_JUDGED:
            return file
        if file.kind in ("conda", "pixi-conda"):
            return edited(text, file, spelled(file, with_pip(Matrix.load(), q, file)))
        return edited(text, file, every_fork(Matrix.load(), q, file))
    except (Unclear, Refusal, Unwritable) as error:
        assert "\n" not in str(error)
        return error


def spans_are_inside(file: RequirementFile, text: str) -> None:
    for one in (*file.lines, *file.others, *file.indexes):
        start, end = one.at
        assert 0 <= start <= end <= len(text) and (start == end == 0 or text[start:end].strip()), one


def seeds() -> list[bytes]:
    return [f"{name}\n{text}".encode() for name, text in FORMS]
