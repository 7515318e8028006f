"""Draining nodes in Slurm whose own failure was proven: never those that were not examined, and nothing of Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from ..guard import Refusal
from ..targets.fed import run_fed
from .nodesets import folded
from .store.judged import is_users
from .store.read import open_store

_COMMAND_S = 60.0
_MOST_BYTES = 1 << 20
_MOST_REASON = 120


def failed_nodes(database: str, gpus: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """(nodeset, reason) of the nodes that fail. gpus: those on which the scheduler counts some; no other is drained."""
    reasons: dict[str, str] = {}
    with closing(open_store(database)) as store:
        failed = {node.id for node in store.nodes() if node.state == "answered" and node.verdict == "fail"}
        for one in store.findings():
            own = not one.users and not is_users(one.layer, one.id)
            if one.node in failed and one.status == "fail" and own and gpus.get(one.name):
                reasons.setdefault(one.name, f"gpudoctor: {one.id}: {one.title}"[:_MOST_REASON])
    same: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        same.setdefault(reason, []).append(name)
    yield from ((folded(names), reason) for reason, names in same.items())


def drain(nodeset: str, reason: str) -> str:
    """Drain these nodes; returns why that failed, or an empty text. Raises Refusal if there is no scontrol."""
    try:
        done = run_fed(
            ["scontrol", "update", f"nodename={nodeset}", "state=drain", f"reason={reason}"],
            b"",
            _COMMAND_S,
            _MOST_BYTES,
        )
    except OSError:
        raise Refusal("scontrol is not on PATH: no node was drained") from None
    if done.code == 0:
        return ""
    return done.err.decode("utf-8", "replace").strip().replace("\n", "; ")[:200] or "scontrol failed"
