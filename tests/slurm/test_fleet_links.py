"""`fleet run --on slurm --links`, under a real slurmctld and eight slurmd: slow, hanging and unreachable pairs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import COMMAND, gpudoctor
from ..fleet import fleets
from ..fleet.canned import canned_gpudoctor
from ..fleet.test_run_command import examined
from ..reaction import HANG_S
from .cluster import Cluster, slurm

pytestmark = pytest.mark.slurm
NAMES = tuple(f"n{number}" for number in range(1, 9))
TOPOLOGY = "SwitchName=leaf1 Nodes=n[1-4]\nSwitchName=leaf2 Nodes=n[5-8]\nSwitchName=spine Switches=leaf[1-2]\n"
RANK = """#!/bin/sh
# `fleet answer` gives a canned report; a rank of `prove --links` does what the first rule says whose name is in that of
# its pair (n[1,3]).
test "$1" = fleet && exec {folder}/reports/gpudoctor "$@"
for rule in {folder}/rules/*; do
  case "$SLURM_JOB_NODELIST" in *"$(basename "$rule")"*) . "$rule"; break;; esac
done
"""
GOOD = "test $SLURM_PROCID != 0 || sed s/VALUE/{value}/ {folder}/answer.json"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    canned_gpudoctor(folder / "reports")
    for number, name in enumerate(NAMES):
        (folder / "reports" / f"{name}.json").write_bytes(examined(number))
    (folder / "gpudoctor").write_text(RANK.format(folder=folder))
    (folder / "gpudoctor").chmod(0o755)
    (folder / "rules").mkdir()
    rate = {"operation": "all_reduce", "backend": "nccl", "ranks": 2, "nodes": 2, "bytes": 1 << 27, "us": 1.0,
            "algorithm_gb_s": 1.0, "bus_gb_s": 4567, "right": True}  # fmt: skip
    answer = json.dumps({"snapshot": {"measured": {"collective_rates": [rate]}}}, indent=2)
    (folder / "answer.json").write_text(answer.replace("4567", "VALUE") + "\n")
    (folder / "topology.conf").write_text(TOPOLOGY)
    with slurm(folder, "#!/bin/sh\nexit 0\n", NAMES, "TopologyPlugin=topology/tree\n") as made:
        yield made


@pytest.fixture(autouse=True)
def healed(cluster: Cluster) -> Iterator[None]:
    for rule in (cluster.folder / "rules").iterdir():
        rule.unlink()
    rules(cluster, {"n": good(cluster, 46)})
    yield
    cluster.heal(HANG_S)


def good(cluster: Cluster, value: float) -> str:
    return GOOD.format(value=value, folder=cluster.folder)


def rules(cluster: Cluster, of: dict[str, str]) -> None:
    """What ranks do, by a text in the names of their pair: the first rule by name counts."""
    for name, script in of.items():
        (cluster.folder / "rules" / name).write_text(script + "\n")


def begun(cluster: Cluster, database: Path, *words: str) -> subprocess.Popen[str]:
    line = [COMMAND, "fleet", "run", "--on", "slurm", "--links", "--command", cluster.folder / "gpudoctor"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*line, "-o", database, *words], env=cluster.env, cwd=cluster.folder, stdout=pipe, stderr=pipe, text=True
    )


def run(cluster: Cluster, database: Path, *words: str) -> tuple[int, str, str, dict[str, Any]]:
    child = begun(cluster, database, *words)
    out, err = child.communicate(timeout=HANG_S)
    found, _ = fleets.report(database)
    return child.returncode, out, err, found


def state(found: dict[str, Any], node: str) -> tuple[str, str]:
    return next(((one["state"], one["why"]) for one in found["nodes"] if one["node"] == node), ("healthy", ""))


def nothing_left(cluster: Cluster) -> None:
    jobs = cluster.run("squeue", "-h", "-o", "%j %T").stdout.splitlines()
    assert not [job for job in jobs if "gpudoctor" in job and "COMPLETING" not in job], jobs
    lines = cluster.processes()
    assert any(line.startswith("slurmd ") for line in lines)  # they can be seen
    assert not [line for line in lines if "srun --job-name=gpudoctor" in line or "43217" in line], lines


def test_all_pairs_are_alike(cluster: Cluster, tmp_path: Path) -> None:
    code, out, err, found = run(cluster, tmp_path / "now.db")
    links = found["links"]
    assert code == 0 and not err, (out, err)
    assert (links["pairs"], links["measured"], links["median"], links["unit"]) == (12, 12, 46.0, "GB/s")
    assert [(one["round"], one["pairs"]) for one in links["rounds"]] == [(1, 4), (2, 4), (3, 4)]
    assert "Links: 12 pairs in 3 rounds, median 46 GB/s (all-reduce)" in out
    assert "No node, path or switch is slow" in out
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--format", "json", "--query", "select * from link")
    rows = json.loads(done.stdout)
    near = [row for row in rows if row["round"] == 1]
    assert near and all(row["switch"] == row["partner_switch"] != "" for row in near), "neighbors on a switch"
    assert all(row["switch"] != row["partner_switch"] for row in rows if row["round"] > 1)
    assert {(row["figure"], row["value"], row["unit"], row["reason"]) for row in rows} == {
        ("all_reduce", 46.0, "GB/s", "")
    }
    nothing_left(cluster)


def test_a_slow_node_is_confirmed_by_good_partners(cluster: Cluster, tmp_path: Path) -> None:
    """Real srun and ranks; the rates are canned, because on the loopback no link is slow."""
    rules(cluster, {"3": good(cluster, 20.5)})
    code, out, err, found = run(cluster, tmp_path / "now.db")
    (slow,) = found["links"]["nodes"]
    assert code == 0 and not err, (out, err)
    assert (slow["node"], slow["value"], slow["median"], slow["confirmed"]) == ("n3", 20.5, 46.0, True)
    assert state(found, "n3") == ("slow", "links -55 %") and found["counts"]["slow"] == 1
    assert [one["round"] for one in found["links"]["rounds"]] == [1, 2, 3, 4, 4]
    assert not found["links"]["paths"] and not found["links"]["not_measured"]
    assert "n3  node  best of 5 pairs 20.5 GB/s  -55 %" in out
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "--fail-on", "slow")
    assert done.returncode == 1


def test_a_pair_that_hangs_ends_only_itself(cluster: Cluster, tmp_path: Path) -> None:
    """Both of its nodes have numbers from their other pairs."""
    rules(cluster, {"[1-2]": "exec sleep 43217"})
    code, out, err, found = run(cluster, tmp_path / "now.db", "--timeout", "8s")
    links = found["links"]
    assert code == 0 and not err, (out, err)
    assert links["not_measured"] == [{"reason": "no answer in 8 s", "pairs": [["n1", "n2"]]}]
    assert links["pairs"] == 12 and links["measured"] == 11 and not links["unmeasured"]
    assert "11 of 12 pairs measured in 3 rounds" in out and "no answer in 8 s (n1 with n2)" in out
    nothing_left(cluster)


def test_a_node_whose_pairs_all_fail_is_unknown(cluster: Cluster, tmp_path: Path) -> None:
    """Its gpudoctor says why; good partners in a fourth round change nothing."""
    rules(cluster, {"4": "test $SLURM_PROCID != 1 || echo gpudoctor: rank 1, init_process_group: no route >&2; exit 1"})
    code, out, _, found = run(cluster, tmp_path / "now.db")
    assert code == 3 and found["links"]["unmeasured"] == ["n4"], out
    assert state(found, "n4") == ("unknown", "links not measured")
    (missing,) = found["links"]["not_measured"]
    assert missing["reason"] == "gpudoctor: rank 1, init_process_group: no route" and len(missing["pairs"]) == 5
    assert "No link measured on n4." in out


def test_nodes_that_did_not_answer_take_no_part(cluster: Cluster, tmp_path: Path) -> None:
    cluster.run("scontrol", "update", "nodename=n7", "state=drain", "reason=bad cable")
    code, _, _, found = run(cluster, tmp_path / "now.db", "--nodes", "n[5-8]")
    assert code == 3 and found["links"]["pairs"] == 3
    assert [one["node"] for one in found["not_examined"]] == ["n7"]


def test_one_node_has_no_link(cluster: Cluster, tmp_path: Path) -> None:
    code, _, err, found = run(cluster, tmp_path / "now.db", "--nodes", "n1")
    assert code == 0 and found["links"] is None
    assert err == "gpudoctor: --links: fewer than 2 nodes answered, so no link was measured\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_measured(cluster: Cluster, tmp_path: Path, number: signal.Signals) -> None:
    rules(cluster, {"[1-2]": "exec sleep 43217"})
    database = tmp_path / "now.db"
    child = begun(cluster, database)
    while not (database.exists() and (fleets.report(database)[0]["links"] or {}).get("measured") == 3):
        assert child.poll() is None, child.communicate()
        time.sleep(0.3)
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number), (out, err)
    links = fleets.report(database)[0]["links"]
    assert links["measured"] == 3 and links["not_measured"] == [
        {"reason": "the run was stopped before this pair answered", "pairs": [["n1", "n2"]]}
    ]
    nothing_left(cluster)


def test_the_deadline_of_the_run_ends_the_rounds(cluster: Cluster, tmp_path: Path) -> None:
    rules(cluster, {"[1-2]": "exec sleep 43217"})
    code, _, _, found = run(cluster, tmp_path / "now.db", "--deadline", "15s")
    missing = {one["reason"]: one["pairs"] for one in found["links"]["not_measured"]}
    assert missing["the run's deadline came before it answered"] == [["n1", "n2"]]
    assert len(missing["the run's deadline came before its turn"]) == 8
    assert code == 3 and found["links"]["unmeasured"] == ["n1", "n2"]
    nothing_left(cluster)


@pytest.mark.torch_wheel
@pytest.mark.slow
def test_four_nodes_measure_their_links_over_gloo(cluster: Cluster, tmp_path: Path, with_torch: Path) -> None:
    """The real `prove --links` of each pair, on the CPU: each has a number, and data that is right."""
    real = tmp_path / "gpudoctor"
    root = Path(__file__).parents[2]
    real.write_text(
        f'#!/bin/sh\ntest "$1" = fleet && exec {cluster.folder}/reports/gpudoctor "$@"\n'
        f"cd {root}; PATH={os.environ['PATH']}\n"
        f'exec {sys.executable} -m doctor "$@" --device cpu --python {with_torch}\n'
    )
    real.chmod(0o755)
    for above in (tmp_path, *tmp_path.parents):
        if (mode := above.stat().st_mode) & 0o055 != 0o055:
            above.chmod(mode | 0o055)
    line = [COMMAND, "fleet", "run", "--on", "slurm", "--links", "--command", real, "--nodes", "n[1-4]"]
    env = {**cluster.env, "MASTER_ADDR": "127.0.0.1"}
    done = subprocess.run([*line, "-o", tmp_path / "now.db"], env=env, capture_output=True, text=True, check=False)
    found, _ = fleets.report(tmp_path / "now.db")
    links = found["links"]
    assert done.returncode == 0 and not done.stderr, done
    assert links["measured"] == links["pairs"] >= 6 and links["median"] > 0, done.stdout
    assert not links["not_measured"] and not links["unmeasured"]
