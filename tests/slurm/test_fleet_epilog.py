"""`fleet run --on slurm` where nodes are not free at once: an epilog holds them after each job, or somebody was faster."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from doctor.fleet.engines import slurm as engine
from doctor.fleet.gather import Event, Wish, probe_for

from ..cli.command import COMMAND
from ..fleet import fleets
from ..fleet.canned import asked, canned_gpudoctor
from ..fleet.test_run_command import examined
from ..reaction import HANG_S
from .cluster import Cluster, slurm

pytestmark = pytest.mark.slurm
NAMES = tuple(f"n{number}" for number in range(1, 7))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    canned_gpudoctor(folder / "canned")
    for number, name in enumerate(NAMES, 1):
        (folder / "canned" / f"{name}.json").write_bytes(examined(number, 0.7 if name == "n2" else 1.0))
    epilog = folder / "epilog.sh"
    epilog.write_text("#!/bin/sh\nsleep 16\n")
    epilog.chmod(0o755)
    with slurm(folder, "#!/bin/sh\nexit 0\n", NAMES, f"Epilog={epilog}\n") as made:
        yield made


def test_a_repeat_waits_for_the_epilog(cluster: Cluster, tmp_path: Path) -> None:
    line = [COMMAND, "fleet", "run", "--on", "slurm", "--command", cluster.folder / "canned" / "gpudoctor", "--prove"]
    done = subprocess.run(
        [*line, "--expect", "any", "-o", tmp_path / "now.db"],
        env=cluster.env, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    found, _ = fleets.report(tmp_path / "now.db")
    assert done.returncode == 0 and not done.stderr and found["answered"] == 6, done
    assert [one.split()[0] for one in asked(cluster.folder / "canned" / "gpudoctor")].count("n2") == 3
    assert {one["node"] for one in found["slow"]} == {"n2"}
    cluster.heal(HANG_S)


def test_a_node_that_becomes_busy_meanwhile_has_the_time_of_wait(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was idle when sinfo listed it, and somebody's job was faster. A sinfo that gets no answer is asked again."""
    monkeypatch.setenv("SLURM_CONF", cluster.env["SLURM_CONF"])
    cluster.heal(HANG_S)
    roster = engine.nodes(Wish(nodes="n1", wait_s=HANG_S))
    (tmp_path / "sinfo").write_text(
        f'#!/bin/sh\ntest -e {tmp_path}/asked && exec {which("sinfo")} "$@"\ntouch {tmp_path}/asked; exit 1\n'
    )
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    cluster.run("sbatch", "-N1", "--exclusive", "--nodelist=n1", "--job-name=theirs", "--wrap", "sleep 20")
    cluster.wait(lambda states: states["n1"].startswith("alloc"))
    job = engine.start(roster, ["n1"], probe_for("abc", b"print(1)\n", HANG_S))
    try:
        end, seen = time.monotonic() + HANG_S, list[Event]()
        while not seen and time.monotonic() < end:
            seen += engine.answers(job, 0.2)
    finally:
        engine.stop(job)
    assert seen[0] == Event("n1", "began"), seen
    assert (tmp_path / "asked").exists()
