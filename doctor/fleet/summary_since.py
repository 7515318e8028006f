"""What changed between two databases of a fleet, as its report has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from . import since
from .facts import compared, label
from .kinds import Cohort
from .report import SinceAbout, SinceChange
from .store.read import Store
from .summary_odd import GPUS
from .summary_slow import SlowFigures
from .times import moment


class Look(NamedTuple):
    """One database with what was found slow in it."""

    store: Store
    slow: SlowFigures


def since_about(before: Look, after: Look, named: Callable[[str], str]) -> tuple[SinceAbout, frozenset[str]]:
    """The report's part, and the nodes that are slow for the second time. named: from a node's name to its own."""
    paths = _differing(before.store, after.store)
    old, new = _checked(before.store, _look(before, paths), after.store, _look(after, paths))
    found = since.changes(old, new)
    again = frozenset(one.node for one in found.slow_again)
    about = SinceAbout(
        started=_started(before.store),
        failed={name: _named(nodes, named) for name, nodes in found.failed.items()},
        cured={name: _named(nodes, named) for name, nodes in found.cured.items()},
        changed=tuple(
            SinceChange(
                fact=one.path,
                label=label(one.path),
                before=one.before,
                after=one.after,
                unit=row.unit,
                nodes=_named(one.nodes, named),
            )
            for one in found.changed
            if (row := compared(one.path)) and not row.users
        ),
        slow_again=_named(again, named),
        gone=_named(found.gone, named),
        new=_named(found.new, named),
    )
    return about, again


def _named(nodes: Iterable[str], named: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(sorted(map(named, nodes)))


def _started(store: Store) -> str:
    return moment(min((node.received for node in store.nodes() if node.received), default=0.0))


def _look(look: Look, paths: frozenset[str]) -> since.Summary:
    nodes = look.store.nodes()
    failing: dict[str, set[str]] = {}
    unknown: dict[str, set[str]] = {}
    for one in look.store.findings():
        if one.users or one.status not in ("fail", "unknown"):
            continue
        (failing if one.status == "fail" else unknown).setdefault(one.name, set()).add(one.id)
    names = {node.id: node.name for node in nodes}
    return since.Summary(
        frozenset(node.name for node in nodes if node.state == "answered"),
        {node: frozenset(some) for node, some in failing.items()},
        {node: frozenset(some) for node, some in unknown.items()},
        frozenset(
            since.SlowOne(names[number], one.gpu, one.figure)
            for state, number, one in look.slow.found
            if state == "slow"
        ),
        _Facts(look.store, paths),
    )


def _checked(
    before: Store, old: since.Summary, after: Store, new: since.Summary
) -> tuple[since.Summary, since.Summary]:
    """Both, with what their databases do not store. A failure that is not among the later root findings may follow from
    another one there, be unreadable or skipped, and one that is new among them may have followed from another one."""
    failed: dict[str, frozenset[str]] = {}
    open_: dict[str, frozenset[str]] = {}
    for node in sorted(old.answered & new.answered):
        then, now = (look.failing.get(node, frozenset()) for look in (old, new))
        gone, come = then - now - new.unknown.get(node, frozenset()), now - then
        if come:
            failed[node] = then | {id for id, decision in before.decisions_of(node, come).items() if decision == "fail"}
        if gone:
            left = {id for id, decision in after.decisions_of(node, gone).items() if decision != "sound"}
            open_[node] = new.unknown.get(node, frozenset()) | left
    return old._replace(failing={**old.failing, **failed}), new._replace(unknown={**new.unknown, **open_})


class _Facts(Mapping[str, Mapping[str, str]]):
    """Path to node to value, one path in memory at a time."""

    def __init__(self, store: Store, paths: frozenset[str]) -> None:
        self.store, self.paths = store, paths
        self.by_path = _values(store)
        self.counts = _gpu_counts(store)

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, path: str) -> Mapping[str, str]:
        if path not in self.paths:
            raise KeyError(path)
        if path == GPUS:
            return self.counts
        found: dict[str, set[str]] = {}
        for cohort, value in self.by_path.get(path, ()):
            for node in self.store.nodes_with(path, value, cohort):
                found.setdefault(node.name, set()).add(value)
        return {node: ", ".join(sorted(some)) for node, some in found.items()}


def _gpu_counts(store: Store) -> dict[str, str]:
    return {node.name: str(node.cohort.count) for node in store.nodes() if node.cohort is not None}


def _values(store: Store) -> dict[str, list[tuple[Cohort, str]]]:
    found: dict[str, list[tuple[Cohort, str]]] = {}
    for cohort in {node.cohort for node in store.nodes() if node.cohort is not None}:
        for count in store.value_counts(cohort):
            found.setdefault(count.path, []).extend((cohort, value) for value in count.counts)
    return found


def _differing(before: Store, after: Store) -> frozenset[str]:
    """Facts of both that do not have one and the same value everywhere."""
    old, new = _values(before), _values(after)
    counted = {GPUS} if _gpu_counts(before) and _gpu_counts(after) else set()
    return frozenset(counted) | frozenset(
        path
        for path in old.keys() & new.keys()
        if len({value for _, value in old[path]} | {value for _, value in new[path]}) > 1
    )
