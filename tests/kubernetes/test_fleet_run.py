"""`fleet run --on kubernetes`: the real kubectl, and a stand-in for the API server whose pods are real processes."""

from __future__ import annotations

import json
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
from ..fleet.canned import H100, canned_python, recorded
from ..fleet.walk import walked
from ..reaction import HANG_S
from ..rows import for_each

if TYPE_CHECKING:
    from .cluster import Cluster

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]
BIN = Path(sys.executable).parent
PRESENT = "nvidia.com/gpu.present=true"
UNANSWERED = "the run was stopped before this node answered"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """gpu-1 to gpu-6 with 8 GPUs each, and a node of the control plane without any."""
    from .cluster import kubernetes

    python = canned_python(tmp_path / "canned", recorded(H100, time.time()))
    with kubernetes(tmp_path / "kubernetes", python.parent) as made:
        for number in range(1, 7):
            made.node(f"gpu-{number}", **{"nvidia.com/gpu.present": "true"})
        made.node("control", gpus=0)
        yield made


def own(cluster: Cluster, node: str, script: str) -> None:
    """The python3 that the container of a node has instead."""
    folder = cluster.folder / f"own-{node}"
    folder.mkdir()
    cluster.own[node] = f"{folder}:/usr/bin:/bin"
    (folder / "python3").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "python3").chmod(0o755)


def begun(cluster: Cluster, *words: str | Path) -> subprocess.Popen[str]:
    line = [COMMAND, "fleet", *words]
    env = {**cluster.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(cluster: Cluster, *words: str | Path) -> tuple[int, str, str]:
    child = begun(cluster, "run", "--on", "kubernetes", *words)
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def refused(cluster: Cluster, *words: str | Path) -> str:
    """The one line of a run that starts nothing."""
    code, out, err = run(cluster, *words)
    assert (code, out, err.count("\n")) == (2, "", 1), (code, out, err)
    assert not cluster.created
    return err


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def until(child: subprocess.Popen[str], database: Path, answered: int) -> None:
    """Wait until so many nodes have answered; the report is read while the run goes on."""
    end = time.monotonic() + HANG_S
    while not (database.exists() and fleets.report(database)[0]["answered"] >= answered):
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.3)


def test_each_node_has_an_answer_or_its_reason(cluster: Cluster, tmp_path: Path) -> None:
    """Pending, cut, mixed, hanging, image, evicted, no python3, not ready: each in the words of whoever knows."""
    for number in range(7, 13):
        cluster.node(f"gpu-{number}", **{"nvidia.com/gpu.present": "true"})
    cluster.node("gpu-13", ready="Kubelet stopped posting node status.", **{"nvidia.com/gpu.present": "true"})
    cluster.does |= {"gpu-2": "unschedulable", "gpu-3": "cut", "gpu-4": "noise", "gpu-6": "image", "gpu-7": "evicted",
                     "gpu-10": "sandbox"}  # fmt: skip
    own(cluster, "gpu-5", "exec sleep 98765")
    own(cluster, "gpu-8", "exit 3")
    cluster.own["gpu-9"] = "/nonexistent"
    database = tmp_path / "now.db"
    code, out, err = run(cluster, "--selector", PRESENT, "--timeout", "20s", "-o", database)
    found, _ = fleets.report(database)
    assert code == 3 and not err, (out, err)
    assert found["source"] == "Kubernetes" and found["requested"] == 13 and found["answered"] == 4
    why = reasons(found)
    assert why.keys() == {f"gpu-{number}" for number in (2, 3, 5, 6, 7, 8, 9, 10, 13)}
    assert why["gpu-2"].startswith("Kubernetes cannot schedule it: 0/6 nodes are available: 1 Too many pods.")
    assert why["gpu-3"].startswith("an answer is truncated: only ")
    assert why["gpu-5"] == "no answer in 20 s"
    assert why["gpu-6"] == 'ImagePullBackOff: Back-off pulling image "python:3-slim"'
    assert why["gpu-7"] == "Evicted: The node was low on resource: memory."
    assert why["gpu-8"] == "its probe ended with exit code 3"
    assert why["gpu-9"] == "python3 is required there but not installed"
    assert why["gpu-10"].startswith("its pod did not start in 20 s: FailedCreatePodSandBox: no runtime for")
    assert why["gpu-13"] == "not ready in Kubernetes: NodeStatusUnknown: Kubelet stopped posting node status."
    assert "UNKNOWN  exit 3" in out
    assert not cluster.left()


def test_the_page_s_commands(cluster: Cluster, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- kubernetes -->\n```sh\n(.*?)```", page, re.S)
    env = {**cluster.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    for line, objects in zip(block.splitlines(), (2, 2), strict=True):
        subprocess.run(["sh", "-c", line], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S)
        assert fleets.report(tmp_path / "now.db")[0]["answered"] == 6 and len(cluster.created) == objects, line


def test_a_newcomer_walks_the_page_of_kubernetes(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "walk"
    folder.mkdir()
    env = {**cluster.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    printed, first, again, one, _, second, since = walked("kubernetes.md", folder, env, {"gpu-001": "gpu-1"}).values()
    assert [made["kind"] for made in YAML(typ="safe").load_all(printed)] == ["ConfigMap", "DaemonSet"]
    assert first == again and first.startswith("6 nodes in Kubernetes, all answered")
    assert "(kubernetes gpu-1)" in one and "PASS  exit 0" in one
    assert second.splitlines()[1:4] == first.splitlines()[1:4] and "\nSince " not in second
    assert re.search(r"^Since \d+ [A-Z][a-z]{2}: no change\.$", since, re.M), since
    assert sorted(path.name for path in folder.iterdir()) == ["last.db", "now.db"]
    assert len(cluster.created) == 4 and not cluster.left()


def test_nothing_is_printed_for_no_node(cluster: Cluster) -> None:
    """An affinity to no node would be one to all."""
    cluster.node("gpu-7", ready="down")
    why = "gpudoctor: there is no node to examine: gpu-07: Kubernetes does not list it"
    assert refused(cluster, "--nodes", "gpu-07", "--print").startswith(why)
    code, out, err = run(cluster, "--nodes", "gpu-[6-7]", "--print")
    assert code == 0 and err == "gpudoctor: gpu-7 is not in it: not ready in Kubernetes: NodeStatusUnknown: down\n", err
    (affinity,) = re.findall(r"^ +affinity: (.*)$", out, re.M)
    assert '"gpu-6"' in affinity and "gpu-7" not in affinity and "gpu-5" not in affinity


def test_the_pods_take_no_gpu_and_no_rights(cluster: Cluster, tmp_path: Path) -> None:
    """And the selector is the DaemonSet's own: nodes that are not ready are left out by name."""
    cluster.node("gpu-7", ready="down", **{"nvidia.com/gpu.present": "true"})
    code, _, _ = run(
        cluster, "--selector", PRESENT, "--namespace", "team", "--runtime-class", "nvidia", "--image", "registry.example/py:3",
        "-o", tmp_path / "now.db",
    )  # fmt: skip
    assert code == 3 and fleets.report(tmp_path / "now.db")[0]["answered"] == 6
    config, daemon = cluster.created
    spec = daemon["spec"]["template"]["spec"]
    (init,), (main,) = spec["initContainers"], spec["containers"]
    assert spec["runtimeClassName"] == "nvidia" and init["image"] == main["image"] == "registry.example/py:3"
    assert spec["tolerations"] == [{"operator": "Exists"}] and spec["nodeSelector"] == {
        "nvidia.com/gpu.present": "true"
    }
    assert "resources" not in init and init["env"][0] == {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    for container in (init, main):
        assert not container["securityContext"]["allowPrivilegeEscalation"]
    run_id = config["metadata"]["labels"]["gpudoctor/run"]
    assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]{4}", run_id)
    assert daemon["spec"]["selector"]["matchLabels"] == {"gpudoctor/run": run_id}
    assert len(json.dumps(config)) < 1 << 20, "what a ConfigMap may hold"


VERSIONS = ["1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]


def test_print_shows_the_same_objects_and_starts_nothing(cluster: Cluster, tmp_path: Path) -> None:
    import kubernetes_validate

    names = ("--nodes", "gpu-[2-3]")
    cluster.denied |= {"create daemonsets.apps"}
    code, out, err = run(cluster, *names, "--print")
    assert (code, err, cluster.created) == (0, "", [])
    printed = list(YAML(typ="safe").load_all(out))
    assert VERSIONS[-1] == kubernetes_validate.latest_version().rpartition(".")[0], "a newer one is here"
    for version in VERSIONS:
        for one in printed:
            kubernetes_validate.validate(one, version, strict=True)
    cluster.denied.clear()
    code, *_ = run(cluster, *names, "-o", tmp_path / "now.db")
    assert code == 0 and fleets.report(tmp_path / "now.db")[0]["answered"] == 2

    def plain(objects: list[Any]) -> Any:
        for one in objects:
            for name in ("uid", "creationTimestamp", "namespace", "annotations"):
                one["metadata"].pop(name, None)
            one.get("data", {}).pop("agent.py", None)  # compressed, with the run's name in it
        return json.loads(re.sub(r"[0-9a-f]{12}(-[0-9a-f]{4})?", "RUN", json.dumps(objects)))

    assert plain(printed) == plain(cluster.created)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_deletes_everything(cluster: Cluster, tmp_path: Path, number: signal.Signals) -> None:
    own(cluster, "gpu-6", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "run", "--on", "kubernetes", "-o", database)
    until(child, database, 5)
    assert {name.split("/")[0] for name in cluster.left() if "/" in name} == {"daemonsets", "configmaps", "pods"}
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number), (out, err)
    found, _ = fleets.report(database)
    assert found["answered"] == 5 and reasons(found) == {"gpu-6": UNANSWERED}
    assert not cluster.left()


def test_a_killed_run_keeps_what_came_and_clean_deletes_its_objects(cluster: Cluster, tmp_path: Path) -> None:
    own(cluster, "gpu-6", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "run", "--on", "kubernetes", "-o", database)
    until(child, database, 5)
    child.kill()
    child.communicate()
    found, _ = fleets.report(database)
    assert found["answered"] == 5 and reasons(found).keys() == {"gpu-6"}
    theirs = {"kind": "ConfigMap", "metadata": {"name": "theirs", "labels": {"app": "x"}}}
    cluster.objects["configmaps", "theirs"] = theirs
    clean = begun(cluster, "clean", "--on", "kubernetes")
    out, err = clean.communicate(timeout=HANG_S)
    assert (clean.returncode, err) == (0, "")
    assert re.fullmatch(r"(Deleting (DaemonSet|ConfigMap) gpudoctor-\S+, created 2026-\S+\n){2}", out)
    assert cluster.left() == ["configmaps/theirs"]
    again = begun(cluster, "clean", "--on", "kubernetes")
    assert again.communicate(timeout=HANG_S)[0] == "No fleet run has left anything behind in this namespace.\n"
    assert again.returncode == 0


def test_clean_keeps_what_is_still_going_on(cluster: Cluster, tmp_path: Path) -> None:
    """A run of one's own by its process, another user's by its time; one without either only goes with --all."""
    own(cluster, "gpu-6", "exec sleep 98765")
    database = tmp_path / "now.db"
    child = begun(cluster, "run", "--on", "kubernetes", "-o", database)
    until(child, database, 5)
    (mine,) = {one["metadata"]["labels"]["gpudoctor/run"] for one in cluster.created}
    about = cluster.created[0]["metadata"]["annotations"]
    assert about.keys() == {"gpudoctor/owner", "gpudoctor/process", "gpudoctor/until"}
    assert re.fullmatch(r"[0-9a-f]{16}", about["gpudoctor/owner"]) and about["gpudoctor/process"].startswith(
        f"{child.pid}-"
    )
    others = {"gpudoctor/owner": "0123456789abcdef", "gpudoctor/process": about["gpudoctor/process"]}
    for name, marks in (
        ("over", {**others, "gpudoctor/until": "2026-01-02T03:04:05Z"}),
        ("on", {**others, "gpudoctor/until": "2999-01-02T03:04:05Z"}),
        ("wrong", {**others, "gpudoctor/until": "never"}),
        ("dead", {**about, "gpudoctor/process": f"{child.pid}-1"}),
        ("odd", {**about, "gpudoctor/process": "9" * 5000}),
        ("none", {}),
    ):
        cluster.objects["configmaps", name] = {
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": name, "labels": {"gpudoctor/run": name}, "annotations": marks},
        }  # fmt: skip
    code, out, err = cleaned(cluster)
    assert (code, err) == (0, "")
    lines = dict(line.split(", created ")[0].split(" ", 1)[1::-1] for line in out.splitlines())
    kept = {name.split()[1]: line for name, line in lines.items()}
    assert {name for name, what in kept.items() if what == "Deleting"} == {"over", "dead", "odd"}, out
    assert {name for name, what in kept.items() if what == "Keeping"} == {"on", "wrong", "none", f"gpudoctor-{mine}"}
    assert f": your run with process ID {child.pid} is still running (--all deletes it too)" in out
    assert ": a run from elsewhere may still be running until 2999-01-02 03:04 UTC (--all deletes it too)" in out
    assert child.poll() is None and ("daemonsets", f"gpudoctor-{mine}") in cluster.objects
    child.kill()
    child.communicate()
    code, out, err = cleaned(cluster)
    assert code == 0 and out.count(f"gpudoctor-{mine}") == 2 and out.count("Keeping") == 3, out
    assert cleaned(cluster, "--all")[0] == 0 and not cluster.left()


def test_clean_without_the_right_to_list_jobs(cluster: Cluster) -> None:
    cluster.denied.add("list jobs.batch")
    assert cleaned(cluster) == (0, "No fleet run has left anything behind in this namespace.\n", "")


def cleaned(cluster: Cluster, *words: str) -> tuple[int, str, str]:
    child = begun(cluster, "clean", "--on", "kubernetes", *words)
    out, err = child.communicate(timeout=HANG_S)
    return child.returncode, out, err


def test_a_probe_without_the_gpus_that_kubernetes_counts_is_not_a_failure(cluster: Cluster, tmp_path: Path) -> None:
    """The real agent: this machine has no GPU, and Kubernetes counts eight."""
    cluster.own["gpu-1"] = f"{BIN}:/usr/bin:/bin"
    code, _, _ = run(cluster, "--nodes", "gpu-[1-2]", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    assert code == 3 and found["answered"] == 1 and found["counts"]["fail"] == 0
    assert reasons(found) == {
        "gpu-1": "the probe got no GPU, but the scheduler counts 8 GPUs there "
        "(try --runtime-class nvidia, or examine the node itself with --on ssh)"
    }


def test_pods_that_kubernetes_refuses_to_create(cluster: Cluster, tmp_path: Path) -> None:
    cluster.does["gpu-1"] = "refused"
    code, _, _ = run(cluster, "-o", tmp_path / "now.db")
    why = reasons(fleets.report(tmp_path / "now.db")[0])
    assert code == 3 and len(why) == 6 and not cluster.left()
    assert set(why.values()) == {
        'Kubernetes created no pod there: FailedCreate: pods "gpudoctor" is forbidden: RuntimeClass "nvidia" not found'
    }


def test_the_deadline_of_the_run_ends_it_though_a_request_hangs(cluster: Cluster, tmp_path: Path) -> None:
    cluster.stuck |= {"GET pods"}
    code, *_ = run(cluster, "--deadline", "5s", "-o", tmp_path / "now.db")
    assert code == 3 and cluster.created and not cluster.left()
    assert set(reasons(fleets.report(tmp_path / "now.db")[0]).values()) == {"the run's deadline came before its turn"}


def test_what_cannot_be_deleted_is_named(cluster: Cluster, tmp_path: Path) -> None:
    cluster.keeps = True
    code, out, err = run(cluster, "-o", tmp_path / "now.db")
    assert code == 0 and "all answered" in out
    assert err == "gpudoctor: Kubernetes is still deleting 6 of this run's pods\n"
    cluster.forbids.add("DELETE daemonsets")
    code, out, err = run(cluster, "--namespace", "team", "-o", tmp_path / "now.db")
    assert code == 0 and "all answered" in out and err.count("\n") == 1
    assert "objects of this run may be left in Kubernetes: " in err and "exceeded quota" in err
    assert err.endswith("(to delete them later: gpudoctor fleet clean --on kubernetes --namespace team)\n")


def test_a_daemonset_that_kubernetes_refuses_is_one_line_and_leaves_nothing(cluster: Cluster, tmp_path: Path) -> None:
    cluster.forbids.add("POST daemonsets")
    code, out, err = run(cluster, "-o", tmp_path / "now.db")
    assert (code, out, err.count("\n")) == (2, "", 1) and "exceeded quota" in err
    assert [one["kind"] for one in cluster.created] == ["ConfigMap"] and not cluster.left()
    assert not (tmp_path / "now.db").exists()


def test_forty_logs_are_read_a_few_at_a_time(cluster: Cluster, tmp_path: Path) -> None:
    for number in range(7, 41):
        cluster.node(f"gpu-{number}")
    code, *_ = run(cluster, "-o", tmp_path / "now.db")
    assert code == 0 and fleets.report(tmp_path / "now.db")[0]["answered"] == 40
    assert 2 <= cluster.most_logs <= 32


REFUSALS = {
    "--selector nothing=here": "Kubernetes lists no nodes with this selector",
    "--namespace Team": "--namespace 'Team' is not a valid name",
    "--image x'y": '--image "x\'y" is not a valid name',
    "--runtime-class -n": "--runtime-class '-n' is not a valid name",
}


@for_each("words", REFUSALS)
def test_what_is_refused_before_anything_starts(cluster: Cluster, tmp_path: Path, words: str) -> None:
    assert REFUSALS[words] in refused(cluster, *words.split(), "-o", tmp_path / "now.db")
    assert not (tmp_path / "now.db").exists()


@pytest.mark.parametrize("right", ["create daemonsets.apps", "delete configmaps", "list pods", "get pods/log"])
def test_without_the_rights_nothing_starts(cluster: Cluster, tmp_path: Path, right: str) -> None:
    cluster.denied.add(right)
    err = refused(cluster, "--namespace", "gpu", "-o", tmp_path / "now.db")
    assert err == f"gpudoctor: Kubernetes does not allow you to {right} in namespace gpu\n"


def test_without_kubectl_or_a_server_it_is_one_line(cluster: Cluster, tmp_path: Path) -> None:
    words = [COMMAND, "fleet", "run", "--on", "kubernetes", "-o", tmp_path / "now.db"]
    bare = {**cluster.env, "PATH": "/nonexistent"}
    done = subprocess.run(words, env=bare, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "gpudoctor: kubectl is not on PATH: run this where it is installed\n")
    cluster.url = "http://127.0.0.1:9"
    assert "refused" in refused(cluster, "-o", tmp_path / "now.db")
