"""A candidate as the files that projects keep: requirements.txt, pyproject.toml, Dockerfile, environment.yml."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from compat_matrix.candidate import Candidate
from compat_matrix.resolver import Question

from ..fixes.install import name_of
from .choice import conda_spec, lines, pythons, request

if TYPE_CHECKING:
    from compat_matrix import Matrix


def requirements_txt(m: Matrix, q: Question, one: Candidate) -> str:
    """For `pip install -r` and `uv pip install -r`.

    If every pin has its local version, the index is an extra one: uv ignores a file's `--index-url` if UV_DEFAULT_INDEX
    is set, as in many companies.
    """
    wanted = request(m, q, one)
    pinned = all("+" in package for package in wanted.packages)
    head = [f"--{'extra-' if pinned else ''}index-url {wanted.index}"] if wanted.index else []
    head += [f"--extra-index-url {url}" for url in (wanted.extra_index, *wanted.more_indexes) if url]
    return "\n".join([*head, *wanted.packages]) + "\n"


def pyproject_toml(m: Matrix, q: Question, one: Candidate) -> str:
    """Tables with which `uv sync` installs this build: torch only from its index, all else from the default one."""
    wanted = request(m, q, one)
    names = [name_of(package) for package in wanted.packages]
    from_index = [n for n in names if n in ("torch", "torchvision", "torchaudio", "xformers")] if one.index else []
    python = q.python.rstrip("t")
    rows = ["[project]", 'name = "my-project"', 'version = "0"']
    rows += [f'requires-python = "=={python}.*"'] if python else ['requires-python = ">=3.11"']
    packages = wanted.packages if one.index else [package.partition("+")[0] for package in wanted.packages]
    rows += ["dependencies = [", *(f'  "{package}",' for package in packages), "]"]
    tag = f"pytorch-{one.build.tag}"
    if one.index:
        rows += ["", "[tool.uv.sources]", *(f'{name} = {{ index = "{tag}" }}' for name in from_index)]
    own = {chosen.package: chosen.index for chosen in one.chosen if chosen.index and chosen.index != one.index}
    if own:
        rows += [] if one.index else ["", "[tool.uv.sources]"]
        rows += [f'{name} = {{ index = "{name}" }}' for name in own]
    tables = ([(tag, one.index)] if one.index else []) + list(own.items())
    for name, url in tables:
        rows += ["", "[[tool.uv.index]]", f'name = "{name}"', f'url = "{url}"', "explicit = true"]
    linux = f"sys_platform == 'linux' and platform_machine == '{q.arch}'"
    platform = "sys_platform == 'win32'" if q.os == "windows" else linux
    rows += ["", "[tool.uv]", f'environments = ["{platform}"]']
    return "\n".join(rows) + "\n"


def dockerfile(m: Matrix, q: Question, one: Candidate) -> str:
    return "\n".join(lines(m, q, one).image) + "\n"


def environment_yml(m: Matrix, q: Question, one: Candidate) -> str:
    """For `conda env create -f`: conda-forge's build if there is one, else pip lines in it."""
    spec = conda_spec(m, q, one)
    python = q.python.rstrip("t") or pythons(m, q, one)[-1]
    rows = ["name: gpu", "channels:", "  - conda-forge", "dependencies:", f"  - python={python}"]
    if spec:
        return "\n".join([*rows, f"  - {spec}"]) + "\n"
    body = requirements_txt(m, q, one).splitlines()
    return "\n".join([*rows, "  - pip", "  - pip:", *(f"      - {line}" for line in body)]) + "\n"


FORMATS: dict[str, Callable[[Matrix, Question, Candidate], str]] = {
    "requirements": requirements_txt,
    "pyproject": pyproject_toml,
    "dockerfile": dockerfile,
    "environment-yml": environment_yml,
}
