"""`fleet run --on slurm --command ... --prove`, under a real slurmctld and 16 slurmd."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import COMMAND
from ..fleet import fleets
from ..fleet.canned import asked, canned_gpudoctor
from ..fleet.test_run_command import examined
from ..reaction import HANG_S
from .cluster import Cluster, slurm

pytestmark = pytest.mark.slurm
NAMES = tuple(f"n{number:02d}" for number in range(1, 17))
WRAPPER = """#!/bin/sh
# What a node has instead of its gpudoctor, or the canned one. Slurm's step has the GPU that it was asked for.
echo "$SLURMD_NODENAME $SLURM_JOB_NUM_NODES gpus=$SLURM_GPUS_ON_NODE $SLURM_JOB_NAME" >> {folder}/steps
own={folder}/own-$SLURMD_NODENAME
test -e "$own" && exec "$own" "$@"
exec {folder}/canned/gpudoctor "$@"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    canned_gpudoctor(folder / "canned")
    (folder / "gpudoctor").write_text(WRAPPER.format(folder=folder))
    (folder / "gpudoctor").chmod(0o755)
    with slurm(folder, "#!/bin/sh\nexit 0\n", NAMES) as made:
        yield made


@pytest.fixture(autouse=True)
def prepared(cluster: Cluster) -> Iterator[None]:
    for number, name in enumerate(NAMES, 1):
        (cluster.folder / "canned" / f"{name}.json").write_bytes(examined(number))
    yield
    for file in (*cluster.folder.glob("own-*"), cluster.folder / "steps", cluster.folder / "canned" / "asked"):
        file.unlink(missing_ok=True)
    cluster.heal(HANG_S)


def own(cluster: Cluster, node: str, script: str) -> None:
    file = cluster.folder / f"own-{node}"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def begun(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    line = [COMMAND, "fleet", "run", "--on", "slurm", "--command", cluster.folder / "gpudoctor", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, env=cluster.env, cwd=cluster.folder, stdout=pipe, stderr=pipe, text=True)


def run(cluster: Cluster, *words: str | Path) -> tuple[int, str, str]:
    child = begun(cluster, *words)
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def nothing_left(cluster: Cluster) -> None:
    jobs = cluster.run("squeue", "-h", "-o", "%j %T").stdout.splitlines()
    assert not [job for job in jobs if "gpudoctor" in job and "COMPLETING" not in job], jobs
    lines = cluster.processes()
    assert any(line.startswith("slurmd ") for line in lines)  # they can be seen
    assert not [line for line in lines if "srun --job-name=gpudoctor" in line or "98766" in line], lines


def test_nodes_that_look_slow_are_measured_twice_more(cluster: Cluster, tmp_path: Path) -> None:
    """n05 is slow, n07 busy, n09 hangs, n11 has none, n13 an old one: each is only itself late or left out."""
    (cluster.folder / "canned" / "n05.json").write_bytes(examined(5, 0.7))
    cluster.run("sbatch", "-N1", "--exclusive", "--nodelist=n07", "--job-name=theirs", "--wrap", "sleep 600")
    cluster.wait(lambda states: states["n07"].startswith("alloc"))
    own(cluster, "n09", "exec sleep 98766")
    own(cluster, "n11", "exit 127")
    own(cluster, "n13", f'shift; exec {COMMAND} flet "$@"')
    database = tmp_path / "now.db"
    code, out, err = run(cluster, "--prove", "--timeout", "30s", "--expect", "any", "-o", database)
    found, _ = fleets.report(database)
    assert code == 3 and not err, (out, err)
    why = reasons(found)
    assert found["answered"] == 12 and why.keys() == {"n07", "n09", "n11", "n13"}
    assert why["n07"].startswith("busy: ") and why["n09"] == "no answer in 30 s"
    assert why["n11"].endswith("was not found there: install gpudoctor on the node, or give its path with --command")
    assert why["n13"] == "its gpudoctor is too old for fleet run --command: update it there"
    assert {one["node"] for one in found["slow"]} == {"n05"}
    steps = [line.split() for line in (cluster.folder / "steps").read_text().splitlines()]
    again = [step for step in steps if step[1] == "1"]
    assert [step[0] for step in again] == ["n05", "n05"] and len({step[3] for step in again}) == 2
    assert {step[2] for step in steps} == {"gpus=1"}, "each step has all GPUs of its node"
    assert {line.partition(" ")[2] for line in asked(cluster.folder / "canned" / "gpudoctor")} == {
        "--timeout=30 --prove=quick"
    }
    cluster.run("scancel", "--user=root")
    nothing_left(cluster)


def test_the_real_one_examines_and_a_busy_node_gets_time(cluster: Cluster, tmp_path: Path) -> None:
    own(cluster, "n02", f'exec {COMMAND} "$@" --device cpu')
    cluster.run("sbatch", "-N1", "--exclusive", "--nodelist=n03", "--job-name=theirs", "--wrap", "sleep 4")
    cluster.wait(lambda states: states["n03"].startswith("alloc"))
    words = ("--nodes", "n[02-03]", "--prove", "--wait", "1h", "--expect", "any", "-o", tmp_path / "now.db")
    code, out, err = run(cluster, *words)
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and not err and found["answered"] == 1, (out, err)
    assert reasons(found)["n02"].startswith("the probe got no GPU, but the scheduler counts 1 GPU there")
    nothing_left(cluster)


def test_a_command_in_the_home_folder_and_its_variable(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm gives a step no HOME; the node's list of users knows it."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    up = "../" * home.count("/") + str(cluster.folder)[1:]
    own(cluster, "n02", f'test "$HOME" = {home} || exit 9\nexec {cluster.folder}/canned/gpudoctor "$@"')
    line = [COMMAND, "fleet", "run", "--on", "slurm", "--command", f"~/{up}/gpudoctor", "--nodes", "n02"]
    done = subprocess.run(
        [*line, "--expect", "any", "-o", tmp_path / "now.db"],
        env={**cluster.env, "HOME": "/nonexistent"}, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_repeated_measurement_cancels_it(
    cluster: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    """What was measured before is kept."""
    (cluster.folder / "canned" / "n05.json").write_bytes(examined(5, 0.7))
    asks = cluster.folder / "canned" / "asked"
    canned = cluster.folder / "canned" / "gpudoctor"
    again = f"touch {cluster.folder}/own-again; exec sleep 98766"
    own(cluster, "n05", f'grep -q n05 {asks} && {{ {again}; }}\nexec {canned} "$@"')
    database = tmp_path / "now.db"
    child = begun(cluster, "--prove", "--expect", "any", "-o", database)
    end = time.monotonic() + HANG_S
    while not (cluster.folder / "own-again").exists():
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.2)
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number), (out, err)
    found, _ = fleets.report(database)
    assert found["answered"] == 16 and {one["node"] for one in found["once"]} == {"n05"}
    assert "n05 was not measured again (2 of 3): the run was stopped before this node answered" in err
    nothing_left(cluster)
