"""`fleet run --on ray`, in a real Ray cluster of this machine: hanging, dying, equal and stopped nodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..cli.command import COMMAND
from ..fleet import fleets
from ..reaction import HANG_S
from ..rows import for_each

if TYPE_CHECKING:
    from .cluster import Cluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]
HANGS = "echo $$ > $pid; exec sleep 76543"
CUT = "the run was stopped before this node answered"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    from .cluster import ray_cluster

    with ray_cluster("head") as made:
        made.add("gpu-1", 8)
        made.add("twin")
        made.add("twin", CUDA_VISIBLE_DEVICES="3")
        yield made


@pytest.fixture(autouse=True)
def healed(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.heal()


def begun(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    line = [COMMAND, "fleet", "run", "--on", "ray", "--address", cluster.address, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, env=cluster.env, stdout=pipe, stderr=pipe, text=True)


def run(cluster: Cluster, *words: str | Path) -> tuple[int, str, str]:
    child = begun(cluster, *words)
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def until(child: subprocess.Popen[str], done: Any) -> None:
    """Wait for this while the run goes on."""
    end = time.monotonic() + HANG_S
    while not done():
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.2)


def gone(cluster: Cluster) -> None:
    end = time.monotonic() + HANG_S
    while (left := cluster.left()) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left


def twins(cluster: Cluster) -> list[str]:
    return [f"twin-{node.identity[:12]}" for node in cluster.nodes[2:4]]


def test_nodes_are_chosen_by_what_ray_calls_them(cluster: Cluster, tmp_path: Path) -> None:
    """By the name of two, and by an id; a node that Ray does not know is listed."""
    words = f"twin,{cluster.nodes[1].identity},none"
    code, _, err = run(cluster, "--nodes", words, "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and not err and found["answered"] == 3 and found["requested"] == 4, found
    assert reasons(found) == {"none": "Ray does not list it"}


def test_the_page_s_commands(cluster: Cluster, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- ray -->\n```sh\n(.*?)```", page, re.S)
    env = {**cluster.env, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    for line, answered in zip(block.splitlines(), (4, 1), strict=True):
        command = line.replace("10.0.0.1:6379", cluster.address).replace("gpu-[1-4]", "gpu-1")
        subprocess.run(["sh", "-c", command], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S)
        assert fleets.report(tmp_path / "now.db")[0]["answered"] == answered, line


def test_what_ray_sets_for_a_task_is_not_the_node_s(cluster: Cluster, tmp_path: Path) -> None:
    """The last node was started with CUDA_VISIBLE_DEVICES=3; for all others Ray makes it empty."""
    for index in range(4):
        cluster.own(index, f'env > {tmp_path}/env-{index}; exec {cluster.folder}/canned/python3 "$@"')
    code, _, err = run(cluster, "--nodes", cluster.nodes[0].address, "-o", tmp_path / "now.db")
    assert code == 0, err
    for index in range(4):
        seen = (tmp_path / f"env-{index}").read_text()
        assert re.findall("^CUDA_VISIBLE_DEVICES=.*", seen, re.M) == ["CUDA_VISIBLE_DEVICES=3"] * (index == 3)
        assert "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=1" in seen and "OMP_NUM_THREADS" not in seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_everything_and_what_came_is_kept(
    cluster: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    """One runs the real agent, which waits for a Python that hangs; another hangs itself."""
    hanging = tmp_path / "hanging" / "bin" / "python"
    hanging.parent.mkdir(parents=True)
    hanging.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/began\nsleep 76543 & wait\n")
    hanging.chmod(0o755)
    (hanging.parent.parent / "pyvenv.cfg").write_text("home = /nowhere\n")
    real = f'export VIRTUAL_ENV={hanging.parents[1]} PATH={os.environ["PATH"]}; exec python3 "$@"'
    cluster.own(1, real)
    cluster.own(2, HANGS)
    database = tmp_path / "now.db"
    child = begun(cluster, "--nodes", "gpu-1,twin", "-o", database)
    until(child, (cluster.folder / "own-2" / "pid").exists)
    until(child, (tmp_path / "began").exists)
    until(child, lambda: database.exists() and fleets.report(database)[0]["answered"] == 1)
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number) and not err, (out, err)
    found, _ = fleets.report(database)
    assert found["answered"] == 1 and reasons(found).keys() == {"gpu-1", twins(cluster)[0]}
    assert number == signal.SIGKILL or set(reasons(found).values()) == {CUT}
    assert ("1 answered" in out) == (number == signal.SIGINT)
    gone(cluster)


def test_a_lost_driver_or_worker_leaves_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Nobody can end the probe then but the kernel."""
    cluster.own(1, HANGS)
    child = begun(cluster, "--nodes", "gpu-1", "--retry", "0", "-o", tmp_path / "now.db")
    pid = cluster.folder / "own-1" / "pid"
    until(child, lambda: pid.exists() and pid.read_text().strip())
    worker = int(re.findall(r"PPid:\s*(\d+)", Path(f"/proc/{pid.read_text().strip()}/status").read_text())[0])
    os.kill(worker, signal.SIGKILL)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == 3 and not err, (out, err)
    assert reasons(fleets.report(tmp_path / "now.db")[0]) == {"gpu-1": "Ray's worker died there"}
    gone(cluster)


def test_a_node_on_which_ray_starts_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Its raylet is stopped: Ray itself notices that after a minute."""
    raylet = int(cluster.ask(raylet=1))
    os.kill(raylet, signal.SIGSTOP)
    try:
        code, out, err = run(cluster, "--nodes", "head,gpu-1", "--timeout", "8s", "-o", tmp_path / "now.db")
    finally:
        os.kill(raylet, signal.SIGCONT)
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and not err and found["answered"] == 1, (out, err)
    assert reasons(found) == {"gpu-1": "Ray started no task there in 8 s"}
    gone(cluster)


def refused(cluster: Cluster, *words: str | Path, **env: str) -> str:
    """The one line of a run that starts nothing."""
    line = [COMMAND, "fleet", "run", "--on", "ray", *words]
    done = subprocess.run(line, env={**cluster.env, **env}, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    return done.stderr


def test_other_versions_than_the_cluster_s_are_one_line(cluster: Cluster, tmp_path: Path) -> None:
    """The cluster says other ones; Ray compares."""
    true = cluster.ask(versions=["2.9.3", "3.9.18"]).split()
    try:
        said = refused(cluster, "--address", cluster.address, "-o", tmp_path / "now.db")
    finally:
        cluster.ask(versions=true)
    assert (
        f"the cluster has Ray 2.9.3 with Python 3.9.18, but this machine has Ray {true[0]} with Python {true[1]}"
        in said
    )
    assert "ray job submit" in said and not list(tmp_path.iterdir())


def without_ray(folder: Path) -> dict[str, str]:
    """The environment of a Python that has all packages of this one but ray."""
    packages = folder / "packages"
    packages.mkdir()
    for entry in Path(
        sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages"
    ).iterdir():
        if not entry.name.startswith("ray"):
            (packages / entry.name).symlink_to(entry)
    return {"PYTHONPATH": f"{Path(__file__).parents[2]}:{packages}"}


@for_each("path", ["/usr/bin:/bin", f"{COMMAND.parent}:/usr/bin:/bin"])
def test_the_ray_on_path_is_the_cluster_s(path: str, cluster: Cluster, tmp_path: Path) -> None:
    """A gpudoctor without ray, installed beside the cluster: with no `ray` on PATH it is one line."""
    folder = tmp_path / str(len(path))
    folder.mkdir()
    env = {**cluster.env, **without_ray(folder), "PATH": path}
    line = [
        os.path.realpath(sys.executable),
        "-m",
        "gpudoctor",
        "fleet",
        "run",
        "--on",
        "ray",
        "--address",
        cluster.address,
    ]
    done = subprocess.run(
        [*line, "-o", "now.db"], env=env, cwd=folder, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    if str(COMMAND.parent) in path:
        assert done.returncode == 0 and not done.stderr, done
    else:
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
        assert re.search(r"--on ray requires .* -m pip install .*\[ray\]", done.stderr)


def test_no_cluster_is_one_line(tmp_path: Path) -> None:
    """In a namespace of processes where no Ray runs."""
    env = {**os.environ, "RAY_TMPDIR": str(tmp_path)}
    words = [COMMAND, "fleet", "run", "--on", "ray", "-o", tmp_path / "now.db"]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", *words],
        env=env, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert "no Ray cluster runs on this machine" in done.stderr


def test_a_cluster_that_ended_without_a_word_is_one_line_too(tmp_path: Path) -> None:
    """Its file with the address is still there, and Ray waits for whoever has it."""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9")
    env = {**os.environ, "RAY_TMPDIR": str(tmp_path)}
    words = [COMMAND, "fleet", "run", "--on", "ray", "-o", tmp_path / "now.db"]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", *words],
        env=env, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert "no Ray cluster " in done.stderr and "or add --address HOST:PORT" in done.stderr


def test_each_node_has_an_answer_or_its_reason(cluster: Cluster, tmp_path: Path) -> None:
    """One hangs, one is removed while its task runs, one is without the GPUs that Ray counts, one has a broken python3.
    The last test: Ray lists the removed one from now on."""
    index = len(cluster.nodes)
    cluster.add("dies")
    cluster.own(0, "echo no libc >&2; exit 3")
    cluster.own(1, f'export PATH={os.environ["PATH"]}; exec python3 "$@"')
    cluster.own(2, HANGS)
    cluster.own(index, HANGS)
    database = tmp_path / "now.db"
    child = begun(cluster, "--timeout", "15s", "-o", database)
    until(child, (cluster.folder / f"own-{index}" / "pid").exists)
    cluster.ask(remove=index)
    out, err = child.communicate(timeout=HANG_S)
    found, _ = fleets.report(database)
    assert child.returncode == 3 and not err, (out, err)
    assert found["source"] == "Ray" and found["requested"] == 5 and found["answered"] == 1
    why = reasons(found)
    assert why.pop("dies").startswith(("Ray does not start tasks there", "Ray lost the node", "Ray's worker died"))
    assert why == {
        twins(cluster)[0]: "no answer in 15 s",
        "head": "its probe ended with exit code 3: no libc",
        "gpu-1": "the probe got no GPU, but the scheduler counts 8 GPUs there (examine the node itself with --on ssh)",
    }
    gone(cluster)
    code, out, err = run(cluster, "--nodes", f"{twins(cluster)[1]},dies", "-o", database)
    assert code == 3 and not err and reasons(fleets.report(database)[0])["dies"].startswith("dead in Ray: "), (out, err)
