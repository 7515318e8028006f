"""Environments read from files: versions, site-packages in order, distributions, and what is wrong with them."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from doctor.probes.collect import Options, collect
from doctor.snapshot import Missing, Python

from ..rows import for_each
from .tree import Tree

SITE = "/venv/lib/python3.11/site-packages"
CFG = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.9\n"


def look(tree: Tree, env: dict[str, str] | None = None, python: str = "/venv") -> Python:
    return tree.look({"HOME": "/home/u", **(env or {})}, python=python).python


def names(python: Python) -> list[tuple[str, str]]:
    assert not isinstance(python.distributions, Missing)
    return [(d.name, d.version) for d in python.distributions]


@for_each("system_site", [False, True])
def test_real_venv_has_the_folders_that_its_own_python_says(tmp_path: Path, system_site: bool) -> None:
    venv.create(tmp_path / "env", with_pip=False, system_site_packages=system_site)
    interpreter = tmp_path / "env" / "bin" / "python"
    words = "import sys; print([p for p in sys.path if p.endswith('-packages')])"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    told = subprocess.run([interpreter, "-c", words], capture_output=True, text=True, check=True, env=environment)
    patient = collect(
        Options(python=str(interpreter), env=environment, import_torch=False, ask_driver=False)
    ).python.patient
    assert not isinstance(patient.site_packages, Missing)
    assert repr(list(patient.site_packages)) == told.stdout.strip()
    assert patient.version == ".".join(map(str, sys.version_info[:3]))
    assert patient.kind == "venv"


def test_uv_environment_and_its_spelling_of_the_version(tree: Tree) -> None:
    tree.python("/venv", "3.12", "home = /usr/bin\nimplementation = CPython\nuv = 0.5.1\nversion_info = 3.12.7\n")
    patient = look(tree).patient
    assert (patient.kind, patient.version, patient.implementation) == ("uv", "3.12.7", "cpython")


def test_free_threaded(tree: Tree) -> None:
    tree.file("/venv/bin/python3.13t").link("/venv/bin/python3", "python3.13t").file(
        "/venv/pyvenv.cfg", "version = 3.13.1\n"
    )
    tree.folder("/venv/lib/python3.13t/site-packages")
    patient = look(tree).patient
    assert (patient.free_threaded, patient.version) == (True, "3.13.1")
    assert patient.site_packages == ("/venv/lib/python3.13t/site-packages",)


def test_debian_system_python(tree: Tree) -> None:
    tree.python("/usr").file("/usr/lib/python3.11/os.py").file("/usr/lib/python3.11/EXTERNALLY-MANAGED")
    for folder in ("/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"):
        tree.folder(folder)
    (tree.root / "usr/lib/python3.11/site-packages").rmdir()
    patient = look(tree, python="/usr/bin/python3").patient
    assert patient.site_packages == ("/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages")
    assert (patient.kind, patient.version, patient.externally_managed) == ("system", "3.11", True)


def test_user_site_comes_before_the_system_and_not_into_a_venv(tree: Tree) -> None:
    tree.python("/usr").python("/venv", cfg=CFG)
    user = "/home/u/.local/lib/python3.11/site-packages"
    tree.distribution(user, "torch", "1.0").distribution("/usr/lib/python3.11/site-packages", "torch", "2.0")
    assert names(look(tree, python="/usr/bin/python3")) == [("torch", "1.0"), ("torch", "2.0")]
    assert names(look(tree, {"PYTHONNOUSERSITE": "1"}, python="/usr/bin/python3")) == [("torch", "2.0")]
    assert names(look(tree)) == []


def test_pythonpath_comes_first(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).distribution("/mine", "numpy", "9").distribution(SITE, "numpy", "1")
    assert names(look(tree, {"PYTHONPATH": "/mine:/gone:relative"})) == [("numpy", "9"), ("numpy", "1")]


def test_pth_files_add_folders_and_their_imports_are_not_run(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).file(
        f"{SITE}/a.pth", "/src/project\nimport os; os.abort()\n# x\n../extra\n/gone\n\0bad\n"
    )
    tree.folder("/src/project").folder("/venv/lib/python3.11/extra")
    assert look(tree).patient.site_packages == (SITE, "/src/project", "/venv/lib/python3.11/extra")


def test_lib64_that_is_a_link_is_not_a_second_folder(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).link("/venv/lib64", "lib")
    assert look(tree, python="/venv").patient.site_packages == (SITE,)


def test_distribution_of_torch_in_full_and_others_by_name(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).distribution(SITE, "Foo_Bar.baz", "1.2")
    tree.distribution(SITE, "torch", "2.6.0", "Requires-Python: >=3.9", "Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70)")
    python = look(tree)
    assert names(python) == [("foo-bar-baz", "1.2"), ("torch", "2.6.0")]
    torch = python.distribution("torch")
    assert torch is not None and not isinstance(torch, Missing)
    assert (torch.requires_python, torch.requires, torch.installer) == (
        ">=3.9",
        ("nvidia-cudnn-cu12 (==9.1.0.70)",),
        "pip",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "metadata has no name or no version"),
        (b"\xff\xfe\x00garbage", "metadata has no name or no version"),
        (b"Name: torch\n", "metadata has no name or no version"),
        (b"Name: other\nVersion: 1\n", "metadata belongs to other"),
        (None, "metadata cannot be read (absent)"),
    ],
)
def test_broken_metadata_is_a_problem_of_that_distribution(tree: Tree, text: bytes | None, problem: str) -> None:
    tree.python("/venv", cfg=CFG).folder(f"{SITE}/torch-2.6.0.dist-info").distribution(SITE, "numpy", "1.0")
    if text is not None:
        tree.file(f"{SITE}/torch-2.6.0.dist-info/METADATA", text)
    python = look(tree)
    assert names(python) == [("numpy", "1.0"), ("torch", "2.6.0")]
    torch = python.distribution("torch")
    assert torch is not None and not isinstance(torch, Missing) and torch.problem == problem


def test_leftover_of_an_interrupted_install(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).folder(f"{SITE}/~orch-2.0.0.dist-info")
    distributions = look(tree).distributions
    assert not isinstance(distributions, Missing)
    assert distributions[0].problem == "left over from an interrupted pip run"


def test_editable_install_and_eggs(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).distribution(SITE, "vllm", "0.9.0")
    tree.file(f"{SITE}/vllm-0.9.0.dist-info/direct_url.json", '{"url": "file:///src", "dir_info": {"editable": true}}')
    tree.file(f"{SITE}/apex-0.1-py3.11.egg-info/PKG-INFO", "Name: apex\nVersion: 0.1\n")
    python = look(tree)
    assert names(python) == [("apex", "0.1"), ("vllm", "0.9.0")]
    vllm = python.distribution("vllm")
    assert vllm is not None and not isinstance(vllm, Missing) and vllm.editable


def test_other_environments_with_torch(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).python("/opt/other", "3.10").python("/home/u/miniconda3/envs/ml").python("/opt/empty")
    tree.torch("/opt/other/lib/python3.10/site-packages", "2.3.0+cu121", "12.1").python("/srv/.venv", cfg=CFG)
    tree.torch("/home/u/miniconda3/envs/ml/lib/python3.11/site-packages", "2.1.0", None)
    tree.torch("/srv/.venv/lib/python3.11/site-packages", "2.7.0+cpu", None)
    python = tree.look({"HOME": "/home/u"}, python="/venv", cwd="/srv").python
    assert not isinstance(python.others, Missing)
    assert sorted((o.prefix, o.torch_version) for o in python.others) == [
        ("/home/u/miniconda3/envs/ml", "2.1.0"),
        ("/opt/other", "2.3.0+cu121"),
        ("/srv/.venv", "2.7.0+cpu"),
    ]
    assert python.patient.torch_version == Missing("absent")


def test_the_patient_is_not_among_the_others(tree: Tree) -> None:
    tree.python("/venv", cfg=CFG).torch(SITE)
    python = look(tree)
    assert (python.patient.torch_version, python.others) == ("2.6.0+cu124", ())
