"""Which wheel is taken where two indexes have a package: what the printed lines rest on, by pip and by uv."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable

import pytest

from .conftest import RELEASES
from .environments import Patient
from .shelf import Shelf

New = Callable[..., Patient]
PROJECT = """
[project]
name = "work"
version = "0"
requires-python = "=={python}.*"
dependencies = ["torch=={version}", "torchvision", "numpy"]

[tool.uv]
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64'"]

[[tool.uv.index]]
name = "pytorch-{tag}"
url = "{url}"
explicit = true

[tool.uv.sources]
torch = {{ index = "pytorch-{tag}" }}
torchvision = {{ index = "pytorch-{tag}" }}
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.9.1+cu126", "2.9.1+cu130"])
def test_pip_takes_the_build_that_is_pinned_by_its_local_version(patient: New, shelf: Shelf, version: str) -> None:
    here = patient("pip")
    url = shelf.index(version.partition("+")[2]).url
    here.room.run(f"{here.typed} -m pip install torch=={version} numpy --extra-index-url {url}")
    assert here.installed["torch"] == version and "numpy" in here.installed


@pytest.mark.slow
def test_pip_without_the_local_version_takes_the_highest_of_all_indexes(patient: New, shelf: Shelf) -> None:
    """2.9.1+cu126 is higher than 2.9.1, and a later release than both: why printed lines pin the local version."""
    here = patient("pip")
    url = shelf.index("cu126").url
    here.room.run(f"{here.typed} -m pip install torch==2.9.1 --no-deps --extra-index-url {url}")
    assert here.installed["torch"] == "2.9.1+cu126"
    here.room.run(f"{here.typed} -m pip install torch --no-deps --upgrade --extra-index-url {shelf.index('cu118').url}")
    assert here.installed["torch"] == RELEASES[-1]


def test_uv_asks_the_added_index_first_and_then_no_other(patient: New, shelf: Shelf) -> None:
    here = patient("uv")
    install = f"uv pip install --python {here.typed}"
    url = shelf.index("cu126").url
    here.room.run(f"{install} torch==2.9.1+cu126 numpy --extra-index-url {url}")
    assert here.installed["torch"] == "2.9.1+cu126" and "numpy" in here.installed
    with pytest.raises(AssertionError, match="no version"):  # the first index that has torch has no such build
        here.room.run(f"{install} torch==2.9.1+cu130 --index {shelf.index('cu126').url}")
    here.room.run(
        f"{install} torch==2.9.1+cu128 --index {shelf.index('cu126').url} --index {shelf.index('cu128').url} "
        "--index-strategy unsafe-best-match"
    )
    assert here.installed["torch"] == "2.9.1+cu128"


@pytest.mark.slow
def test_a_default_index_of_the_user_beats_index_url_in_uv(patient: New, shelf: Shelf) -> None:
    """UV_DEFAULT_INDEX is set in a room as in many companies: `--index-url` is then not heard, `--default-index` is."""
    here = patient("uv")
    url = shelf.index("cu126").url
    with pytest.raises(AssertionError, match="no version"):
        here.room.run(f"uv pip install --python {here.typed} --no-deps torch==2.9.1+cu126 --index-url {url}")
    here.room.run(f"uv pip install --python {here.typed} --no-deps torch==2.9.1+cu126 --default-index {url}")
    assert here.installed["torch"] == "2.9.1+cu126"


@pytest.mark.parametrize("tag", ["cu126", "cu128"])
def test_an_explicit_index_of_a_uv_project(patient: New, shelf: Shelf, tag: str) -> None:
    """torch comes from PyTorch's index, everything else from the default one, whichever versions both have."""
    here = patient("uv")
    project = here.room.folder / "work"
    project.mkdir()
    python = ".".join(platform.python_version_tuple()[:2])
    text = PROJECT.format(python=python, version=f"2.9.1+{tag}", tag=tag, url=shelf.index(tag).url)
    (project / "pyproject.toml").write_text(text)
    here.room.run(
        f"cd work && UV_NO_CONFIG=0 UV_PROJECT_ENVIRONMENT={shlex.quote(str(here.prefix))} uv sync --no-install-project"
    )
    have = here.installed
    assert have["torch"] == f"2.9.1+{tag}" and have["torchvision"] == f"0.24.1+{tag}" and have["numpy"] == "2.2.6"
    lock = (project / "uv.lock").read_text()
    assert lock.count(shelf.index(tag).root.name + "/simple") >= 2
    assert f'name = "numpy"\nversion = "2.2.6"\nsource = {{ registry = "{shelf.default.root}' in lock
