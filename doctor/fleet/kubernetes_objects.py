"""What `kubectl get --output=json` shows of nodes, pods and events, as far as a run needs it."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ..guard import Refusal
from .kubectl import Output

PROBE = "gpudoctor"
"""The name of the container that runs the probe: an init container in a DaemonSet, the only one in a Job."""
_LONGEST = 300
_GPUS = ("nvidia.com/gpu", "nvidia.com/mig-")
"""How the names of resources begin that are GPUs or parts of them."""
_PENDING = ("", "PodInitializing", "ContainerCreating")
"""Why a container waits that is still being made."""
State: TypeAlias = Literal["starting", "waiting", "running", "done", "failed"]


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """Kubernetes leaves out what is empty."""


class _Reason(_Part, frozen=True):
    reason: str = ""
    message: str = ""
    exit_code: int = 0


class _Condition(_Reason, frozen=True):
    type: str = ""
    status: str = ""


class _ContainerState(_Part, frozen=True):
    waiting: _Reason | None = None
    running: _Reason | None = None
    terminated: _Reason | None = None


class _Container(_Part, frozen=True):
    name: str = ""
    state: _ContainerState = _ContainerState()


class _Status(_Reason, frozen=True):
    phase: str = ""
    conditions: list[_Condition] = []
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    init_container_statuses: list[_Container] = []
    container_statuses: list[_Container] = []


class _Field(_Part, frozen=True):
    values: list[str] = []


class _Term(_Part, frozen=True):
    match_fields: list[_Field] = []


class _Terms(_Part, frozen=True):
    node_selector_terms: list[_Term] = []


class _NodeAffinity(_Part, frozen=True):
    required: _Terms = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=_Terms())


class _Affinity(_Part, frozen=True):
    node_affinity: _NodeAffinity = _NodeAffinity()


class _Spec(_Part, frozen=True):
    node_name: str = ""
    affinity: _Affinity = _Affinity()


class _Named(_Part, frozen=True):
    name: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Object(_Part, frozen=True):
    """A node, a pod, an event, or something that a run created."""

    kind: str = ""
    metadata: _Named = _Named()
    spec: _Spec = _Spec()
    status: _Status = _Status()
    involved_object: _Named = _Named()
    reason: str = ""
    message: str = ""

    @property
    def words(self) -> str:
        """What an event says."""
        return one_line(self.reason, self.message)


class _List(_Part, frozen=True):
    items: list[Object] = []


def objects(found: Output) -> list[Object]:
    """Those that kubectl printed. Raises Refusal if it printed none."""
    if found.code != 0:
        raise Refusal(f"kubectl: {found.last}")
    try:
        return msgspec.json.decode(found.out, type=_List).items
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refusal(f"gpudoctor cannot read kubectl's output: {error}") from None


def gpus_of(node: Object) -> int:
    """How many GPUs, or parts of GPUs, Kubernetes counts on a node: also those that it gives to no pod any more."""
    return max(_gpus(node.status.capacity), _gpus(node.status.allocatable))


def gpu_limits(node: Object) -> dict[str, int]:
    """What a pod requests that wants all GPUs of a node: resource to its number."""
    found = node.status.allocatable
    return {
        name: int(count) for name, count in found.items() if name.startswith(_GPUS) and count.isdecimal() and int(count)
    }


def _gpus(resources: dict[str, str]) -> int:
    return sum(int(count) for name, count in resources.items() if name.startswith(_GPUS) and count.isdecimal())


def why_not_ready(node: Object) -> str:
    """Why no probe is started on a node; empty if one is."""
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if ready is None:
        return "not ready in Kubernetes: it reports no state"
    return "" if ready.status == "True" else f"not ready in Kubernetes: {one_line(ready.reason, ready.message)}"


def node_of(pod: Object) -> str:
    """The node that a pod of a run is for; before it is scheduled, its affinity names it."""
    terms = pod.spec.affinity.node_affinity.required.node_selector_terms
    named = (value for term in terms for field in term.match_fields for value in field.values)
    return pod.spec.node_name or next(named, "")


class Stage(NamedTuple):
    """How far the probe in a pod is. starting: nothing speaks against it yet; waiting: it may still start, but `words`
    says what is in the way, as the scheduler or the kubelet puts it; failed: it will not."""

    state: State
    words: str = ""


def stage_of(pod: Object) -> Stage:
    """How far the container with the probe is."""
    status = pod.status
    containers = (*status.init_container_statuses, *status.container_statuses)
    state = next((one.state for one in containers if one.name == PROBE), _ContainerState())
    if state.terminated is not None and state.terminated.exit_code == 0:
        return Stage("done")
    if status.phase == "Failed":
        return Stage("failed", one_line(status.reason, status.message) or "its pod failed")
    if state.terminated is not None:
        why = one_line(state.terminated.reason, state.terminated.message)
        return Stage("failed", f"its container ended with exit code {state.terminated.exit_code} ({why})")
    if state.running is not None:
        return Stage("running")
    if state.waiting is not None and state.waiting.reason not in _PENDING:
        return Stage("waiting", one_line(state.waiting.reason, state.waiting.message))
    scheduled = next((one for one in status.conditions if one.type == "PodScheduled"), None)
    if scheduled is not None and scheduled.status == "False":
        return Stage("waiting", f"Kubernetes cannot schedule it: {one_line('', scheduled.message or scheduled.reason)}")
    return Stage("starting")


def one_line(reason: str, message: str) -> str:
    """`Evicted: The node was low on resource: memory.`"""
    return ": ".join(" ".join(part.split()) for part in (reason, message) if part.strip())[:_LONGEST]
