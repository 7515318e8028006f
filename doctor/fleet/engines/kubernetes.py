"""Nodes by Kubernetes: the init container of a DaemonSet runs the probe, and `kubectl` reads its log.

The pods request no GPU, so that busy nodes are examined too. A DaemonSet restarts what ends: the probe always exits 0,
and a container that sleeps follows it. A proof is a Job for each node instead, which requests all of its GPUs.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Collection, Iterator
from time import monotonic, sleep
from typing import NamedTuple

from ...guard import Refusal
from ..daemonset import ENDS, job_manifest, labels_of, manifest, nodes_but, nodes_by_name, refuse_names
from ..gather import Event, Probe, Roster, Wish
from ..kubectl import (
    DAEMONSETS,
    JOBS,
    LABEL,
    PER_S,
    Kubectl,
    Output,
    delete,
    refuse_namespace,
    refuse_without_rights,
)
from ..kubernetes_objects import PROBE, Object, gpu_limits, gpus_of, node_of, objects, stage_of, why_not_ready
from ..names import is_name, not_listed, unfold

_LOGS = 32
"""That are read at the same time."""
_MOST_BYTES = 32 << 20
"""Of one log."""
_POLL_S = 2.0
_CREATE_S = 30.0
_PENDING_S = 10.0
"""After it, a pod that does not start is reported with its reason."""

_NO_GPUS = "Kubernetes does not give its GPUs to pods, so they cannot be measured"


class _Own(NamedTuple):
    """What `start` needs of `nodes`. labels: all nodes with them are in the run, but for those left out."""

    wish: Wish
    labels: dict[str, str]
    limits: dict[str, dict[str, int]]
    """Node to the GPUs that its Job requests."""


class _Job:
    """A DaemonSet, or a Job for each node, and what is known of their pods."""

    def __init__(self, wish: Wish, label: str, names: Collection[str], probe: Probe) -> None:
        self.namespace, self.label, self.probe = wish.namespace, label, probe
        self.wait_s, self.kind = wish.wait_s, JOBS if wish.prove else DAEMONSETS
        self.count = len(names) if wish.prove else 1
        self.owners = {name: f"gpudoctor-{label}" + f"-{at}" * wish.prove for at, name in enumerate(names)}
        """Node to the object that makes its pod."""
        self.open = set(names)
        """Nodes whose probe has not ended."""
        self.began: set[str] = set()
        self.why: dict[str, str] = {}
        """Why a node's probe does not run, as last seen."""
        self.to_read: deque[tuple[str, str]] = deque()
        """(node, pod) whose log is complete."""
        self.reading: dict[str, Kubectl] = {}
        self.polls: dict[str, Kubectl] = {}
        self.ending: list[Kubectl] = []
        """Those that delete the Jobs of nodes that are late."""
        self.pods: dict[str, str] = {}
        """Node to its pod."""
        self.warnings: dict[str, str] = {}
        """Object to the last warning about it."""
        self.trouble = ""
        """Why the pods could not be listed, if they could not."""
        self.counted = 0
        """Pods that there were at the last warnings."""
        self.started = self.polled = monotonic()
        self.events: list[Event] = []


def nodes(wish: Wish) -> Roster:
    """The nodes that are ready; the others with their reason. Raises Refusal."""
    refuse_namespace(wish.namespace)
    refuse_names(wish)
    wanted = unfold(wish.nodes) if wish.nodes else []
    selector = [f"--selector={wish.selector}"] if wish.selector else []
    found = objects(Kubectl("", ["get", "nodes", "--output=json", *selector]).wait())
    listed = {one.metadata.name: one for one in found if is_name(one.metadata.name)}
    where = " with this selector" if wish.selector else ""
    if not listed:
        raise Refusal(f"Kubernetes lists no nodes{where}")
    left_out = not_listed(wanted, listed, f"Kubernetes does not list it{where}")
    gpus = {name: count for name, node in listed.items() if (count := gpus_of(node))}
    if wanted:
        chosen = [name for name in wanted if name in listed]
    else:
        chosen = [name for name in listed if wish.selector or not gpus or name in gpus]
    limits = {name: gpu_limits(listed[name]) for name in chosen} if wish.prove else {}
    left_out |= {name: _NO_GPUS for name in limits if name in gpus and not limits[name]}
    left_out |= {name: why for name in chosen if (why := why_not_ready(listed[name]))}
    if not wish.print_only:
        refuse_without_rights(wish.namespace, JOBS if wish.prove else DAEMONSETS)
    names = tuple(name for name in chosen if name not in left_out)
    return Roster(names, left_out, "Kubernetes", gpus, _Own(wish, {} if wanted else labels_of(wish.selector), limits))


def start(roster: Roster, names: Collection[str], probe: Probe) -> _Job:
    """A DaemonSet for these nodes, or their Jobs. Raises Refusal if Kubernetes refuses it."""
    attempt = f"{probe.run}-{secrets.token_hex(2)}"
    job = _Job(roster.own.wish, attempt, names, probe)
    if not names:
        return job
    try:
        words = ["create", "--validate=false", "--filename=-"]
        text = manifest_of(roster, names, probe, attempt)
        limit_s = _CREATE_S + job.count / PER_S
        created = Kubectl(job.namespace, words, text.encode(), limit_s).wait()
        if created.code != 0:
            raise Refusal(f"kubectl create: {created.last}")
    except BaseException as error:
        left = stop(job)
        if left and isinstance(error, Refusal):
            raise Refusal(f"{error}; {left}") from None
        raise
    return job


def answers(job: _Job, wait_s: float) -> Iterator[Event]:
    """What has come."""
    sleep(wait_s)
    _read_logs(job)
    _poll(job)
    job.ending = [child for child in job.ending if child.done() is None]
    limit_s = job.probe.node_s + job.wait_s
    if monotonic() - job.started > limit_s:
        for node in sorted(job.open - job.began):
            _end(job, node, f"its pod did not start in {limit_s:,.0f} s{_because(job, node)}")
    events, job.events = job.events, []
    yield from events


def stop(job: _Job, names: Collection[str] | None = None) -> str:
    """Delete all that was created. One pod of a DaemonSet cannot be ended: another one would follow."""
    if names is not None:
        if job.kind == JOBS and (owners := [job.owners[name] for name in names if name in job.owners]):
            job.ending.append(Kubectl(job.namespace, ["delete", JOBS, *owners, "--ignore-not-found", "--wait=false"]))
        return ""
    for child in (*job.reading.values(), *job.polls.values(), *job.ending):
        child.kill()
    job.reading.clear()
    job.polls.clear()
    job.ending.clear()
    return delete(job.namespace, f"{LABEL}={job.label}", (job.kind,), job.count)


def manifest_of(roster: Roster, names: Collection[str], probe: Probe, run: str) -> str:
    """The objects of a run on these nodes, in YAML. A list of names is slow in Kubernetes where there are thousands.

    Raises Refusal for no nodes: an affinity to none would be one to all.
    """
    own: _Own = roster.own
    if not names:
        why = next((f": {name}: {reason}" for name, reason in roster.left_out.items()), "")
        raise Refusal(f"there is no node to examine{why}")
    if own.wish.prove:
        return job_manifest(run, probe, own.wish, {name: own.limits[name] for name in names})
    if own.labels and set(names) == set(roster.names):
        return manifest(run, probe, own.wish, own.labels, nodes_but(roster.left_out))
    return manifest(run, probe, own.wish, {}, nodes_by_name(names))


def _poll(job: _Job) -> None:
    """How the pods are, for all nodes at once; and what was said of them once some do not start."""
    for what, child in list(job.polls.items()):
        found = child.done()
        if found is not None:
            del job.polls[what]
            (_pods if what == "pods" else _warnings)(job, found)
    if job.polls or monotonic() - job.polled < _POLL_S:
        return
    job.polled = monotonic()
    label = f"--selector={LABEL}={job.label}"
    job.polls["pods"] = Kubectl(job.namespace, ["get", "pods", "--output=json", label])
    if _is_late(job) and job.open - job.began:
        warnings = ["get", "events", "--output=json", "--field-selector=type=Warning"]
        job.polls["events"] = Kubectl(job.namespace, warnings)


def _is_late(job: _Job) -> bool:
    return monotonic() - job.started > _PENDING_S + job.wait_s


def _pods(job: _Job, found: Output) -> None:
    """Note how far each pod is."""
    for pod in _listed(job, found):
        node, stage = node_of(pod), stage_of(pod)
        if node not in job.open or node in job.reading:
            continue
        job.pods[node], job.why[node] = pod.metadata.name, stage.words
        if stage.state in ("running", "done") and node not in job.began:
            job.began.add(node)
            job.events.append(Event(node, "began"))
        if stage.state == "done" and (node, pod.metadata.name) not in job.to_read:
            job.to_read.append((node, pod.metadata.name))
        elif stage.state == "failed" or (stage.state == "waiting" and _is_late(job)):
            _end(job, node, stage.words)


def _warnings(job: _Job, found: Output) -> None:
    """Note what was said. Nodes without a pod get none any more if Kubernetes refuses to create them."""
    job.warnings = {event.involved_object.name: event.words for event in _listed(job, found)}
    if len(job.pods) == job.counted:
        for node in sorted(job.open - job.pods.keys()):
            if refused := job.warnings.get(job.owners[node]):
                _end(job, node, f"Kubernetes created no pod there: {refused}")
    job.counted = len(job.pods)


def _listed(job: _Job, found: Output) -> list[Object]:
    """What was listed; nothing if kubectl got no answer this time."""
    try:
        listed = objects(found)
    except Refusal as error:
        job.trouble = str(error)
        return []
    job.trouble = ""
    return listed


def _because(job: _Job, node: str) -> str:
    why = job.why.get(node) or job.warnings.get(job.pods.get(node, "")) or job.trouble
    return f": {why}" if why else ""


def _read_logs(job: _Job) -> None:
    """Take the logs that were read, and begin with others."""
    for node, child in list(job.reading.items()):
        found = child.done()
        if found is not None:
            del job.reading[node]
            _log(job, node, found)
    while job.to_read and len(job.reading) < _LOGS:
        node, pod = job.to_read.popleft()
        words = ["logs", pod, f"--container={PROBE}", "--tail=-1", f"--limit-bytes={_MOST_BYTES}"]
        job.reading[node] = Kubectl(job.namespace, words)


def _log(job: _Job, node: str, found: Output) -> None:
    """The log of one node, line by line."""
    end, why = [ENDS.encode(), job.probe.run.encode()], "its log is truncated"
    for line in found.out.splitlines():
        job.events.append(Event(node, "line", line))
        words = line.split()
        if words[:2] == end and len(words) == 3:
            why = f"its probe ended with exit code {words[2].decode('ascii', 'replace')}"
    _end(job, node, why if found.code == 0 else f"its log cannot be read: {found.last}", lost=True)


def _end(job: _Job, node: str, why: str, lost: bool = False) -> None:
    job.open.discard(node)
    job.events.append(Event(node, "ended", reason=why, lost=lost))
