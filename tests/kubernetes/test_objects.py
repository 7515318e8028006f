"""What pods and nodes say of themselves, as `kubectl get --output=json` prints it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.fleet.kubectl import Output
from doctor.fleet.kubernetes_objects import Object, gpus_of, node_of, objects, stage_of, why_not_ready
from doctor.guard import Refusal

from ..rows import for_each


def read(one: dict[str, Any]) -> Object:
    (found,) = objects(Output(0, json.dumps({"apiVersion": "v1", "kind": "List", "items": [one]}).encode(), ""))
    return found


def pod(phase: str = "Pending", state: dict[str, Any] | None = None, **status: Any) -> Object:
    init = {"initContainerStatuses": [{"name": "gpudoctor", "state": state}]} if state else {}
    return read({"kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": phase, **init, **status}})


STAGES = {
    "no status yet": (pod(), "starting", ""),
    "pulling": (pod(state={"waiting": {"reason": "PodInitializing"}}), "starting", ""),
    "runs": (pod(state={"running": {"startedAt": "2026-11-29T02:00:00Z"}}), "running", ""),
    "ended": (pod("Running", {"terminated": {"exitCode": 0, "reason": "Completed"}}), "done", ""),
    "ended, then its pod was evicted": (
        pod("Failed", {"terminated": {"exitCode": 0}}, reason="Evicted", message="low on memory"), "done", "",
    ),
    "evicted": (pod("Failed", reason="Evicted", message="The node was low on\nmemory."), "failed", "Evicted: The node was low on memory."),
    "failed without a word": (pod("Failed"), "failed", "its pod failed"),
    "no shell": (
        pod(state={"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: /bin/sh: not found"}}),
        "failed", "its container ended with exit code 128 (StartError: exec: /bin/sh: not found)",
    ),
    "no image": (
        pod(state={"waiting": {"reason": "ErrImagePull", "message": "manifest unknown"}}), "waiting", "ErrImagePull: manifest unknown",
    ),
    "crashes": (
        pod(state={"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}), "waiting", "CrashLoopBackOff: back-off 10s",
    ),
    "not scheduled": (
        pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available."}]),
        "waiting", "Kubernetes cannot schedule it: 0/3 nodes are available.",
    ),
}  # fmt: skip


@for_each("name", STAGES)
def test_how_far_a_pod_is(name: str) -> None:
    one, state, words = STAGES[name]
    assert tuple(stage_of(one)) == (state, words)


def test_a_pod_is_for_the_node_that_it_is_on_or_that_its_affinity_names() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    waits = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"affinity": {"nodeAffinity": required}}}
    assert node_of(read(waits)) == "gpu-1"
    assert node_of(read({**waits, "spec": {**waits["spec"], "nodeName": "gpu-2"}})) == "gpu-2"
    assert node_of(read({"kind": "Pod"})) == ""


def test_gpus_count_though_kubernetes_gives_them_to_no_pod() -> None:
    def node(capacity: dict[str, str], allocatable: dict[str, str]) -> Object:
        return read({"kind": "Node", "status": {"capacity": capacity, "allocatable": allocatable}})

    assert gpus_of(node({"cpu": "8", "nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "0"})) == 8
    assert gpus_of(node({}, {"nvidia.com/mig-1g.10gb": "7", "nvidia.com/gpu": "1"})) == 8
    assert gpus_of(node({"amd.com/gpu": "8"}, {"amd.com/gpu": "8"})) == 0


def test_a_node_is_ready_or_says_why_not() -> None:
    def ready(**condition: str) -> str:
        return why_not_ready(read({"kind": "Node", "status": {"conditions": [{"type": "Ready", **condition}]}}))

    assert ready(status="True", reason="KubeletReady") == ""
    assert ready(status="False", reason="KubeletNotReady", message="PLEG is not healthy") == (
        "not ready in Kubernetes: KubeletNotReady: PLEG is not healthy"
    )
    assert why_not_ready(read({"kind": "Node"})) == "not ready in Kubernetes: it reports no state"


@pytest.mark.parametrize("out", [b"", b"{", b"[]", b'{"items": {}}', b'{"items": [{"status": {"phase": 3}}]}', b"\xff"])
def test_what_is_no_list_of_objects_is_refused(out: bytes) -> None:
    with pytest.raises(Refusal, match="gpudoctor cannot read kubectl's output"):
        objects(Output(0, out, ""))


def test_the_last_line_of_an_error_says_what_is_wrong() -> None:
    klog = "E1129 memcache.go:265] couldn't get current server API group list\n"
    with pytest.raises(Refusal, match=r"^kubectl: the server has asked for the client to provide credentials$"):
        objects(Output(1, b"", f"{klog}error: the server has asked for the client to provide credentials\n\n"))
    with pytest.raises(Refusal, match=r"^kubectl: no answer in time$"):
        objects(Output(None, b"", ""))
