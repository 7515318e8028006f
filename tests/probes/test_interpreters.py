"""Which Python is the patient, by the order of the design, with shims resolved from their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from doctor.patient.gather import gather
from doctor.probes import tools
from doctor.probes.environments import parse_python
from doctor.probes.raw import Raw
from doctor.snapshot import Environment, Missing

from .tree import Tree

PYENV_SHIM = '#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT="/home/u/.pyenv"\nexec "/home/u/.pyenv/bin/pyenv" exec "$program" "$@"\n'
ASDF_SHIM = '#!/usr/bin/env bash\n# asdf-plugin: python 3.11.7\nexec asdf exec "python3" "$@"\n'
VENV = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.9\n"


def patient(tree: Tree, env: Mapping[str, str], **options: Any) -> tuple[Environment, str]:
    """The chosen environment and why; `options` as the gatherer takes them."""
    lines: list[dict[str, Any]] = []
    gather(lines.append, str(tree.root), env, tools, options)
    python = parse_python(Raw(lines))
    return python.patient, str(python.chosen_because)


def test_order(tree: Tree) -> None:
    for prefix in ("/asked", "/active", "/own"):
        tree.python(prefix, cfg=VENV)
    tree.python("/conda").folder("/conda/conda-meta").python("/usr")
    env = {"VIRTUAL_ENV": "/active", "CONDA_PREFIX": "/conda", "PATH": "/nowhere:/usr/bin"}
    own = {"own_prefix": "/own", "own_executable": "/own/bin/python3"}
    assert patient(tree, env, python="/asked/bin/python3", **own)[0].prefix == "/asked"
    assert patient(tree, env, python="/asked", **own)[0].prefix == "/asked"
    assert patient(tree, env, **own)[0].prefix == "/active"
    del env["VIRTUAL_ENV"]
    found, because = patient(tree, env, **own)
    assert (found.prefix, found.kind) == ("/conda", "conda") and "CONDA_PREFIX" in because
    del env["CONDA_PREFIX"]
    assert patient(tree, env, **own)[0].prefix == "/usr", "gpudoctor's own environment has no torch"
    tree.torch("/own/lib/python3.11/site-packages")
    found, because = patient(tree, env, **own)
    assert found.prefix == "/own" and "torch is installed in gpudoctor's own" in because


def test_throw_away_environment_first_on_path_is_not_the_patient(tree: Tree) -> None:
    """As under uvx, which puts the folder of gpudoctor's own environment before the user's PATH."""
    tree.python("/cache/uvx", cfg=VENV).python("/usr")
    env = {"PATH": "/cache/uvx/bin:/usr/bin"}
    assert patient(tree, env, own_prefix="/cache/uvx", own_executable="/cache/uvx/bin/python3")[0].prefix == "/usr"
    assert patient(tree, env, own_prefix="/usr", own_executable="/usr/bin/python3")[0].prefix == "/cache/uvx"


def test_environment_variable_that_names_no_folder_is_passed_over_and_told(tree: Tree) -> None:
    tree.python("/usr")
    found, because = patient(tree, {"VIRTUAL_ENV": "/deleted", "PATH": "/usr/bin"})
    assert found.prefix == "/usr"
    assert "/deleted" in because and "python3 on PATH" in because


def test_asked_for_by_name(tree: Tree) -> None:
    tree.python("/usr").python("/opt/py312", "3.12")
    found, _ = patient(tree, {"PATH": "/usr/bin:/opt/py312/bin"}, python="python3.12")
    assert (found.prefix, found.version) == ("/opt/py312", "3.12")


def test_asked_for_and_not_there(tree: Tree) -> None:
    tree.python("/usr")
    found, _ = patient(tree, {"PATH": "/usr/bin"}, python="/nowhere/bin/python")
    assert isinstance(found.prefix, Missing) and "/nowhere/bin/python" in found.prefix.detail


def test_relative_path_is_from_the_working_directory(tree: Tree) -> None:
    tree.python("/srv/.venv", cfg=VENV)
    assert patient(tree, {}, python=".venv", cwd="/srv")[0].prefix == "/srv/.venv"
    assert patient(tree, {}, python=".venv/bin/python3", cwd="/srv")[0].prefix == "/srv/.venv"


def test_no_python_at_all(tree: Tree) -> None:
    found, _ = patient(tree.folder("/etc"), {"PATH": "/usr/bin"})
    assert found.prefix == Missing("absent", "no Python was found")


def test_venv_is_seen_by_the_link_and_not_by_what_it_points_to(tree: Tree) -> None:
    tree.python("/usr").file("/venv/pyvenv.cfg", VENV).folder("/venv/lib/python3.11/site-packages")
    tree.link("/venv/bin/python3", "/usr/bin/python3.11")
    found, _ = patient(tree, {"PATH": "/venv/bin:/usr/bin"})
    assert (found.prefix, found.kind, found.version) == ("/venv", "venv", "3.11.9")


def test_link_to_an_interpreter_elsewhere(tree: Tree) -> None:
    tree.python("/opt/python-3.12.4", "3.12").link("/usr/local/bin/python3", "/opt/python-3.12.4/bin/python3.12")
    found, _ = patient(tree, {"PATH": "/usr/local/bin"})
    assert (found.prefix, found.version) == ("/opt/python-3.12.4", "3.12.4")


PYENV = "/home/u/.pyenv"


@pytest.fixture
def pyenv(tree: Tree) -> Tree:
    for name in ("python", "python3"):
        tree.file(f"{PYENV}/shims/{name}", PYENV_SHIM)
    for version in ("3.9.18", "3.11.2", "3.11.10"):
        tree.python(f"{PYENV}/versions/{version}", version.rpartition(".")[0])
    return tree.python("/usr", "3.10")


PATH = {"PATH": f"{PYENV}/shims:/usr/bin", "HOME": "/home/u"}


def test_pyenv_global_version(pyenv: Tree) -> None:
    pyenv.file(f"{PYENV}/version", "3.9.18\n")
    found, because = patient(pyenv, PATH)
    assert (found.prefix, found.version, found.kind) == (f"{PYENV}/versions/3.9.18", "3.9.18", "pyenv")
    assert "pyenv shim" in because


def test_pyenv_local_file_of_a_parent_folder_and_a_short_version(pyenv: Tree) -> None:
    pyenv.file(f"{PYENV}/version", "3.9.18\n").file("/srv/.python-version", "# ours\n3.11\n").folder("/srv/deep/down")
    assert patient(pyenv, PATH, cwd="/srv/deep/down")[0].version == "3.11.10", "the newest 3.11, by number"


def test_pyenv_variable_wins(pyenv: Tree) -> None:
    pyenv.file("/srv/.python-version", "3.9.18\n")
    assert patient(pyenv, {**PATH, "PYENV_VERSION": "3.11.2"}, cwd="/srv")[0].version == "3.11.2"


@pytest.mark.parametrize("version", ["system\n", "", "4.4.4\n", "../../../usr\n"])
def test_pyenv_system_or_not_installed_goes_on_along_path(pyenv: Tree, version: str) -> None:
    pyenv.file(f"{PYENV}/version", version)
    found, because = patient(pyenv, PATH)
    assert (found.prefix, "shim" in because) == ("/usr", False)


def test_pyenv_virtualenv_is_a_link_to_an_environment(pyenv: Tree) -> None:
    base = f"{PYENV}/versions/3.11.2/envs/ml"
    pyenv.python(base, cfg=f"home = {PYENV}/versions/3.11.2/bin\nversion = 3.11.2\n")
    pyenv.link(f"{PYENV}/versions/ml", base).file(f"{PYENV}/version", "ml\n")
    found, _ = patient(pyenv, PATH)
    assert (found.prefix, found.kind, found.version) == (f"{PYENV}/versions/ml", "venv", "3.11.2")


@pytest.mark.parametrize("version", ["3.9.18\n", "system\n"])
def test_a_shim_that_is_asked_for_by_its_path_is_the_python_that_it_starts(pyenv: Tree, version: str) -> None:
    pyenv.file(f"{PYENV}/version", version)
    found, because = patient(pyenv, PATH, python=f"{PYENV}/shims/python3")
    expected = "/usr" if version.startswith("system") else f"{PYENV}/versions/3.9.18"
    assert found.prefix == expected and because.startswith("--python")
    assert ("pyenv shim" in because) is (expected != "/usr")


def test_shims_of_asdf_and_mise_that_are_asked_for_by_their_path(tree: Tree) -> None:
    for manager, base in (("asdf", "/home/u/.asdf"), ("mise", "/home/u/.local/share/mise")):
        tree.python(f"{base}/installs/python/3.11.7").file("/srv/.tool-versions", "python 3.11.7\n")
        if manager == "asdf":
            tree.file(f"{base}/shims/python3", ASDF_SHIM)
        else:
            tree.link(f"{base}/shims/python3", "/usr/bin/mise").file("/usr/bin/mise", "\x7fELF")
        found, _ = patient(tree, {"PATH": "/usr/bin"}, python=f"{base}/shims/python3", cwd="/srv")
        assert found.prefix == f"{base}/installs/python/3.11.7", manager


def test_asdf(tree: Tree) -> None:
    tree.file("/home/u/.asdf/shims/python3", ASDF_SHIM).python("/home/u/.asdf/installs/python/3.11.7")
    tree.file("/srv/.tool-versions", "nodejs 20\npython 3.11.7 system\n")
    found, because = patient(tree, {"PATH": "/home/u/.asdf/shims"}, cwd="/srv")
    assert found.prefix == "/home/u/.asdf/installs/python/3.11.7" and "asdf" in because


def test_mise_shims_are_links_to_mise(tree: Tree) -> None:
    tree.link("/home/u/.local/share/mise/shims/python3", "/usr/bin/mise").file("/usr/bin/mise", "\x7fELF")
    tree.python("/home/u/.local/share/mise/installs/python/3.12.1", "3.12")
    tree.file("/srv/mise.toml", '[tools]\npython = "3.12"\n')
    assert patient(tree, {"PATH": "/home/u/.local/share/mise/shims"}, cwd="/srv")[0].version == "3.12.1"


def test_root_folder_without_variables_looks_in_the_usual_places(tree: Tree) -> None:
    tree.python("/usr").python("/opt/conda", "3.10").file(
        "/opt/conda/conda-meta/python-3.10.13-h1_0_cpython.json", "{}"
    )
    lines: list[dict[str, Any]] = []
    gather(lines.append, str(tree.root), None, tools, {})
    found = parse_python(Raw(lines)).patient
    assert (found.prefix, found.version, found.kind) == ("/opt/conda", "3.10.13", "conda")
