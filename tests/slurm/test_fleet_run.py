"""`fleet run --on slurm`, under a real slurmctld and 16 slurmd: busy, drained, dying, hanging and stopped nodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import COMMAND
from ..fleet import fleets
from ..fleet.canned import H100, canned_python, recorded
from ..fleet.walk import walked
from ..reaction import HANG_S
from .cluster import Cluster, left, slurm

pytestmark = pytest.mark.slurm
NAMES = tuple(f"n{number:02d}" for number in range(1, 17))
TASK_PROLOG = """#!/bin/sh
# What it prints as `export` is the task's: nodes have the canned python3, or one of their own.
own={folder}/own-$SLURMD_NODENAME
test -e "$own" && echo "export PATH=$own:$PATH" || echo "export PATH={folder}/canned:$PATH"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    canned_python(folder / "canned", recorded(H100, time.time()))
    prolog = folder / "task_prolog.sh"
    prolog.write_text(TASK_PROLOG.format(folder=folder))
    prolog.chmod(0o755)
    with slurm(folder, "#!/bin/sh\nexit 0\n", NAMES, f"TaskProlog={prolog}\n") as made:
        yield made


def own(cluster: Cluster, node: str, script: str) -> None:
    """The python3 that a node has instead."""
    folder = cluster.folder / f"own-{node}"
    folder.mkdir(exist_ok=True)
    (folder / "python3").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "python3").chmod(0o755)


@pytest.fixture(autouse=True)
def healed(cluster: Cluster) -> Iterator[None]:
    yield
    for folder in cluster.folder.glob("own-*"):
        (folder / "python3").unlink()
        folder.rmdir()
    cluster.heal(HANG_S)  # where a slurmstepd has died, Slurm cleans up for more than a minute


def begun(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    line = [COMMAND, "fleet", "run", "--on", "slurm", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, env=cluster.env, cwd=cluster.folder, stdout=pipe, stderr=pipe, text=True)


def run(cluster: Cluster, *words: str | Path) -> tuple[int, str, str]:
    child = begun(cluster, *words)
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def nothing_left(cluster: Cluster, but: int = 0) -> None:
    """No job (`but` those of the test itself) but what Slurm is still cleaning up, and no process of a probe."""
    jobs = cluster.run("squeue", "-h", "-o", "%j %T").stdout.splitlines()
    assert not [job for job in jobs if "gpudoctor" in job and "COMPLETING" not in job], jobs
    assert len([job for job in jobs if "gpudoctor" not in job]) == but, jobs
    lines = cluster.processes()
    assert any(line.startswith("slurmd ") for line in lines)  # they can be seen
    assert not [line for line in lines if "srun --job-name=gpudoctor" in line or "98765" in line], lines


def busy(cluster: Cluster, node: str, seconds: int = 600) -> None:
    cluster.run("sbatch", "-N1", "--exclusive", f"--nodelist={node}", "--job-name=theirs", "--wrap", f"sleep {seconds}")
    cluster.wait(lambda states: states[node].startswith("alloc"))


def stepd_of(node: str, cluster: Cluster) -> int:
    """The slurmstepd of the probe on a node, once its python3 runs."""
    mark = cluster.folder / f"pid-{node}"
    end = time.monotonic() + HANG_S
    while not mark.exists() or not mark.read_text().strip():
        assert time.monotonic() < end
        time.sleep(0.1)
    pid = int(mark.read_text())
    for _ in range(10):
        status = Path(f"/proc/{pid}/status").read_text()
        if "slurmstepd" in status.splitlines()[0]:
            return pid
        found = re.search(r"PPid:\s*(\d+)", status)
        assert found
        pid = int(found[1])
    raise AssertionError("no slurmstepd above the task")


def test_sixteen_nodes_of_which_four_cannot_answer(cluster: Cluster, tmp_path: Path) -> None:
    busy(cluster, "n03")
    cluster.run("scontrol", "update", "nodename=n07", "state=drain", "reason=bad gpu")
    own(cluster, "n11", f"echo $$ > {cluster.folder}/pid-n11; exec sleep 98765")
    own(cluster, "n15", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "--timeout", "12s", "-o", database)
    os.kill(stepd_of("n11", cluster), signal.SIGKILL)
    out, err = child.communicate(timeout=HANG_S)
    found, _ = fleets.report(database)
    assert child.returncode == 3 and not err, (out, err)
    assert found["source"] == "Slurm" and found["answered"] == 12 and found["requested"] == 16
    why = reasons(found)
    assert set(why) == {"n03", "n07", "n11", "n15"}
    assert why["n03"] == "busy: jobs are running there (--wait 10m waits until it is free)"
    assert why["n07"].startswith("drained in Slurm since ") and why["n07"].endswith(': "bad gpu"')
    assert why["n15"] == "no answer in 12 s" and why["n11"]
    assert "UNKNOWN  exit 3" in out
    with suppress(OSError):
        os.kill(int((cluster.folder / "pid-n11").read_text()), signal.SIGKILL)  # nothing of Slurm's ends it any more
    nothing_left(cluster, but=1)


def test_a_busy_node_gets_time_and_then_its_reason(cluster: Cluster, tmp_path: Path) -> None:
    busy(cluster, "n01", 4)
    busy(cluster, "n02")
    code, out, err = run(cluster, "--nodes", "n[01-03],n99,N4", "--wait", "25s", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    why = reasons(found)
    assert code == 3 and found["answered"] == 2 and set(why) == {"n02", "n99", "N4"}, (out, err)
    assert why["n02"].startswith("busy: not free within the --wait time (")
    assert why["n99"] == "Slurm does not list it" and why["N4"] == "Slurm does not list it (it lists n04)"
    nothing_left(cluster, but=1)


def test_the_page_s_commands(cluster: Cluster, tmp_path: Path) -> None:
    """With the names of this cluster, as if from within a job."""
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- slurm -->\n```sh\n(.*?)```", page, re.S)
    env = {**cluster.env, "SLURM_JOB_ID": "999", "PATH": f"{COMMAND.parent}:{cluster.env['PATH']}"}
    for line, answered in zip(block.splitlines(), (16, 4), strict=True):
        command = line.replace("--partition gpu", "--partition all").replace("gpu-[1-4]", "n[01-04]")
        subprocess.run(["sh", "-c", command], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S)
        assert fleets.report(tmp_path / "now.db")[0]["answered"] == answered, line
        cluster.heal(HANG_S)


def test_a_newcomer_walks_the_page_of_slurm(cluster: Cluster, tmp_path: Path) -> None:
    names = {"--partition gpu": "--partition all", "gpu-001": "n01"}
    first, again, one, _, second, since = walked("slurm.md", tmp_path, cluster.env, names).values()
    assert first == again and first.startswith("16 nodes in Slurm (partition all), all answered")
    assert "(slurm n01)" in one and "PASS  exit 0" in one
    assert second.splitlines()[1:4] == first.splitlines()[1:4] and "\nSince " not in second
    assert re.search(r"^Since \d+ [A-Z][a-z]{2}: no change\.$", since, re.M), since
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.db", "now.db"]
    nothing_left(cluster)


def test_a_stopped_slurmd_and_a_node_without_python(cluster: Cluster, tmp_path: Path) -> None:
    own(cluster, "n05", "exit 1")
    cluster.run("scontrol", "update", "nodename=n06", "state=down", "reason=fan")
    code, *_ = run(cluster, "--nodes", "n[04-06]", "--retry", "0", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and found["answered"] == 1
    why = reasons(found)
    assert "down in Slurm" in why["n06"] and '"fan"' in why["n06"] and "code 1" in why["n05"]


def test_only_what_failed_by_itself_is_drained(cluster: Cluster, tmp_path: Path) -> None:
    """n01 is not examined: its probe (the real agent) gets no GPU, of which Slurm counts one. n02 has that GPU, and
    fails only because more are expected. n03 has a fault."""
    own(cluster, "n01", f'export PATH={os.environ["PATH"]}; exec python3 "$@"')
    answer = recorded(H100, time.time()).replace(b'"value": [0, 0, 0, 0]', b'"value": [0, 0, 1, 0]')
    own(cluster, "n03", f'exec {canned_python(tmp_path / "faulty", answer)} "$@"')
    code, out, err = run(cluster, "--nodes", "n[01-03]", "--expect", "4", "--drain", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 1 and not err and found["counts"]["fail"] == 2
    assert reasons(found)["n01"].startswith("the probe got no GPU, but the scheduler counts 1 GPU there")
    assert sorted(out.splitlines()[-2:]) == [
        "Draining n03 in Slurm: gpudoctor: row-remap-pending: NVIDIA H100 80GB HBM3 (GPU 0) must be reset to replace a bad row of its memory",
        "Not drained: n02 (no failure there is a proven fault of the node itself)",
    ]
    states = cluster.wait(left)
    assert states["n03"].startswith("drain gpudoctor: row-remap-pending: ")
    assert states["n01"].startswith("idle") and states["n02"].startswith("idle")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_all(cluster: Cluster, tmp_path: Path, number: signal.Signals) -> None:
    own(cluster, "n16", f"echo $$ > {cluster.folder}/pid-n16; exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "-o", database)
    while not (database.exists() and fleets.report(database)[0]["answered"] == 15):
        assert child.poll() is None, child.communicate()
        time.sleep(0.3)
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number), (out, err)
    found, _ = fleets.report(database)
    assert found["answered"] == 15 and reasons(found) == {"n16": "the run was stopped before this node answered"}
    nothing_left(cluster)


def test_clean_ends_what_a_killed_run_left(cluster: Cluster, tmp_path: Path) -> None:
    """A probe that hangs, and a job that waits for a busy node; nothing of a run that goes on, and no other job."""
    busy(cluster, "n02")
    own(cluster, "n15", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "--nodes", "n[02,14-15]", "--wait", "1h", "--timeout", "1h", "-o", database)
    while not (database.exists() and fleets.report(database)[0]["answered"] == 1):
        assert child.poll() is None, child.communicate()
        time.sleep(0.3)
    code, out, err = cleaned(cluster)
    kept = out.splitlines()
    assert (code, err, len(kept)) == (0, "", 2) and {line.split()[4] for line in kept} == {"running),", "pending),"}
    for line in kept:
        assert re.match(
            rf"Keeping job \d+ \(gpudoctor-[0-9a-f]{{12}}-\d, .*: your run with process ID {child.pid} is", line
        )
    child.kill()
    child.communicate()
    found, _ = fleets.report(database)
    assert found["answered"] == 1 and {one["node"] for one in found["not_examined"]} == {"n02", "n15"}
    others = "gpudoctor/owner=0123456789abcdef gpudoctor/process=1-1 gpudoctor/until="
    for name, comment in {
        "gpudoctor-00000000000a-1": "",
        "gpudoctor-00000000000b-1": f"{others}2999-01-02T03:04:05Z",
        "gpudoctor-00000000000c-1": f"somebody's words {others}2026-01-02T03:04:05Z",
        "gpudoctor-training": f"{others}2026-01-02T03:04:05Z",
    }.items():
        cluster.run("sbatch", "--hold", f"--job-name={name}", f"--comment={comment}", "--wrap", "true")
    code, out, err = cleaned(cluster)
    lines = out.splitlines()
    assert (code, err) == (0, "") and sum(line.startswith("Deleting job ") for line in lines) == 3, out
    keeping = sorted(line.split("(", 1)[1] for line in lines if line.startswith("Keeping job "))
    assert [line.split(",")[0] for line in keeping] == ["gpudoctor-00000000000a-1", "gpudoctor-00000000000b-1"]
    assert keeping[0].endswith(": it does not say whose run it is (--all deletes it too)")
    assert keeping[1].endswith(
        ": a run from elsewhere may still be running until 2999-01-02 03:04 UTC (--all deletes it too)"
    )
    assert cleaned(cluster, "--all")[1].count("Deleting job ") == 2
    assert cleaned(cluster) == (0, "No fleet run of yours has left a job in Slurm.\n", "")
    assert cluster.run("squeue", "-h", "-o", "%j", "-S", "j").stdout.split() == ["gpudoctor-training", "theirs"]
    cluster.run("scancel", "--name=gpudoctor-training")
    nothing_left(cluster, but=1)


def cleaned(cluster: Cluster, *words: str) -> tuple[int, str, str]:
    line = [COMMAND, "fleet", "clean", "--on", "slurm", *words]
    done = subprocess.run(line, env=cluster.env, capture_output=True, text=True, timeout=HANG_S, check=False)
    return done.returncode, done.stdout, done.stderr


def test_without_slurm_it_is_one_line(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(COMMAND.parent)}
    done = subprocess.run(
        [COMMAND, "fleet", "run", "--on", "slurm", "-o", tmp_path / "now.db"], env=env, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "sinfo is not on PATH" in done.stderr
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sinfo").symlink_to("/bin/false")
    done = subprocess.run(
        [COMMAND, "fleet", "run", "--on", "slurm", "--drain", "-o", tmp_path / "now.db"],
        env={**env, "PATH": f"{tmp_path}/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr == "gpudoctor: --drain needs Slurm's scontrol, which is not on PATH\n"
    assert not list(tmp_path.glob("now*"))
