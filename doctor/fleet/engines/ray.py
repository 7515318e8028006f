"""Nodes by Ray: one task per node, which needs no CPU or GPU of Ray's, runs the probe there."""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Collection, Iterator
from time import monotonic
from typing import Any, NamedTuple

from ...guard import Refusal
from ..gather import Event, Probe, Roster, Wish
from ..names import not_listed, unfold
from ..nodesets import folded
from ..ray_link import Link

_CONNECT_S = 20.0
"""Ray itself looks for minutes."""
_REACH_S = 5.0
_OVERTIME_S = 5.0
"""After the end of a node's time, its task ends by itself, if nothing else ended it."""
_ON_PURPOSE = (1, 3, 4)
"""Why a node left: it was stopped, preempted or idle. Source: Ray's gcs.proto, NodeDeathInfo."""
_VERSIONS = re.compile(r"Ray: (\S+)\s+Python: (\S+)")
_NO_CLUSTER = "run gpudoctor on one of its nodes, or add --address HOST:PORT"
_SUBMIT = "ray job submit -- gpudoctor fleet run --on ray -o FILE"
_WORDS = {
    "NodeDiedError": "Ray lost the node",
    "WorkerCrashedError": "Ray's worker died there",
    "TaskUnschedulableError": "Ray does not start tasks there: the node has left the cluster or is draining",
    "OutOfMemoryError": "Ray ended the probe because the node is low on memory",
    "TaskCancelledError": "the probe was canceled",
    "RuntimeEnvSetupError": "Ray could not set up the runtime environment there",
}
_LOST = ("NodeDiedError", "WorkerCrashedError", "TaskUnschedulableError", "LocalRayletDiedError", "OwnerDiedError")


class _Own(NamedTuple):
    """What `start` needs of `nodes`. ids: Ray's, by name."""

    address: str
    ids: dict[str, str]
    link: Link


class _Job:
    """Tasks of one driver. names: by Ray's id, of the nodes that have not ended; idle: whose task has not begun."""

    def __init__(self, link: Link, names: dict[str, str], start_s: float) -> None:
        self.link, self.names, self.idle = link, names, set(names)
        self.start_s, self.started = start_s, monotonic()


def nodes(wish: Wish) -> Roster:
    """The nodes that are alive; the others with their reason. Raises Refusal."""
    wanted = unfold(wish.nodes) if wish.nodes else []
    address = _address(wish.address or "auto")
    link, found = _connect(address)
    try:
        return _roster(wanted, found, address, link)
    except BaseException:
        link.kill()
        raise


def start(roster: Roster, names: Collection[str], probe: Probe) -> _Job:
    """A task on each node. Raises Refusal if the cluster does not answer any more."""
    own: _Own = roster.own
    link = _connect(own.address)[0] if own.link.ended else own.link
    job = _Job(link, {own.ids[name]: name for name in names}, probe.node_s)
    link.ask(
        start=list(job.names),
        command=probe.command,
        script=probe.script.decode(),
        limit_s=probe.node_s + _OVERTIME_S,
    )
    return job


def answers(job: _Job, wait_s: float) -> Iterator[Event]:
    """What has come."""
    for message in job.link.heard(wait_s):
        identity = message.get("began") or message.get("ended")
        job.idle.discard(identity)
        if identity in job.names:
            if "began" in message:
                yield Event(job.names[identity], "began")
            else:
                yield from _ended(job.names.pop(identity), message)
    if job.idle and monotonic() - job.started > job.start_s:
        job.link.ask(cancel=list(job.idle))
        for identity in job.idle & job.names.keys():
            yield Event(job.names.pop(identity), "ended", reason=f"Ray started no task there in {job.start_s:,.0f} s")
        job.idle.clear()
    if job.link.ended:
        last = job.link.last_words()
        for name in job.names.values():
            yield Event(
                name, "ended", reason="the connection to Ray was lost" + (f": {last}" if last else ""), lost=True
            )
        job.names.clear()


def stop(job: _Job, names: Collection[str] | None = None) -> str:
    """Cancel the tasks on these nodes, or all tasks and leave the cluster."""
    if names is not None:
        job.link.ask(cancel=[identity for identity, name in job.names.items() if name in names])
        return ""
    messages, killed = job.link.close()
    left = next((one["left"] for one in messages if "left" in one), list(job.names) if killed else [])
    some = [job.names[one] for one in left if one in job.names]
    return f"the probe may still be running on {folded(some)}: Ray did not stop its task" if some else ""


def _address(given: str) -> str:
    """HOST:PORT, or auto. Raises Refusal at once where nothing answers, since Ray would wait for minutes."""
    flag = "--address"
    if given == "auto" and (variable := os.environ.get("RAY_ADDRESS")):
        given, flag = variable, "RAY_ADDRESS"
    if given == "auto":
        return given
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):(\d{1,5})", given)
    if not found:
        raise Refusal(
            f"{flag} {given[:100]!r}: must be HOST:PORT of the cluster's head node, such as 10.0.0.1:6379, or auto; "
            f"outside the cluster, use: {_SUBMIT}"
        )
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), _REACH_S).close()
    except (OSError, OverflowError) as error:
        raise Refusal(f"no Ray cluster answers at {given}: {getattr(error, 'strerror', None) or error}") from None
    return given


def _connect(address: str) -> tuple[Link, list[dict[str, Any]]]:
    """A driver in the cluster, and what Ray lists. Raises Refusal."""
    link = Link(address)
    try:
        until = monotonic() + _CONNECT_S
        while not link.ended and monotonic() < until:
            for message in link.heard(max(0.0, until - monotonic())):
                if "nodes" in message:
                    return link, message["nodes"]
                raise Refusal(_refused(address, message["refused"], message["text"]))
        if link.ended:
            raise Refusal(f"the connection to Ray failed: {link.last_words() or 'its driver exited'}")
        where, advice = ("here", f": {_NO_CLUSTER}") if address == "auto" else (f"at {address}", "")
        raise Refusal(f"no Ray cluster answers {where} within {_CONNECT_S:.0f} s{advice}")
    except BaseException:
        link.kill()
        raise


def _refused(address: str, kind: str, text: str) -> str:
    """Why Ray did not connect, in one line."""
    versions = _VERSIONS.findall(text)
    if "Version mismatch" in text and len(versions) == 2:
        (ray, python), (own_ray, own_python) = versions
        return (
            f"the cluster has Ray {ray} with Python {python}, but this machine has Ray {own_ray} with Python "
            f"{own_python}: use the cluster's versions, or run gpudoctor there: {_SUBMIT}"
        )
    if "Could not find any running Ray instance" in text:
        return f"no Ray cluster runs on this machine: {_NO_CLUSTER}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), kind)
    return f"Ray cannot connect to {address}: {first[:300]}"


def _roster(wanted: list[str], found: list[dict[str, Any]], address: str, link: Link) -> Roster:
    alive = [node for node in found if node["Alive"]]
    names = dict(zip((node["NodeID"] for node in alive), _names(alive), strict=True))
    gpus = {names[node["NodeID"]]: int(node["GPU"]) for node in alive if node["GPU"] >= 1}
    dead = _dead(found, alive, bool(wanted))
    left_out: dict[str, str] = {}
    if wanted:
        chosen: list[str] = []
        for word in wanted:
            some = [name for node in alive if word in _also(node, name := names[node["NodeID"]])]
            chosen += some
            if not some:
                left_out[word] = next((why for node, why in dead if word in _also(node, word[:0])), "")
        lost = [word for word, why in left_out.items() if not why]
        left_out |= not_listed(lost, tuple(names.values()), "Ray does not list it")
    else:
        chosen = [name for name in names.values() if not gpus or name in gpus]
        for node, why in dead:
            left_out.setdefault(_base(node), why)
    own = _Own(address, {name: identity for identity, name in names.items()}, link)
    left_out = {name: why for name, why in left_out.items() if name not in own.ids}
    return Roster(tuple(dict.fromkeys(chosen)), left_out, "Ray", gpus, own)


def _names(alive: list[dict[str, Any]]) -> list[str]:
    """A name for each node: where two have the same, with its address, else with the begin of Ray's id."""
    names = [_base(node) for node in alive]
    with_address = [f"{name}-{_word(node['NodeManagerAddress'])}" for name, node in zip(names, alive, strict=True)]
    count, count_address = Counter(names), Counter(with_address)
    return [
        name if count[name] == 1 else longer if count_address[longer] == 1 else f"{name}-{node['NodeID'][:12]}"
        for name, longer, node in zip(names, with_address, alive, strict=True)
    ]


def _base(node: dict[str, Any]) -> str:
    """The name that `ray start --node-name` gave, else the host's: without one, Ray takes its address."""
    own = node["NodeName"] if node["NodeName"] != node["NodeManagerAddress"] else ""
    return _word(own or node["NodeManagerHostname"] or node["NodeManagerAddress"] or node["NodeID"])


def _word(text: str) -> str:
    """What can be a node's name."""
    return re.sub(r"[^A-Za-z0-9._-]+|\.{2,}", "-", text).strip(".-")[:200] or "node"


def _also(node: dict[str, Any], name: str) -> set[str]:
    """All that --nodes may call it."""
    return {
        name,
        _base(node),
        node["NodeName"],
        node["NodeManagerHostname"],
        node["NodeManagerAddress"],
        node["NodeID"],
    }


def _dead(
    found: list[dict[str, Any]], alive: list[dict[str, Any]], all_of_them: bool
) -> list[tuple[dict[str, Any], str]]:
    """Nodes that Ray lost, and why; `all_of_them`: also those that left on purpose. One that is alive again is not."""
    living = {(_base(node), node["NodeManagerAddress"]) for node in alive}
    gone = []
    for node in found:
        if node["Alive"] or (_base(node), node["NodeManagerAddress"]) in living:
            continue
        if all_of_them or node.get("DeathReason") not in _ON_PURPOSE:
            words = (node.get("DeathReasonMessage") or "").strip().splitlines()
            gone.append((node, "dead in Ray" + (f": {words[0][:200]}" if words else "")))
    return gone


def _ended(name: str, message: dict[str, Any]) -> Iterator[Event]:
    """The lines of a probe, and its end."""
    if "error" in message:
        kind = message["error"]
        last = next((line.strip() for line in reversed(message["text"].splitlines()) if line.strip()), "")
        words = _WORDS.get(kind) or f"Ray: {kind}: {last[:200]}"
        yield Event(name, "ended", reason=words, lost=kind in _LOST)
        return
    for line in message["out"].encode("latin-1").split(b"\n"):
        yield Event(name, "line", line)
    last = next((line.strip() for line in reversed(message["err"].splitlines()) if line.strip()), "")
    code = message["code"]
    why = f"its probe ended with exit code {code}" if code is not None else "its probe did not finish in time"
    yield Event(name, "ended", reason=why + (f": {last[:200]}" if last and code else ""))
