"""Draining nodes in Slurm whose own failure was proven: never those that were not examined, nothing of Python, and
nothing that only differs from what the user declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing

from ..findings import Expect, Finding, Policy
from ..guard import Refusal
from ..judge.saved import Saved
from ..targets.fed import run_fed
from .nodesets import folded
from .store.judged import is_users, judged_here
from .store.query import saved_of
from .store.read import open_store
from .store.tables import printed

_COMMAND_S = 60.0
_MOST_BYTES = 1 << 20
_MOST_REASON = 120
_AT_NODE = ("host", "operator")
"""Where a step is carried out that repairs the node itself, not a session, an environment or a container there."""
_FEWER = "gpu-expectation-unmet"


def failed_nodes(database: str, gpus: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """(nodeset, reason) of the nodes that fail; the reason is empty for those not to be drained. gpus: nodes on which
    the scheduler counts some; no other is drained.

    Each is judged again with nothing declared but the scheduler's count: only what fails then too is the node's own.
    """
    failing: dict[str, set[str]] = {}
    with closing(open_store(database)) as store:
        failed = {node.id for node in store.nodes() if node.state == "answered" and node.verdict == "fail"}
        for one in store.findings():
            if one.node in failed and one.status == "fail":
                failing.setdefault(one.name, set()).add(one.id)
    same: dict[str, list[str]] = {}
    for name, shown in failing.items():
        counted = gpus.get(name)
        reports = saved_of(database, name) if counted else ()
        own = (one for saved in reports for one in _own(saved, counted or 0) if one.id in shown)
        first = next(own, None)
        reason = printed(f"gpudoctor: {first.id}: {first.title}")[:_MOST_REASON] if first else ""
        same.setdefault(reason, []).append(name)
    yield from ((folded(names), reason) for reason, names in same.items())


def _own(saved: Saved, count: int) -> Iterator[Finding]:
    """The failures of the node itself. count: its GPUs, as the scheduler has them."""
    findings, _ = judged_here(saved.snapshot, Policy(expect=Expect(count=count)), saved.policy.judged_on)
    for one in findings:
        if one.status != "fail" or one.cause or one.layer == "container" or is_users(one.layer, one.id):
            continue
        if one.id == _FEWER:
            if len(one.facts["found"]) < count:
                yield one
        elif any(step.where in _AT_NODE for fix in one.fixes for step in fix.steps):
            yield one


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
