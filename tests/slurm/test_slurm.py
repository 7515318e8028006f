"""What is printed and told for Slurm, under a real slurmctld and slurmd."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..cli.command import gpudoctor
from ..reaction import HANG_S
from .cluster import Cluster, slurm

pytestmark = pytest.mark.slurm
GPU_JOB = ("srun", "-N1", "--gres=gpu:1", "--nodelist=n1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With the prolog as it is printed, but for the folder of gpudoctor."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "bin").mkdir()
    printed = gpudoctor("print", "slurm-prolog", "--expect", "8xH100").stdout.decode()
    assert "/opt/gpudoctor/bin" in printed
    with slurm(folder, printed.replace("/opt/gpudoctor/bin", str(folder / "bin"))) as made:
        install(made, f'exec {sys.executable} -m doctor "$@"')
        yield made


def install(cluster: Cluster, script: str) -> None:
    """The gpudoctor that the prolog finds."""
    command = cluster.folder / "bin" / "gpudoctor"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)


def test_the_prolog_drains_a_node_without_its_gpus(cluster: Cluster) -> None:
    """A real check of this machine, which has no H100: an interactive job ends, a batch job waits for the operator."""
    cluster.heal()
    done = cluster.run(*GPU_JOB, "true")
    assert done.returncode and "prolog fail" in done.stderr.lower(), done
    state = cluster.wait(lambda states: states["n1"].startswith("drain"))
    assert state["n1"].split(maxsplit=1)[1].startswith("gpudoctor: FAIL "), state
    assert state["n2"].startswith("idle"), "the other node goes on"
    cluster.heal()
    cluster.run("sbatch", "-N1", "--gres=gpu:1", "--nodelist=n1", "--wrap", "true")
    cluster.wait(lambda states: states["n1"].startswith("drain"))
    queue = cluster.run("squeue", "-h", "-o", "%T %r").stdout
    assert "requeued held" in queue, "as the script's own words say"
    assert "holds" in (cluster.folder / "prolog.sh").read_text()


def test_a_job_without_gpus_starts(cluster: Cluster) -> None:
    cluster.heal()
    assert cluster.run("srun", "-N2", "-n2", "true").returncode == 0


@pytest.mark.parametrize("script", ["exit 0", "exit 2", "exec sleep 60", None])
def test_what_could_not_be_looked_at_lets_the_job_start(cluster: Cluster, script: str | None) -> None:
    """Sound, unknown, hung, and no gpudoctor at all."""
    cluster.heal()
    command = cluster.folder / "bin" / "gpudoctor"
    before = command.read_text()
    prolog = cluster.folder / "prolog.sh"
    patient = prolog.read_text()
    try:
        command.unlink() if script is None else install(cluster, script)
        prolog.write_text(patient.replace("timeout 20", "timeout 2"))
        done = cluster.run(*GPU_JOB, "printenv", "SLURM_STEP_GPUS")
        assert (done.returncode, done.stdout.strip()) == (0, "0"), done
        assert cluster.states()["n1"].split()[0] in ("idle", "comp"), cluster.states()
    finally:
        prolog.write_text(patient)
        install(cluster, before.split("\n", 1)[1].strip())


@pytest.mark.torch_wheel
def test_srun_starts_the_ranks_of_prove_links(cluster: Cluster, with_torch: Path) -> None:
    """Two ranks on one node and one on the other: the first reports, data is right, who shares a node is known."""
    cluster.heal()
    words = (
        "-m",
        "doctor",
        "prove",
        "--links",
        "--device",
        "cpu",
        "--python",
        str(with_torch),
        "--format",
        "json",
    )
    ranks = ("srun", "-N2", "-n3", sys.executable, *words)
    done = cluster.run(*ranks, timeout=600, MASTER_ADDR="127.0.0.1")
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    measured = report["snapshot"]["measured"]
    (group,) = measured["link_groups"]
    assert (group["backend"], group["ranks"], group["nodes"]) == ("gloo", 3, 2)
    assert all(rate["right"] is True for rate in measured["collective_rates"])
    apart = {(one["source"], one["target"]): not one.get("same_node", True) for one in measured["sends"]}
    assert apart and all(far == ((a == 2) != (b == 2)) for (a, b), far in apart.items()), apart
    assert not [one for one in report["findings"] if one["status"] in ("fail", "warn")], report["findings"]


def test_a_node_whose_name_has_no_address_is_told_at_once(cluster: Cluster) -> None:
    """Slurm reaches its nodes by NodeAddr; torch's ranks meet by the name."""
    cluster.heal()
    done = cluster.run(
        "srun", "-N2", "-n2", sys.executable, "-m", "doctor", "prove", "--links", "--device", "cpu", timeout=30
    )
    assert done.returncode == 2, done
    assert done.stderr.count("gpudoctor: n1 (the first of Slurm's nodes) cannot be resolved on this machine") == 2


def test_the_health_check_keeps_a_report_of_each_node(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An idle node and one with a job, by slurmd itself; what fails or does not end replaces no report."""
    folder = tmp_path_factory.mktemp("health")
    for name in ("bin", "spool"):
        (folder / name).mkdir()
    script = gpudoctor("print", "slurm-healthcheck", "--expect", "any").stdout.decode()
    for there, here in (("/opt/gpudoctor/bin", "bin"), ("/shared/gpudoctor", "spool")):
        assert there in script
        script = script.replace(there, str(folder / here))
    (folder / "health.sh").write_text(script)
    (folder / "health.sh").chmod(0o755)
    more = f"HealthCheckProgram={folder}/health.sh\nHealthCheckInterval=2\nHealthCheckNodeState=ANY\n"
    with slurm(folder, "#!/bin/sh\n", more=more) as cluster:
        cluster.run("sbatch", "-N1", "--nodelist=n1", "--wrap", "sleep 600")
        cluster.wait(lambda states: states["n1"].startswith(("alloc", "mix")))
        install(cluster, f'exec {sys.executable} -m doctor "$@"')
        reports = {folder / "spool" / f"{name}.json" for name in cluster.nodes}
        until(lambda: all(path.exists() for path in reports))
        assert cluster.states()["n1"].startswith(("alloc", "mix")), "its job goes on"
        done = gpudoctor("fleet", "load", folder / "spool", "-o", folder / "now.db", "--nodes", "n[1-2]")
        assert (done.returncode, done.stdout) == (0, b"2 nodes have answered\n"), done
        install(cluster, 'echo garbage > "$8"; touch ' + str(folder / "tried") + "; exit 2")
        until((folder / "tried").exists)
        cluster.run("scancel", "--user=root")
    assert all(json.loads(path.read_text())["schema_version"] == 1 for path in reports)


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG_S
    while not done():
        assert time.monotonic() < end
        time.sleep(0.2)
