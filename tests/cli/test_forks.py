"""A command line that is forked off does what one that is started anew does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ..healthy import healthy
from ..rows import Faults
from . import forks
from .command import gpudoctor, save

LINES = """
--version
--help
check --from {report}
check --from {report} -f html
check --from {report} -f sarif
check --from {report} -f junit
check --nothing
healthcheck --from {report} -f node-problem-detector
record --from
explain no-nvidia-gpu
explain - -f md
fix --from {report}
compare {report} {report} -f md
what-if --from {report} --driver 470
resolve torch --gpu H100 --driver 535 -f pyproject
resolve -r -
topo --from {report} -f html
fit --params 7B --gpus A100 --compare -f md
watch --help
prove --device
image registry.example.invalid/a/b:1
dockerfile -
fleet load {report} -o {folder}/now.db
fleet report {report}
matrix age
matrix query gpu for torch 2.8.0
matrix lint
print workflow
print nothing
schema --fleet
list-checks -f json
trust {report}
mcp --nothing
"""
_TIME = re.compile(rb"20\d\d-\d\d-\d\d[T ][\d:.]+")


@pytest.mark.slow
def test_a_fork_is_as_good_as_a_new_process(tmp_path: Path) -> None:
    report = save(tmp_path, healthy())
    with Faults() as faults:
        for line in LINES.strip().splitlines():
            words = line.format(report=report, folder=tmp_path).split()
            with faults.of(line):
                forked, new = (_run(words, tmp_path, anew) for anew in (False, True))
                assert forked == new


def _run(words: list[str], folder: Path, anew: bool) -> tuple[int, bytes, bytes]:
    (folder / "now.db").unlink(missing_ok=True)
    done = gpudoctor(*words, data=b"no kernel image is available\n", env={"HOME": str(folder)}, anew=anew)
    return done.returncode, _TIME.sub(b"", done.stdout), done.stderr


def test_its_end_is_reported_as_that_of_a_process(tmp_path: Path) -> None:
    """stdin in more than one piece, a folder of its own, and the time that a command may take."""
    long = b"no kernel image is available\n" * 9000
    assert gpudoctor("explain", "-", data=long).stdout == gpudoctor("explain", "-", data=long, anew=True).stdout
    (tmp_path / "Own.Dockerfile").write_text("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n")
    assert gpudoctor("dockerfile", "Own.Dockerfile", cwd=tmp_path).returncode == 0
    assert gpudoctor("dockerfile", "Own.Dockerfile").returncode == 2


def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "TIMEOUT_S", 0.5)
    with pytest.raises(subprocess.TimeoutExpired):
        gpudoctor("watch", "--", "sleep", "2")
