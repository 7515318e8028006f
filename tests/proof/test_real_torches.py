"""What a sound machine is told under two small real releases: Debian's python3-torch 1.13.1 and the CPU wheel.

Under the wheel `prove` and `prove --links` are tested in test_prove_here.py and test_collective_speed.py.
`benchmarks/torches.py` does the same with every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import torches

from ..shared import made_once
from . import debian_torch


@pytest.fixture
def debian(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An environment with Debian's torch, and the variables that it needs."""
    prefix = made_once(tmp_path_factory, "debian-torch", debian_torch.environment)
    for name, value in debian_torch.variables().items():
        monkeypatch.setenv(name, value)
    yield prefix


@pytest.mark.debian_torch
def test_an_old_torch_is_proven_on_the_cpu(debian: Path) -> None:
    """Its torch.backends raises AssertionError for names that it lacks."""
    seen = torches.quick(debian)
    assert not seen.wrong and "bf16, fp32 right" in seen.words


@pytest.mark.debian_torch
def test_a_torchrun_that_dies_before_a_rank_starts_says_nothing_of_the_links(debian: Path) -> None:
    """Its own traceback on Python 3.11: redirects are an IntFlag, whose str changed there (pytorch 1.13, to_map)."""
    report, _ = torches.gpudoctor("prove", "--links", "--device", "cpu", "--timeout", "120", "--python", debian)
    found = [(finding["id"], finding["status"]) for finding in report["findings"]]
    assert (report["exit_code"], found) == (3, [("collective-failed", "unknown")])
    assert "torchrun exited before any rank started" in report["findings"][0]["detail"]
    assert "unrecognized arguments" not in report["findings"][0]["detail"]


@pytest.mark.debian_torch
def test_a_training_under_an_old_torch_is_watched(debian: Path, tmp_path: Path) -> None:
    assert not torches.watched(debian, tmp_path).wrong


@pytest.mark.debian_torch
def test_the_products_of_an_old_torch_on_a_gpu_are_verified(debian: Path) -> None:
    """The branches that only a GPU takes; the CPU computes for it."""
    seen = torches.as_gpu(debian, "matmul fp32,matmul tf32")
    assert (seen.wrong, seen.words) == ("", "2 products right")


@pytest.mark.torch_wheel
def test_a_training_is_watched(with_torch: Path, tmp_path: Path) -> None:
    assert not torches.watched(with_torch, tmp_path).wrong
