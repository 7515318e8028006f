"""`fleet run --on kubernetes --command ... --prove`: a Job for each node, which requests all of its GPUs."""

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
from ruamel.yaml import YAML

from ..cli.command import COMMAND
from ..fleet import fleets
from ..fleet.canned import asked, canned_gpudoctor
from ..fleet.test_run_command import examined
from ..reaction import HANG_S

if TYPE_CHECKING:
    from .cluster import Cluster

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]
BIN = Path(sys.executable).parent
IMAGE = ("--image", "registry.example/gpudoctor:1")
VERSIONS = ["1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """gpu-1 to gpu-7 with 8 GPUs each; their image has a gpudoctor that gives two figures for two GPUs."""
    from .cluster import kubernetes

    own = canned_gpudoctor(tmp_path / "own")
    with kubernetes(tmp_path / "kubernetes", own.parent) as made:
        for number in range(1, 8):
            made.node(f"gpu-{number}")
            (own.parent / f"gpu-{number}.json").write_bytes(examined(number))
        yield made


def own(cluster: Cluster, node: str, script: str) -> None:
    """The gpudoctor that the container of a node has instead."""
    folder = cluster.folder / f"own-{node}"
    folder.mkdir()
    cluster.own[node] = f"{folder}:/usr/bin:/bin"
    (folder / "gpudoctor").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "gpudoctor").chmod(0o755)


def begun(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    env = {**cluster.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    pipe = subprocess.PIPE
    return subprocess.Popen([COMMAND, "fleet", *words], env=env, stdout=pipe, stderr=pipe, text=True)


def proof(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    return begun(cluster, "run", "--on", "kubernetes", "--command", "gpudoctor", "--prove", *IMAGE, *words)


def run(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def until(child: subprocess.Popen[str], database: Path, answered: int) -> None:
    end = time.monotonic() + HANG_S
    while not (database.exists() and fleets.report(database)[0]["answered"] >= answered):
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.3)


def test_a_job_for_each_node_takes_all_of_its_gpus(cluster: Cluster, tmp_path: Path) -> None:
    """A busy node stays Pending, one hangs, one is too old, one may create no pod: none delays another."""
    cluster.used["gpu-2"] = 3
    cluster.does["gpu-4"] = "refused"
    own(cluster, "gpu-3", "exec sleep 98765")
    own(cluster, "gpu-5", "echo \"gpudoctor: no such command 'answer'\" >&2; exit 2")
    cluster.node("gpu-8")
    cluster.nodes["gpu-8"]["status"]["allocatable"] = {"cpu": "64", "nvidia.com/gpu": "0"}
    database = tmp_path / "now.db"
    code, out, err = run(proof(cluster, "--timeout", "25s", "--runtime-class", "nvidia", "-o", database))
    found, _ = fleets.report(database)
    assert code == 3 and not err, (out, err)
    why = reasons(found)
    assert found["answered"] == 3 and why.keys() == {"gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-8"}, why
    assert why["gpu-2"].startswith("Kubernetes cannot schedule it: 0/7 nodes are available: 1 Insufficient nvidia.com")
    assert why["gpu-3"] == "no answer in 25 s"
    assert why["gpu-4"].startswith('Kubernetes created no pod there: FailedCreate: pods "gpudoctor" is forbidden')
    assert why["gpu-5"] == "its gpudoctor is too old for fleet run --command: update it there"
    assert why["gpu-8"] == "Kubernetes does not give its GPUs to pods, so they cannot be measured"
    assert not cluster.left()
    (config,) = [one for one in cluster.created if one["kind"] == "ConfigMap"]
    jobs = [one for one in cluster.created if one["kind"] == "Job"]
    assert len(jobs) == 7 and len(cluster.created) == 8
    run_id = config["metadata"]["labels"]["gpudoctor/run"]
    for job in jobs:
        spec = job["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        assert job["metadata"]["labels"]["gpudoctor/run"] == run_id and spec["runtimeClassName"] == "nvidia"
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "8"} and container["image"] == IMAGE[1]
        assert job["spec"]["activeDeadlineSeconds"] > 25 and job["spec"]["backoffLimit"] == 0
        assert not {"NVIDIA_VISIBLE_DEVICES"} & {one["name"] for one in container["env"]}
    assert {line.partition(" ")[2] for line in asked(tmp_path / "own" / "gpudoctor")} == {"--timeout=25 --prove=quick"}
    rows = fleets.report(database, "--query", "select distinct node from figure where figure = 'matmul bf16'")[0]
    assert sorted(row["node"] for row in rows) == ["gpu-1", "gpu-6", "gpu-7"]  # type: ignore[index]


def test_the_page_s_commands(cluster: Cluster, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- kubernetes-prove -->\n```sh\n(.*?)```", page, re.S)
    env = {**cluster.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    for line, objects in zip(block.splitlines(), (8, 16), strict=True):
        subprocess.run(["sh", "-c", line], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S)
        assert fleets.report(tmp_path / "now.db")[0]["answered"] == 7 and len(cluster.created) == objects, line


def test_a_busy_node_gets_time(cluster: Cluster, tmp_path: Path) -> None:
    """Its GPUs become free once all others have answered."""
    cluster.used["gpu-2"] = 8
    database = tmp_path / "now.db"
    child = proof(cluster, "--wait", "1h", "-o", database)
    until(child, database, 6)
    cluster.used.clear()
    cluster.schedule()
    code, out, err = run(child)
    assert code == 0 and not err and fleets.report(database)[0]["answered"] == 7, (out, err)
    assert not cluster.left()


def test_what_looks_slow_is_measured_twice_more_by_jobs_of_its_own(cluster: Cluster, tmp_path: Path) -> None:
    for number in range(8, 13):
        cluster.node(f"gpu-{number}")
        (tmp_path / "own" / f"gpu-{number}.json").write_bytes(examined(number))
    (tmp_path / "own" / "gpu-9.json").write_bytes(examined(9, 0.7))
    database = tmp_path / "now.db"
    code, out, err = run(proof(cluster, "--selector", "kubernetes.io/hostname", "-o", database))
    found, _ = fleets.report(database)
    assert code == 0 and not err and {one["node"] for one in found["slow"]} == {"gpu-9"}, (out, err)
    assert sum(one["kind"] == "Job" for one in cluster.created) == 12 + 2
    calls = [line.split()[0] for line in asked(tmp_path / "own" / "gpudoctor")]
    assert calls.count("gpu-9") == 3 and len(calls) == 14 and not cluster.left()


def test_the_jobs_are_valid(cluster: Cluster) -> None:
    import kubernetes_validate

    code, out, err = run(proof(cluster, "--nodes", "gpu-[2-3]", "--runtime-class", "nvidia", "--print"))
    assert (code, err, cluster.created) == (0, "", [])
    printed = list(YAML(typ="safe").load_all(out))
    assert [one["kind"] for one in printed] == ["ConfigMap", "Job", "Job"]
    assert VERSIONS[-1] == kubernetes_validate.latest_version().rpartition(".")[0], "a newer one is here"
    for version in VERSIONS:
        for one in printed:
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_deletes_everything(cluster: Cluster, tmp_path: Path, number: signal.Signals) -> None:
    own(cluster, "gpu-6", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = proof(cluster, "-o", database)
    until(child, database, 6)
    assert sum(name.startswith("jobs/") for name in cluster.left()) == 7
    child.send_signal(number)
    code, out, err = run(child)
    assert code == (130 if number == signal.SIGINT else -number), (out, err)
    assert fleets.report(database)[0]["answered"] == 6 and not cluster.left()


def test_clean_deletes_the_jobs_of_a_killed_run(cluster: Cluster, tmp_path: Path) -> None:
    own(cluster, "gpu-6", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = proof(cluster, "--nodes", "gpu-[5-6]", "-o", database)
    until(child, database, 1)
    child.kill()
    child.communicate()
    code, out, err = run(begun(cluster, "clean", "--on", "kubernetes"))
    assert (code, err, out.count("Deleting Job gpudoctor-"), out.count("\n")) == (0, "", 2, 3), (out, err)
    assert not cluster.left()


def test_without_a_proof_the_image_s_own_gpudoctor_examines_busy_nodes(cluster: Cluster, tmp_path: Path) -> None:
    cluster.used["gpu-2"] = 8
    words = ("run", "--on", "kubernetes", "--command", "gpudoctor", "-o", tmp_path / "now.db")
    code, out, err = run(begun(cluster, *words, *IMAGE))
    assert code == 0 and fleets.report(tmp_path / "now.db")[0]["answered"] == 7, (out, err)
    assert [one["kind"] for one in cluster.created] == ["ConfigMap", "DaemonSet"] and not cluster.left()
    code, out, err = run(begun(cluster, *words))
    assert code == 2 and "--command with --on kubernetes needs --image" in err and len(cluster.created) == 2


def test_without_the_right_to_create_jobs_nothing_starts(cluster: Cluster, tmp_path: Path) -> None:
    cluster.denied.add("create jobs.batch")
    code, _, err = run(proof(cluster, "--namespace", "gpu", "-o", tmp_path / "now.db"))
    assert (code, err) == (2, "gpudoctor: Kubernetes does not allow you to create jobs.batch in namespace gpu\n")
    assert not cluster.created


def test_the_real_agent_of_an_image_sees_no_gpu(cluster: Cluster, tmp_path: Path) -> None:
    """The real gpudoctor: this machine has no GPU, and Kubernetes counts eight."""
    cluster.own["gpu-1"] = f"{BIN}:/usr/bin:/bin"
    code, _, _ = run(proof(cluster, "--nodes", "gpu-[1-2]", "-o", tmp_path / "now.db"))
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and found["answered"] == 1
    assert reasons(found)["gpu-1"].startswith("the probe got no GPU, but the scheduler counts 8 GPUs there")
