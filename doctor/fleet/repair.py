"""What to repair in which order: the failures of a fleet by cause and first fix, by the nodes that each cures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple, get_args

from msgspec.json import encode
from msgspec.structs import replace

from ..findings import Ends, Fix, Step
from ..fixes.ending import DRAINED, ends_of, is_read_only, with_condition_for
from .kinds import NodeFinding

_RANK: tuple[Ends, ...] = get_args(Ends)


class Repair(NamedTuple):
    """One cause with one fix, on all nodes that have it."""

    id: str
    """The finding's."""
    title: str
    """The title that most of the nodes have."""
    titles: tuple[tuple[str, tuple[str, ...]], ...]
    """All of its titles with their nodes, the most frequent first."""
    layer: str
    users: bool
    """Of the user's Python environment: it fails no node."""
    fix: Fix | None
    """As on most of the nodes, with the drain and the conditions that its steps need; None if no step is known."""
    ends: Ends
    """Whose work it ends; '' if it ends none."""
    cures: int
    """Nodes on which nothing else that failed is left, once this repair and those before it are done."""
    nodes: tuple[str, ...]
    """All that have the finding."""
    subjects: tuple[tuple[str, tuple[str, ...]], ...]
    """What it is about, for the nodes on which it is about something."""


def order(findings: Iterable[NodeFinding], statuses: Collection[str] = ("fail",)) -> tuple[Repair, ...]:
    """The repairs, by the nodes that each cures when those before it are done, then by the nodes that have it, then the
    one that ends less; those of users' Python environments stand last, counted by themselves. One cause with one fix
    stands together and counts as one, also where its commands name another GPU on other nodes.

    Only root findings of these statuses count.
    """
    roots = [one for one in findings if one.status in statuses and not one.cause]
    return (*_ordered([one for one in roots if not one.users]), *_ordered([one for one in roots if one.users]))


def _ordered(findings: list[NodeFinding]) -> list[Repair]:
    groups: dict[tuple[str, str, tuple[str, ...]], list[NodeFinding]] = {}
    for one in findings:
        groups.setdefault((one.id, *_same(one)), []).append(one)
    left: dict[str, int] = {}
    for group in groups.values():
        for node in {one.name for one in group}:
            left[node] = left.get(node, 0) + 1
    kinds: dict[tuple[str, str], list[Repair]] = {}
    for group in groups.values():
        kinds.setdefault((group[0].id, _same(group[0])[0]), []).append(_repair(group))
    waiting, found = list(kinds.values()), list[Repair]()
    while waiting:
        best = min(waiting, key=lambda kind: _order_key(_cured(kind, left), kind))
        waiting = [kind for kind in waiting if kind is not best]
        while best:
            first = min(best, key=lambda repair: _order_key(_cured([repair], left), [repair]))
            best = [repair for repair in best if repair is not first]
            found.append(first._replace(cures=_cured([first], left)))
            for node in first.nodes:
                left[node] -= 1
    return found


def _cured(repairs: list[Repair], left: dict[str, int]) -> int:
    """Nodes on which nothing that failed is left after these. left: failures of each node."""
    done = Counter(node for one in repairs for node in one.nodes)
    return sum(left[node] == count for node, count in done.items())


def _order_key(cures: int, repairs: list[Repair]) -> tuple[int, int, int, str, str]:
    nodes = {node for one in repairs for node in one.nodes}
    mildest = min(repairs, key=lambda one: (_RANK.index(one.ends), one.id, one.title))
    return -cures, -len(nodes), _RANK.index(mildest.ends), mildest.id, mildest.title


def _same(one: NodeFinding) -> tuple[str, tuple[str, ...]]:
    """What two fixes that are one repair have in common: their commands, which name a GPU or a watt of one node, and
    the words of steps without one; how the user becomes root there, which scheduler drains it, and what only this node
    is called may differ."""
    if one.fix is None:
        return "", ()
    steps = [step for step in one.fix.steps if not is_drain(step)]
    return one.fix.id, tuple(
        step.command.replace("sudo ", "") or f"{step.where}: {_without_names(step.text, one.name)}" for step in steps
    )


_NAMES = (
    (re.compile(r"\b(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "its UUID"),
    (re.compile(r"\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.I), "its PCI address"),
)


def _without_names(text: str, node: str) -> str:
    """A step's words without what only this node is called."""
    for pattern, words in _NAMES:
        text = pattern.sub(words, text)
    return re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", "this node", text)


def _shown(group: list[NodeFinding]) -> Fix | None:
    """The fix as most of the nodes have it, without the name of the one node among several that it is of."""
    fixes = {id(one.fix): one for one in group}
    texts = {number: encode(one.fix) for number, one in fixes.items()}
    counts = Counter(texts[id(one.fix)] for one in group)
    most = max(counts.values())
    first = next(fixes[id(one.fix)] for one in group if counts[texts[id(one.fix)]] == most)
    if first.fix is None or len({one.name for one in group}) == 1:
        return first.fix
    steps = (s if s.command else replace(s, text=_without_names(s.text, first.name)) for s in first.fix.steps)
    return replace(first.fix, steps=tuple(steps))


def _repair(group: list[NodeFinding]) -> Repair:
    first = group[0]
    nodes = dict.fromkeys(one.name for one in sorted(group, key=lambda one: one.node))
    counts = Counter(one.title for one in group)
    titles = sorted(counts, key=lambda title: (-counts[title], title))
    subjects: dict[str, dict[str, None]] = {}
    for one in group:
        if one.subject:
            subjects.setdefault(one.name, {})[one.subject] = None
    shown = _shown(group)
    fix = safe(shown) if shown else None
    return Repair(
        first.id,
        titles[0],
        tuple((title, tuple(dict.fromkeys(one.name for one in group if one.title == title))) for title in titles),
        first.layer,
        first.users,
        fix,
        max((step.ends for step in fix.steps), key=_RANK.index, default="") if fix else "",
        0,
        tuple(nodes),
        tuple((node, tuple(some)) for node, some in subjects.items()),
    )


def safe(fix: Fix) -> Fix:
    """The fix without a step that ends what runs on the node before its drain, or without its condition. The drain
    comes before whatever else changes the node: the jobs of a fleet's node are not asked, and a driver that is replaced
    under them harms them before the reboot does. The steps came with a node's report: what they say about themselves is
    not relied on."""
    steps = [_marked(step) for step in fix.steps]
    at = next((i for i, step in enumerate(steps) if step.ends in DRAINED), None)
    if at is None:
        return replace(fix, steps=tuple(steps))
    own = next((i for i, step in enumerate(steps[:at]) if is_drain(step)), None)
    drain = (
        steps.pop(own)
        if own is not None
        else Step(
            text="Drain this node: stop new jobs from starting on it, and wait until its running jobs have finished.",
            where="host",
            possible_here=steps[at].possible_here,
        )
    )
    steps.insert(next(i for i, step in enumerate(steps) if not _is_look(step)), drain)
    return replace(fix, steps=tuple(steps))


def is_drain(step: Step) -> bool:
    """Whether a step drains the node, by its words."""
    return step.text.startswith("Drain") and not step.ends


def drains_first(fix: Fix) -> bool:
    """Whether the first step that changes something is the drain: a heading says of the steps what they do first."""
    return next((is_drain(step) for step in fix.steps if not _is_look(step)), False)


def _is_look(step: Step) -> bool:
    return step.purpose == "look" and (not step.command or is_read_only(step.command))


def _marked(step: Step) -> Step:
    ends = max(step.ends, ends_of(step.command), key=_RANK.index)
    if not ends:
        return step
    return replace(step, ends=ends, destructive=True, text=with_condition_for(step.text, ends))
