"""`resolve -r FILE`: read the file according to the kind its name indicates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..guard import Refusal
from ..resolve.files.lines import MOST_LINES, RequirementFile
from ..resolve.files.requirements import read_requirements
from ..resolve.machine import Unclear

if TYPE_CHECKING:
    from compat_matrix.resolver import Question

KINDS = (
    "requirements.txt, pyproject.toml, environment.yml, Pipfile, pixi.toml, setup.cfg, uv.lock, poetry.lock, "
    "Pipfile.lock, pixi.lock and conda-lock.yml"
)


_MOST_DIGITS = 1000
"""Of one number; Python converts none of 4300."""


def read_file(path: str, text: str, q: Question) -> RequirementFile:
    """Raises Unclear, Refusal."""
    if re.search(rf"\d{{{_MOST_DIGITS}}}", text):
        raise Refusal(f"{path} contains a number with {_MOST_DIGITS} digits or more: not read")
    file = _reader(path)(text, path, q)
    if len(file.lines) > MOST_LINES:
        raise Refusal(f"{path} names torch and its companions more than {MOST_LINES} times: not judged")
    return file


def _reader(path: str) -> Callable[[str, str, Question], RequirementFile]:
    name = PurePath(path).name.lower()
    if re.search(r"conda-lock\S*\.ya?ml$", name) or name == "pixi.lock":
        return _conda_locks
    if name.endswith((".yml", ".yaml")):
        return _environment
    if name == "pipfile.lock":
        return _pipenv
    if name.endswith((".lock", ".toml")) or name == "pipfile":
        return _toml
    if name.endswith(".cfg"):
        return _cfg
    if name.endswith((".py", ".json", ".ipynb", ".md")):
        raise Refusal(f"-r cannot read {path}: supported files are {KINDS}")
    return read_requirements


def _toml(text: str, path: str, q: Question) -> RequirementFile:
    from ..resolve.files import locks, pixi, pyproject
    from .toml import NotToml, loads

    try:
        content = loads(text)
    except NotToml as error:
        raise Unclear(f"{path} is not valid TOML: {error}") from None
    name = PurePath(path).name.lower()
    if name.endswith(".lock"):
        poetry = name.startswith("poetry") or "content-hash" in (content.get("metadata") or ())
        return (locks.of_poetry if poetry else locks.of_uv)(content, text, path, q)
    if name == "pipfile":
        return pyproject.of_pipfile(content, text, path, q)
    if name == "pixi.toml":
        return pixi.of_pixi(content, text, path, q)
    file = pyproject.of_pyproject(content, text, path, q)
    beside = next((tool for tool in ("uv", "poetry", "pdm") if Path(path).with_name(f"{tool}.lock").exists()), "")
    return replace(file, kind=beside, regenerate=f"{beside} lock") if file.kind == "pep621" and beside else file


def _pipenv(text: str, path: str, q: Question) -> RequirementFile:
    from ..resolve.files.locks import of_pipenv

    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise Unclear(f"{path} is not valid JSON") from None
    return of_pipenv(content, text, path, q)


def _cfg(text: str, path: str, q: Question) -> RequirementFile:
    from ..resolve.files.setup_cfg import of_setup_cfg

    return of_setup_cfg(text, path, q)


def _conda_locks(text: str, path: str, q: Question) -> RequirementFile:
    from ..resolve.files.locks import of_conda_locks

    return of_conda_locks(text, path, q)


def _environment(text: str, path: str, q: Question) -> RequirementFile:
    from ..images.recipes.instructions import Unparsed
    from ..images.recipes.manifests import nodes
    from ..resolve.files.conda import of_environment
    from ..resolve.files.yaml_spans import plain

    try:
        root = next(nodes(text, path), None)
    except Unparsed as error:
        raise Unclear(str(error)) from None
    return of_environment(plain(root, text) if root else None, path, q)
