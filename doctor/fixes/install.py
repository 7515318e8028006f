"""Every line that installs, removes or creates an environment: a request as data, written for pip, uv or conda.

No other file of the fixes builds one. What is printed is the command of the tool in use, and only that; the other
tool's command is passed along as an alternative. pip and uv differ if a version is already installed: pip considers
`torch==2.8.0` satisfied by 2.8.0+cu129, and so does uv; pip forces all or nothing, uv package by package (tried with
pip 26, uv 0.13).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..findings import Alternative, Finding, Step
from ..snapshot import Snapshot, known
from ..snapshot.typed import quoted
from .interpreter import GET_UV, executable, get_uv, tool_of, without_pip
from .where import lasting, notebook

if TYPE_CHECKING:
    from compat_matrix.builds import RankedBuild

_CONDA_NAMES = {"torch": "pytorch"}


class Install(Struct, frozen=True, kw_only=True):
    """What to install: requirements as pip writes them, and how."""

    packages: tuple[str, ...]
    index: str = ""
    """The only index to ask; empty for the default one."""
    extra_index: str = ""
    """Used in addition to the default one: uv asks it first, pip asks both at once."""
    more_indexes: tuple[str, ...] = ()
    """More indexes in addition to `extra_index`."""
    find_links: str = ""
    again: tuple[str, ...] = ()
    """Names of packages that are reinstalled even if their version is already installed."""
    all_again: bool = False
    """Reinstall everything, including the dependencies."""
    over: bool = False
    """Overwrite what is installed, which pip cannot remove because it has no RECORD."""
    deps: bool = True
    upgrade: bool = False
    """The newest version that fits of each package; dependencies are upgraded only if they have to be."""
    isolated: bool = True
    """Built in isolation from what is installed; without isolation, the build finds the installed torch."""
    from_source: tuple[str, ...] = ()
    cache: bool = True
    settings: tuple[str, ...] = ()
    requirements: str = ""
    constraint: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables of this command alone."""


def ways(s: Snapshot, *requests: Install, before: str = "", after: str = "") -> dict[str, Any]:
    """The fields `command` and `alternatives` of a step; `before` and `after`: what surrounds the line."""
    own = tool_of(s)
    other = "pip" if own == "uv" else "uv"

    def command(tool: str) -> str:
        return f"{before}{' && '.join(_line(s, request, tool) for request in requests)}{after}"

    alternatives = () if notebook(s) else (Alternative(tool=other, command=command(other)),)
    return {"command": f"{get_uv(s)}{command(own)}", "alternatives": alternatives}


def step(s: Snapshot, request: Install, text: str, **more: Any) -> Step:
    """The step that carries a request out in the patient's environment."""
    return Step(text=text, where="environment", **ways(s, request), **more)


def _line(s: Snapshot, request: Install, tool: str) -> str:
    for name in _CPU_INDEX[tool] if not request.index.endswith("/cpu") else ():  # it would be asked too
        if (known(s.host.env(name)) or "").rstrip("/").endswith("cpu"):
            request = _with_variable(request, name, "")
    if tool == "uv":
        return uv_line(request, executable(s))
    line = pip_line(request, f"{executable(s)} -m pip")
    return f"{executable(s)} -m ensurepip && {line}" if without_pip(s) else line


_CPU_INDEX = {
    "pip": ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
    "uv": ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_TORCH_BACKEND"),
}


def _with_variable(request: Install, name: str, value: str) -> Install:

    return replace(request, variables=((name, value), *request.variables))


def pip_line(request: Install, pip: str = "pip") -> str:
    """`pip install ...`, quoted for a shell; two commands if only some packages are reinstalled."""
    first = ""
    names = {name_of(package) for package in request.packages}
    if request.again and not request.all_again and (request.deps or set(request.again) != names):
        again = [package for package in request.packages if name_of(package) in request.again]
        first = f"{_pip(request, pip, ['--force-reinstall', '--no-deps', *again])} && "
        request = _without_again(request)
    flags = ["--upgrade"] if request.upgrade else []
    flags += ["--force-reinstall"] if request.all_again or request.again else []
    flags += [] if request.deps else ["--no-deps"]
    flags = ["--ignore-installed", *flags[1:]] if request.over else flags
    return f"{first}{_pip(request, pip, [*flags, *_building(request, '--no-cache-dir'), *request.packages])}"


def _without_again(request: Install) -> Install:

    return replace(request, again=())


def _pip(request: Install, pip: str, words: Sequence[str]) -> str:
    args = [*words]
    args += ["-r", request.requirements] if request.requirements else []
    args += ["-c", request.constraint] if request.constraint else []
    args += ["--index-url", request.index] if request.index else []
    for url in _extra(request):
        args += ["--extra-index-url", url]
    args += ["-f", request.find_links] if request.find_links else []
    return f"{_set(request)}{pip} install {shlex.join(args)}"


def _extra(request: Install) -> tuple[str, ...]:
    return (request.extra_index, *request.more_indexes) if request.extra_index else ()


def _set(request: Install) -> str:
    return "".join(f"{name}={shlex.quote(value) if value else ''} " for name, value in request.variables)


def _building(request: Install, no_cache: str) -> list[str]:
    flags = [] if request.isolated else ["--no-build-isolation"]
    flags += [] if request.cache else [no_cache]
    for name in request.from_source:
        flags += ["--no-binary", name]
    return [*flags, *(f"--config-settings={setting}" for setting in request.settings)]


def uv_line(request: Install, python: str = "") -> str:
    """`uv pip install ...`; of two indexes uv asks only the first that has a package, unless it is told otherwise."""
    args = [word for name in request.again for word in ("--reinstall-package", name)]
    args = ["--reinstall"] if request.all_again else args
    if request.upgrade:  # uv's --upgrade takes what they need along
        args += [word for package in request.packages for word in ("--upgrade-package", name_of(package))]
    args += [] if request.deps else ["--no-deps"]
    args += [*_building(request, "--no-cache"), *request.packages]
    args += ["-r", request.requirements] if request.requirements else []
    args += ["-c", request.constraint] if request.constraint else []
    args += ["--default-index", request.index] if request.index else []
    for url in _extra(request):
        args += ["--index", url]
    args += ["--index-strategy", "unsafe-best-match"] if request.extra_index else []
    args += ["--find-links", request.find_links] if request.find_links else []
    return f"{_set(request)}uv pip install {f'--python {python} ' if python else ''}{shlex.join(args)}"


def of_build(build: RankedBuild) -> Install:
    """A torch build of the matrix, with its companions."""
    return Install(packages=build.requirements, index=build.index_url)


def name_of(package: str) -> str:
    """`torch` of `torch==2.8.0+cu126`, `jax` of `jax[cuda12]`, `x` of `x @ https://...`."""
    for end, sign in enumerate(package):
        if not (sign.isalnum() or sign in "-_."):
            return package[:end]
    return package


def image_line(s: Snapshot, request: Install) -> str:
    """The request as it is written in a Dockerfile after RUN."""
    if tool_of(s) == "uv":
        return uv_line(request, executable(s))
    return pip_line(request)


def remove_line(s: Snapshot, names: Sequence[str], by_conda: bool) -> str:
    """Removes distributions with the tool that installed them."""
    if by_conda:
        return _conda(s, "remove", [_CONDA_NAMES.get(name, name) for name in names])
    if tool_of(s) == "uv":
        return f"uv pip uninstall --python {executable(s)} {shlex.join(names)}"
    return pip_remove_line(names, f"{executable(s)} -m pip")


def pip_remove_line(names: Sequence[str], pip: str = "pip") -> str:
    """`pip uninstall -y ...`."""
    return f"{pip} uninstall -y {shlex.join(names)}"


def conda_line(s: Snapshot, packages: Sequence[str], channel: str = "conda-forge") -> str:
    """`conda install` into the patient's environment (the active one where its folder is not known)."""
    return _conda(s, "install", ["-c", channel, *packages])


def _conda(s: Snapshot, verb: str, words: Sequence[str]) -> str:
    return conda_words(verb, words, known(s.python.patient.prefix) or "")


def conda_words(verb: str, words: Sequence[str], prefix: str = "") -> str:
    """A command of conda for the environment in this folder, or for the active one."""
    return f"conda {verb} --yes {f'--prefix {quoted(prefix)} ' if prefix else ''}{shlex.join(words)}"


def environment_line(s: Snapshot, folder: str, python: str = "") -> str:
    """Makes a virtual environment with pip; `python`: a version that uv fetches where the patient's will not do."""
    first = GET_UV if s.python.uv is False else ""
    if python:
        return f"{first}{new_venv(python, seed=True)} {folder}"
    if s.python.patient.ensurepip is False:  # then `python -m venv` fails
        return f"{first}uv venv --seed --python {executable(s)} {folder}"
    return f"{executable(s)} -m venv {folder}"


def new_venv(python: str, seed: bool = False, *, managed: bool = False, clear: bool = False) -> str:
    """A virtual environment of this Python version, which uv fetches; `seed`: with pip in it; `managed`: of a Python by
    uv itself, not one of the system; `clear`: in place of what is there."""
    flags = f"{'--clear ' if clear else ''}{'--seed ' if seed else ''}{'--managed-python ' if managed else ''}"
    return f"uv venv {flags}--python {shlex.quote(python)}"


def stdlib_venv(*, clear: bool = False) -> str:
    """A virtual environment of the system's Python; `clear`: in place of what is there."""
    return f"python3 -m venv{' --clear' if clear else ''}"


def note(s: Snapshot, request: Install, why: str = "") -> str:
    """Why this, and how it lasts where this is a container or notebook."""
    words = [f"{why[0].upper()}{why[1:]}."] if why else []
    return "\n".join([*words, *lasting(s, image_line(s, request))])


def with_outside_index(finding: Finding) -> Finding:
    """The finding, with each step that names a package index saying that another matrix chose it."""
    fixes = tuple(replace(fix, steps=tuple(_with_outside_index(step) for step in fix.steps)) for fix in finding.fixes)
    return finding if fixes == finding.fixes else replace(finding, fixes=fixes)


def _with_outside_index(step: Step) -> Step:
    if "index-url " not in step.command:
        return step
    return replace(step, text=f"{step.text} The package index comes from the matrix that you gave with --matrix.")
