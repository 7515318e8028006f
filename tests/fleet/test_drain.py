"""Which nodes `--drain` drains: those that fail by themselves, not by what somebody declared, set or installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.findings.spec import SpecLine
from doctor.fleet.drain import failed_nodes
from doctor.snapshot import Snapshot

from ..checks.gpu_readings import one
from ..checks.test_device_nodes import no_uvm
from ..checks.test_nccl import with_nccl
from ..checks.test_selection import selecting
from ..healthy import healthy
from ..rows import for_each
from .spool import TODAY, load, report, rows

TWO = healthy("h100", "h100")
BAD_MEMORY = one("h100", "h100", row_remap_pending=True)


def expecting(count: int = 0, model: str = "") -> Policy:
    return replace(TODAY, expect=Expect(count=count, model=model))


def stating(key: str, allowed: str, package: str = "") -> Policy:
    return replace(TODAY, spec=(SpecLine(key, allowed, package),))


def named(s: Snapshot) -> Snapshot:
    """With an environment that `--python` names: its findings fail the node then."""
    return s.replace({"python.chosen_because": "--python names it"})


def in_a_job(s: Snapshot) -> Snapshot:
    """As a user without more rights sees it in a job of Slurm."""
    return s.replace({"host.scheduler": "slurm", "host.user_is_root": False})


def drained(s: Snapshot, policy: Policy, counted: int, folder: Path) -> str:
    """Why the node n1 is drained; empty if it is not. It fails, and the scheduler counts so many GPUs there."""
    spool = folder / f"spool-{len(list(folder.iterdir()))}"
    spool.mkdir()
    (spool / "n1.json").write_bytes(report(s, policy=policy))
    _, db = load(spool, to=spool / "now.db")
    assert rows(db, "select verdict from node") == [("fail",)]
    ((nodes, reason),) = failed_nodes(str(spool / "now.db"), {"n1": counted} if counted else {})
    assert nodes == "n1"
    return reason


DECLARED = {
    "too many GPUs expected": (TWO, expecting(4), 2),
    "too few GPUs expected": (TWO, expecting(1), 2),
    "another model expected": (TWO, expecting(2, "H200"), 2),
    "another model, and more than the scheduler counts": (TWO, expecting(8, "H200"), 1),
    "a GPU less, but the scheduler counts none": (TWO, expecting(4), 0),
    "a package": (TWO, replace(TODAY, require=("vllm",)), 2),
    "a driver in the spec": (TWO, stating("driver", ">=999"), 2),
    "GPUs in the spec": (TWO, stating("gpu", "8xH200"), 4),
    "CUDA in the spec": (TWO, stating("cuda", "==99"), 2),
    "the system in the spec": (TWO, stating("os", "ubuntu 99"), 2),
    "a package in the spec": (TWO, stating("package", ">=1", "vllm"), 2),
    "the environment's NCCL": (named(with_nccl(healthy("t4", "t4"), "8.0", "9.0")), TODAY, 2),
    "a variable": (selecting("7"), TODAY, 2),
}


@for_each("case", DECLARED)
def test_what_the_user_declared_fails_a_node_and_drains_none(
    case: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("drain")
    s, policy, counted = DECLARED[case]
    for session in (s, in_a_job(s)):
        assert drained(session, policy, counted, folder) == ""


OWN = {
    "a GPU less than the scheduler counts": (
        TWO,
        expecting(4),
        4,
        "gpu-expectation-unmet: Expected 4 GPUs, found 2 x ",
    ),
    "and less than expected": (TWO, expecting(8, "H100"), 4, "gpu-expectation-unmet: Expected 4 GPUs, found 2 x "),
    "a fault": (BAD_MEMORY, TODAY, 2, "row-remap-pending: "),
    "a fault, and an expectation": (BAD_MEMORY, expecting(8), 2, "row-remap-pending: "),
    "a fault, and a spec": (BAD_MEMORY, stating("driver", ">=999"), 2, "row-remap-pending: "),
    "a missing device node": (no_uvm(healthy()), TODAY, 1, "uvm-device-missing: "),
}


@for_each("case", OWN)
def test_what_has_to_be_repaired_on_the_node_drains_it(case: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("drain")
    s, policy, counted, why = OWN[case]
    for session in (s, in_a_job(s)):
        assert drained(session, policy, counted, folder).startswith(f"gpudoctor: {why}")
        assert drained(session, policy, 0, folder) == "", "the scheduler counts no GPU there"


def test_nodes_with_one_reason_are_drained_together(tmp_path: Path) -> None:
    for name in ("n1", "n2", "n3"):
        (tmp_path / f"{name}.json").write_bytes(report(TWO if name == "n2" else BAD_MEMORY))
    load(tmp_path, to=tmp_path / "now.db")
    ((nodes, _),) = failed_nodes(str(tmp_path / "now.db"), dict.fromkeys(("n1", "n2", "n3"), 2))
    assert nodes == "n[1,3]", "n2 does not fail"


def test_the_nccl_of_an_environment_fails_no_node_that_names_none(tmp_path: Path) -> None:
    s = with_nccl(healthy("t4", "t4"), "8.0", "9.0")
    (tmp_path / "n1.json").write_bytes(report(s))
    (tmp_path / "n2.json").write_bytes(report(named(s)))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    assert rows(db, "select node, verdict from node order by node") == [("n1", "pass"), ("n2", "fail")]
