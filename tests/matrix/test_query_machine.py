"""Drivers, GPUs and release lines in questions: each as people write it, with the answer of the version it means."""

from __future__ import annotations

import contextlib
import json
import re
import shlex

import pytest

from compat_matrix import Matrix
from compat_matrix.branches import branch_ended
from compat_matrix.drivers import newest_of_branch
from compat_matrix.resolver import Question, resolve
from compat_matrix.versions import numbers
from doctor.cli import run
from doctor.commands.matrix_answer import Found
from doctor.commands.matrix_for import answer_for, things

from ..rows import Faults
from .test_questions import VALUES, value_of
from .unanswered import unanswered

Capture = pytest.CaptureFixture[str]
_REPORTED_ONLY = r"(?<![\d.])12\.7(?![\d.])"
"""CUDA 12.7, which a driver reports and nobody published."""


def _query(capsys: Capture, *words: str) -> list[str]:
    assert run(["matrix", "query", *words]) == 0, words
    return capsys.readouterr().out.splitlines()


def _json(capsys: Capture, *words: str) -> object:
    return json.loads("\n".join(_query(capsys, *words, "--format", "json")))


def test_a_bare_branch_is_its_newest_release(m: Matrix) -> None:
    cudas = [f"{major}.{minor}" for major, minor in m.toolkit_versions()]
    with Faults() as faults:
        for row in m.drivers:
            assert newest_of_branch(m, str(row.branch)) == row.latest_seen
            for cuda in cudas:
                with faults.of(f"driver {row.branch} cuda {cuda}"):
                    bare, full = (m.driver_for_cuda(one, cuda) for one in (str(row.branch), row.latest_seen))
                    assert bare.grade == full.grade
            for number in range(row.windows_first or 1, (row.windows_last or 0) + 1):
                with faults.of(f"Windows driver {number}"):
                    bare, full = (m.driver_for_cuda(f"{number}{end}", "13.0", "windows") for end in ("", ".9999"))
                    assert bare.grade == full.grade


def test_every_command_takes_a_branch_so(capsys: Capture, m: Matrix) -> None:
    for branch in ("525", "535", "565", "580", "620"):
        newest = newest_of_branch(m, branch)
        for wanted in ("cuda", "torch", "vllm", "flash-attn", "jax"):
            assert (
                _json(capsys, wanted, "for", "driver", branch)["values"]
                == (  # type: ignore[index]
                    _json(capsys, wanted, "for", "driver", newest)["values"]  # type: ignore[index]
                )
            ), (wanted, branch)
        for cuda in ("12.8", "13.2"):
            (first, *_) = _query(capsys, "driver", branch, "cuda", cuda)
            run(["explain", f"does driver {branch} support cuda {cuda}"])
            assert ("Yes" in capsys.readouterr().out) == first.startswith(("native", "minor-version")), first
        found = [resolve(m, Question(gpus=("9.0",), driver=one)).candidates for one in (branch, newest)]
        assert [(x.build.torch, x.build.tag) for x in found[0]] == [(x.build.torch, x.build.tag) for x in found[1]]


@pytest.mark.parametrize("platform", ["linux", "windows"])
def test_the_offered_branch_drives_the_gpu_and_no_better_one_does(m: Matrix, platform: str) -> None:
    levels = {row.cc for row in (*m.gpus, *m.boards) if row.cc}
    assert len(levels) > 20
    with Faults() as faults:
        for cc in sorted(levels, key=numbers):
            row = m.compute_capability(cc)
            assert row is not None
            for day in ("2019-06-01", "2022-06-01", "2024-12-01", "2026-11-28", "2035-01-01"):
                with faults.of(f"{cc} on {day}"):
                    every = m.branches_for([cc], platform)  # type: ignore[arg-type]
                    offered = m.branch_to_install([cc], today=day, platform=platform)  # type: ignore[arg-type]
                    if row.tegra:
                        continue
                    assert every and all(m.driver_for_gpu(str(one.branch), cc).grade == "ok" for one in every)
                    alive = [one for one in every if not branch_ended(m, one, day)]
                    assert (offered in alive) if alive else offered is None
                    steady = [one for one in alive if one.type in ("lts", "production")]
                    assert not steady or offered == min(steady, key=lambda one: one.branch)


def test_a_branch_without_a_date_has_ended_with_the_next(m: Matrix) -> None:
    day = "2026-11-28"
    ended = {row.branch for row in m.drivers if branch_ended(m, row, day)}
    assert {384, 387, 396, 410, 415, 430, 435, 455} <= ended and not {580, 590, 595, 615, 620} & ended
    dates = {row.branch: row.end_of_life for row in m.drivers if row.end_of_life}
    for row in m.drivers:
        if not row.end_of_life:
            assert (row.branch in ended) == any(
                dates[one] < day for one in dates if one > row.branch and len(dates[one]) > 4
            )
    assert branch_ended(m, next(row for row in m.drivers if row.branch == 384), "2018-01-01") is None


@pytest.mark.parametrize(
    ("gpu", "branch"), [("K80", 470), ("GTX 680", 470), ("3.5", 470), ("GTX 580", 390), ("GTX 1080", 580)]
)
def test_the_driver_for_an_old_gpu(capsys: Capture, gpu: str, branch: int) -> None:
    found = _json(capsys, "driver", "for", "gpu", gpu)
    assert found["values"] == [str(branch)]  # type: ignore[index]
    assert f"to install: branch {branch} (" in "\n".join(_query(capsys, "driver", "for", "gpu", gpu))


@pytest.mark.slow
def test_every_release_line_is_each_of_its_releases(capsys: Capture, m: Matrix) -> None:
    _lines(capsys, m, {".".join(row.torch.split(".")[:2]) for row in m.releases if numbers(row.torch) > (2,)})


def _lines(capsys: Capture, m: Matrix, lines: set[str]) -> None:
    with Faults() as faults:
        for line in sorted(lines, key=numbers):
            releases = [row.torch for row in m.releases if numbers(row.torch)[:2] == numbers(line)]
            for wanted in ("torchvision", "sglang", "cuda", "driver", "python", "cudnn"):
                with faults.of(f"{wanted} for torch {line}"):
                    found = set(_json(capsys, wanted, "for", "torch", line)["values"])  # type: ignore[index]
                    each = [set(_json(capsys, wanted, "for", "torch", one)["values"]) for one in releases]  # type: ignore[index]
                    assert found == set().union(*each)


def test_a_release_line_is_each_of_its_releases(capsys: Capture, m: Matrix) -> None:
    _lines(capsys, m, {"2.9"})
    assert "0.5.10" in _json(capsys, "sglang", "for", "torch", "2.9")["values"]  # type: ignore[index]
    text = "\n".join(_query(capsys, "torch", "2.9"))
    assert "torch 2.9.1 (" in text and "torch 2.9.0 (" in text
    assert _query(capsys, "cudnn", "9.10")[0] == "version: 9.10.2" and "2.27.7" in _query(capsys, "nccl", "2.27")[0]


@pytest.mark.parametrize("major", ["9", "10", "11", "12", "13"])
def test_a_cuda_major_is_each_of_its_versions(capsys: Capture, m: Matrix, major: str) -> None:
    minors = [f"{one}.{small}" for one, small in m.toolkit_versions() if str(one) == major]
    for wanted in ("torch", "jax", "gpu", "bitsandbytes", "tensorflow"):
        found = set(_json(capsys, wanted, "for", "cuda", major)["values"])  # type: ignore[index]
        each = [set(_json(capsys, wanted, "for", "cuda", one)["values"]) for one in minors]  # type: ignore[index]
        assert found == set().union(*each), wanted
    assert any(
        line.startswith(f"CUDA {minors[-1]} with all") for line in _query(capsys, "driver", "for", "cuda", major)
    )
    assert _query(capsys, "cuda", major)[0].startswith(f"version: {minors[-1]}")
    assert [line.split(":")[0] for line in _query(capsys, "driver", "535", "cuda", major)[:1]] == [f"CUDA {minors[0]}"]


def test_a_windows_driver_is_answered_for_windows(capsys: Capture, m: Matrix) -> None:
    linux = {row.branch for row in m.drivers}
    numbers_ = [n for row in m.drivers for n in range(row.windows_first or 1, (row.windows_last or 0) + 1)]
    only = [n for n in sorted(set(numbers_)) if n not in linux]
    assert len(only) > 40
    with Faults() as faults:
        for number in (*only[-8:], only[0]):
            for words in (f"driver {number}.88", f"driver {number}.57 cuda 12.8", f"driver {number}.88 gpu H100",
                          f"cuda for driver {number}.88", f"torch for driver {number}.88"):  # fmt: skip
                with faults.of(words):
                    note, *rest = _query(capsys, *words.split())
                    assert re.match(rf"driver {number}\.\d\d is a Windows driver \(branch \d+\)", note)
                    assert rest == _query(capsys, *words.split(), "--os", "windows")
    assert run(["matrix", "query", "driver", "999.88"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        "matrix query driver 565", "matrix query driver 565.57.01", "matrix query cuda for driver 565",
        "matrix query driver 565 cuda 12.8", "matrix query driver 565 cuda 12.4", "matrix query driver for cuda 12",
        "matrix query torch for driver 565", "matrix query cuda for gpu H100", "matrix query driver 565.90 --os windows",
        "resolve --gpu H100 --driver 565", "resolve --gpu 'RTX 4090' --driver 565.57.01 --explain-all",
        "explain 'driver 565 cuda 12.8'", "explain 'which cuda for driver 565'", "explain 'driver 565, torch 2.8.0'",
    ],
)  # fmt: skip
def test_no_answer_has_a_cuda_that_was_never_published(capsys: Capture, words: str) -> None:
    run(shlex.split(words))
    text = capsys.readouterr().out.partition("source: ")[0]
    assert text and not re.search(_REPORTED_ONLY, text), text


@pytest.mark.slow
def test_every_pair_with_data_is_answered_with_its_source(m: Matrix) -> None:
    """Both directions, for some release of the package; what has no answer is in a list, which must not grow."""
    kinds = tuple(VALUES)
    with Faults() as faults:
        for wanted in things(m):
            for kind in things(m):
                if wanted == kind or (wanted not in kinds and kind not in kinds):
                    continue
                with faults.of(f"{wanted} for {kind}"):
                    found = _some_answer(m, wanted, kind)
                    assert bool(found) != unanswered(wanted, kind), found
                    assert not found or found.sources, found


def _some_answer(m: Matrix, wanted: str, kind: str) -> Found | None:
    import click

    from compat_matrix.packages import package_rows

    listed = dict.fromkeys(row.version for row in package_rows(m, kind)) if kind not in VALUES else ()
    gpu = "H100" if kind == "gpu" else ""
    for value in listed or (gpu or value_of(m, kind),):
        with contextlib.suppress(click.ClickException):
            return answer_for(m, wanted, (kind, *value.split()), {"os_": "linux", "arch": "x86_64"})
    return None


def test_no_row_refers_to_another_row(m: Matrix) -> None:
    """'as 9.25.1' tells nothing to who reads the one row."""
    from compat_matrix.tables import TABLES, row_name

    told = [
        (row_name(row), text)
        for table in TABLES
        for row in m.rows(table)
        for text in map(str, (getattr(row, name) for name in row.__struct_fields__))
        if re.search(r"(?:^|[\s;])as \d+\.\d", text)
    ]
    assert not told
