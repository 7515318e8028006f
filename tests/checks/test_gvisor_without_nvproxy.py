"""gvisor-without-nvproxy."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import NOT_ASKED, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, report, run
from ..sickness import gvisor

ID = "gvisor-without-nvproxy"


def test_a_sandbox_without_nodes_and_driver() -> None:
    """Unknown until torch was asked: only then is it sure that a program here gets no GPU."""
    bare = gvisor(healthy(torch=False))
    status, _, findings = run(ID, bare)
    assert status == "unknown"
    first, second = findings[0].fixes[0].steps
    assert "runsc install -- --nvproxy=true" in first.command and not first.ends and "--gpus all" in second.command
    failed = gvisor(healthy()).replace({"torch_run.cuda_available": False, "torch_run.device_count": 0})
    found = report(failed).findings
    assert (found[0].id, found[0].status) == (ID, "fail")
    assert all(ID in finding.downstream_of for finding in found[1:] if finding.status == "fail")
    assert_fix_works(failed, found[0])


def test_where_it_does_not_apply() -> None:
    assert run(ID, healthy())[0] == "skipped"
    assert run(ID, healthy(container=True))[0] == "skipped"
    assert run(ID, gvisor(healthy(torch=False)), Policy(expect=Expect(kind="any")))[0] == "skipped"
    inside = healthy(container=True).replace({"container.kind": "gvisor"})
    assert run(ID, inside)[0] == "pass", "nodes are there"


def test_without_its_facts() -> None:
    bare = gvisor(healthy(torch=False))
    assert run(ID, bare.replace({"container.kind": NOT_ASKED}))[0] == "unknown"
    assert run(ID, bare.replace({"driver.device_nodes": Missing("denied")}))[0] == "unknown"


def test_where_a_provider_or_a_cluster_runs_it() -> None:
    bare = gvisor(healthy(torch=False))
    (managed,) = run(ID, bare.replace({"host.provider": "modal"}))[2][0].fixes[0].steps
    assert managed.where == "provider" and not managed.command
    steps = run(ID, bare.replace({"host.scheduler": "kubernetes"}))[2][0].fixes[0].steps
    assert [step.command for step in steps] == ['nvproxy = "true"', "resources: {limits: {nvidia.com/gpu: 1}}"]
