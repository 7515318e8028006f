"""The engine of Slurm with programs in the place of Slurm's commands: what a small cluster does not show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..reaction import HANG_S

ROOT = Path(__file__).parents[2]
_PAIRS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from doctor.fleet.engines import slurm
from doctor.fleet.gather import Wish, probe_for
roster = slurm.nodes(Wish())
names = roster.names
job = slurm.start_pairs(roster, list(zip(names[::2], names[1::2])), probe_for("abc", b"", 60))
print(len(names), len(job.lots), len(job.later))
print(slurm.stop(job))
"""


def command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def slurm(folder: Path, squeue: str = "exit 0") -> dict[str, str]:
    """The environment with 600 idle nodes, and sruns that wait."""
    listed = "|idle|all*|up|gpu:8|Unknown|none"
    command(folder, "sinfo", f'i=0; while [ $i -lt 600 ]; do echo "n$i{listed}"; i=$((i+1)); done')
    command(folder, "srun", "exec sleep 100")
    command(folder, "squeue", squeue)
    command(folder, "scancel", "exit 0")
    return {"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}


def run(env: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PAIRS], env=env, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_more_jobs_than_files_may_be_open(tmp_path: Path) -> None:
    """Each srun takes two; the usual limit of 1,024 is less than 512 pairs need. The others have their turn."""
    counts, left = run(slurm(tmp_path))
    assert counts == "600 64 236" and left == ""


@pytest.mark.slow
def test_what_may_be_left_is_said(tmp_path: Path) -> None:
    again = ": later, gpudoctor fleet clean --on slurm ends them"
    (name,) = ["gpudoctor-abc-1"]
    assert (
        run(slurm(tmp_path, f"echo '7|RUNNING|None|{name}'"))[1] == f"jobs of this run may be left in Slurm (7){again}"
    )
    assert run(slurm(tmp_path, "exit 1"))[1] == f"jobs of this run may be left in Slurm, which does not answer{again}"
