"""Every line that resolve prints names versions and indexes that the matrix has as published."""

from __future__ import annotations

import re
import shlex
from itertools import product

import pytest

from compat_matrix import Matrix
from compat_matrix.candidate import Candidate
from compat_matrix.resolver import Question, resolve
from compat_matrix.wish import Wish
from compat_matrix.wishes import KNOWN
from doctor.fixes.install import Install, of_build
from doctor.resolve.choice import lines
from doctor.resolve.formats import FORMATS, environment_yml, pyproject_toml

from ..judging import matrix
from ..rows import Faults

INDEX = "https://download.pytorch.org/whl/"


def questions() -> list[Question]:
    """GPUs of every generation, drivers of the branches that are met, systems, and each wish alone."""
    gpus = ("3.7", "5.2", "6.1", "7.0", "7.5", "8.0", "8.9", "9.0", "10.0", "12.0")
    plain = [
        Question(gpus=(gpu,), driver=driver, os=os)
        for gpu, driver, os in product(
            gpus, ("", "470.256.02", "535.183.01", "570.86.15", "580.82.07"), ("linux", "windows")
        )
    ]
    wished = [
        Question(gpus=("8.0",), driver=driver, python="3.12", wishes=(Wish(name),))
        for name, driver in product(KNOWN, ("535.183.01", "580.82.07"))
    ]
    return [*plain, *wished, Question(gpus=("9.0",), driver="580.82.07", arch="aarch64")]


def check(m: Matrix, q: Question, one: Candidate, wanted: Install) -> None:
    tags = {row.tag: row for row in m.index_urls}
    builds = {(row.torch, row.tag) for row in m.builds if row.platform == q.platform and row.published == "yes"}
    urls = [url for url in (wanted.index, wanted.extra_index, *wanted.more_indexes) if url]
    own = {row.url for row in m.extension_indexes}
    assert all(url in own or url.removeprefix(INDEX) in tags for url in urls), urls
    for package in wanted.packages:
        torch = re.fullmatch(r"torch==([\d.]+)(?:\+(cu\d+))?", package)
        if torch:
            tag = torch[2] or (m.pypi_tag(torch[1], q.platform) if not urls else one.build.tag)
            assert (torch[1], tag) == (one.build.torch, one.build.tag) and (torch[1], tag) in builds
            if torch[2]:  # a local version is on torch's own index alone
                assert any(url == tags[torch[2]].url for url in urls), package
                assert torch[1] in tags[torch[2]].torch, package
        vision = re.match(r"(torchvision|torchaudio)[=>]=([\d.]+)", package)
        if vision:
            assert vision[2] in {row.version for row in m.companion_rows if row.package == vision[1]}, package


@pytest.mark.slow
def test_every_line_names_what_is_published() -> None:
    m = matrix()
    with Faults() as faults:
        for q in questions():
            answer = resolve(m, q)
            for one in answer.candidates:
                with faults.of(f"{q.gpus} {q.driver} {q.os} {q.wishes}: torch {one.build.torch} {one.build.tag}"):
                    how = lines(m, q, one)
                    check(m, q, one, how.request)
                    assert shlex.split(how.pip) and shlex.split(how.uv)
                    for package in how.request.packages:
                        assert package in shlex.split(how.pip) and package in shlex.split(how.uv)


def test_pyproject_is_toml_that_names_each_index() -> None:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    m = matrix()
    for q in (
        Question(gpus=("6.1",), driver="580.82.07", python="3.11"),
        Question(gpus=("8.9",), driver="535.183.01", python="3.12", wishes=(Wish("vllm"),)),
        Question(gpus=("8.9",), driver="580.82.07", os="windows"),
    ):
        one = resolve(m, q).candidates[0]
        table = tomllib.loads(pyproject_toml(m, q, one))
        uv = table["tool"]["uv"]
        names = {index["name"]: index for index in uv.get("index", ())}
        assert all(index["explicit"] for index in names.values())
        assert {source["index"] for source in uv.get("sources", {}).values()} == set(names)
        assert ("torch" in uv.get("sources", {})) == bool(one.index)
        assert any(text.startswith(f"torch=={one.build.torch}") for text in table["project"]["dependencies"])


def test_formats_are_for_the_same_build() -> None:
    m = matrix()
    q = Question(gpus=("7.0",), driver="580.82.07", python="3.11")
    one = resolve(m, q).candidates[0]
    for name, make in FORMATS.items():
        text = make(m, q, one)
        assert one.build.torch in text, name
    conda = Question(gpus=("10.0",), driver="570.86.15", python="3.12")  # cu126 has no code for it
    text = environment_yml(m, conda, resolve(m, conda).candidates[0])
    assert "python=3.12" in text and re.search(r"pytorch=[\d.]+=cuda12[89]", text)


@pytest.mark.slow
def test_every_line_of_a_fix_names_what_is_published() -> None:
    """Fixes take their builds from `best_builds`: each that it can answer, as the line that is printed of it."""
    m = matrix()
    tags = {row.tag: row for row in m.index_urls}
    with Faults() as faults:
        for q in questions():
            if q.wishes:
                continue
            for one in m.best_builds(list(q.gpus), q.driver or None, q.os, q.arch, forward_compat=True, limit=1000):
                with faults.of(f"{q.gpus} {q.driver} {q.os}: torch {one.torch} {one.tag}"):
                    row = m.torch_build(one.torch, one.tag, q.platform)
                    assert row is not None and row.published == "yes"
                    wanted = of_build(one)
                    tag = wanted.index.removeprefix(INDEX) if wanted.index else m.pypi_tag(one.torch, q.platform)
                    assert tag == one.tag and (not wanted.index or one.torch in tags[one.tag].torch)
                    assert wanted.packages[0].partition("+")[0] == f"torch=={one.torch}"
                    for package in wanted.packages[1:]:
                        name, version = re.split(r"[=>]=", package.partition("+")[0])
                        assert version in {r.version for r in m.companion_rows if r.package == name}, package
