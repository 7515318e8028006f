"""A fleet's database as its report: the store's facts, judged by the pure parts, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from .cohorts import name_of
from .foreign import is_unread
from .kinds import CLOCK_OFF_S, Cohort, Duplicate, Node, NodeFinding
from .nodesets import in_order
from .report import (
    ClockOff,
    CohortAbout,
    FleetCounts,
    FleetReport,
    FleetTool,
    FleetVerdict,
    NodeRow,
    NotExamined,
)
from .spec import SPEC_NOT_MET, FleetSpec, spec_about
from .store.read import Store
from .summary_links import LinkStates, link_states, links_about, links_of
from .summary_odd import OddFacts, odd_facts
from .summary_parts import contradictions, grouped, mask_of, remarks, repairs, unreadable, why_not_examined
from .summary_since import Look, since_about
from .summary_slow import SlowFigures, slow_figures
from .times import moment

FailOn: TypeAlias = Literal["fail", "slow", "odd", "unknown"]


class Wanted(NamedTuple):
    """How the user wants it."""

    tool: FleetTool
    fail_on: FailOn = "fail"
    mask_nodes: bool = False


class _Found(NamedTuple):
    """What is wrong with which node, by id."""

    failing: dict[int, list[str]]
    """Id to the ids of its findings."""
    unknown: dict[int, list[str]]
    warned: dict[int, list[str]]


def summarize(store: Store, wanted: Wanted, before: Store | None = None, spec: FleetSpec | None = None) -> FleetReport:
    """The report of a database; `before` is an earlier one of the same fleet (`--since`), `spec` what its nodes say to
    a spec (`--spec`)."""
    nodes = store.nodes()
    mask = mask_of(store.mask_key()) if wanted.mask_nodes else None
    names = {node.id: mask(node.name) if mask else node.name for node in nodes}
    plain = {node.id: node.name for node in nodes}
    sizes = Counter(node.cohort for node in nodes if node.cohort is not None)
    cohorts = {cohort: name_of(cohort, sizes) for cohort, _ in sizes.most_common()}
    findings = list(store.findings())
    found = _found(nodes, findings)
    odd = odd_facts(store, cohorts, sizes, names, found.failing)
    slow = slow_figures(store, cohorts, names)
    off = [node for node in nodes if abs(node.clock_off_s or 0.0) > CLOCK_OFF_S]
    duplicates = store.duplicates()
    if spec is not None:
        found = _with_spec(found, spec)
    pairs = store.links()
    links = links_of(pairs)
    of_links = link_states(links)
    unknown = _unknown(nodes, found, of_links)
    states = _states(nodes, found, unknown, odd, slow, off, duplicates, wanted.mask_nodes, of_links)
    counts = _counts(nodes, states, unknown)
    refused = store.refused()
    verdict, code = _verdict(counts, sum(is_unread(one.reason) for one in refused), wanted.fail_on)
    times = [node.received for node in nodes if node.received]
    runs = store.runs()
    since, again = None, frozenset[str]()
    if before is not None:
        since, again = since_about(Look(before, slow_of(before)), Look(store, slow), mask or str)
    return FleetReport(
        tool=wanted.tool,
        source=next((run.source for run in runs if run.source), ""),
        started=moment(min(times, default=0.0)),
        ended=moment(max(times, default=0.0)),
        verdict=verdict,
        exit_code=code,
        counts=counts,
        answered=len({node.name for node in nodes if node.state == "answered"}),
        requested=sum(run.requested for run in runs),
        judged_here=sum(run.judged_here for run in runs),
        gpus=sum(node.cohort.count for node in nodes if node.cohort),
        masked=wanted.mask_nodes,
        cohorts=tuple(
            CohortAbout(
                name=name,
                model=cohort.model,
                gpus_per_node=cohort[1],
                memory_gib=cohort.memory_gib,
                architecture=cohort.arch,
                nodes=sizes[cohort],
            )
            for cohort, name in cohorts.items()
        ),
        repairs=repairs(findings, mask),
        findings=grouped((one for one in findings if not one.users and one.status != "fail"), names),
        python=grouped((one for one in findings if one.users), names),
        odd=odd.odd,
        odd_on_failing=odd.on_failing,
        odd_python=odd.python,
        clocks=tuple(
            ClockOff(node=names[node.id], seconds=round(node.clock_off_s or 0.0))
            for node in sorted(off, key=lambda node: in_order(names[node.id]))
        ),
        splits=odd.splits,
        unknown=(*odd.unknown, *slow.unknown),
        slow=tuple(
            sorted(
                (replace(one, before=plain[number] in again) for state, number, one in slow.found if state == "slow"),
                key=lambda one: not one.before,
            )
        ),
        once=tuple(one for state, _, one in slow.found if state == "once"),
        lagging=tuple(one for state, _, one in slow.found if state == "lagging"),
        spreads=slow.spreads,
        kinds=slow.kinds,
        too_few=slow.too_few,
        not_examined=tuple(
            NotExamined(node=names[node.id], reason=why_not_examined(node.reason, wanted.mask_nodes))
            for node in sorted(nodes, key=lambda node: in_order(names[node.id]))
            if node.state != "answered"
        ),
        duplicates=contradictions(duplicates, mask),
        refused=unreadable(refused, mask),
        remarks=remarks(store.remarks(), mask),
        since=since,
        links=links_about(pairs, links, mask),
        spec=None if spec is None else spec_about(spec, names, wanted.mask_nodes),
        nodes=_rows(nodes, states, unknown, names, cohorts),
        healthy=tuple(sorted((names[node.id] for node in nodes if node.id not in states), key=in_order)),
    )


def slow_of(store: Store) -> SlowFigures:
    """What is slow in a database, without names of cohorts."""
    nodes = store.nodes()
    cohorts = {node.cohort: "" for node in nodes if node.cohort is not None}
    return slow_figures(store, cohorts, {node.id: node.name for node in nodes})


def _found(nodes: Iterable[Node], findings: Iterable[NodeFinding]) -> _Found:
    """The verdict is the node's; its findings say why."""
    by_verdict: dict[str, dict[int, list[str]]] = {"fail": {}, "unknown": {}, "warn": {}}
    for node in nodes:
        if node.verdict in by_verdict:
            by_verdict[node.verdict][node.id] = []
    for one in findings:
        if not one.users and one.node in by_verdict.get(one.status, {}):
            why = by_verdict[one.status][one.node]
            why += [one.id] if one.id not in why else []
    return _Found(by_verdict["fail"], by_verdict["unknown"], by_verdict["warn"])


def _with_spec(found: _Found, spec: FleetSpec) -> _Found:
    """A node that does not meet the spec fails; one of which that is unknown is unknown."""
    failing, unknown = ({node: [*why] for node, why in some.items()} for some in (found.failing, found.unknown))
    for node, of in spec.nodes.items():
        states = failing if of.off else unknown if of.unknown else None
        if states is not None and SPEC_NOT_MET not in states.setdefault(node, []):
            states[node].append(SPEC_NOT_MET)
    return found._replace(failing=failing, unknown=unknown)


def _unknown(nodes: Iterable[Node], found: _Found, links: LinkStates) -> dict[int, str]:
    """Id to what could not be read, of the nodes that answered."""
    unmeasured = {node.id: links.unknown[node.name] for node in nodes if node.name in links.unknown}
    return unmeasured | {node: ", ".join(why) for node, why in found.unknown.items()}


def _states(
    nodes: Iterable[Node],
    found: _Found,
    unknown: Mapping[int, str],
    odd: OddFacts,
    slow: SlowFigures,
    off: Iterable[Node],
    duplicates: Iterable[Duplicate],
    mask: bool,
    links: LinkStates,
) -> dict[int, tuple[str, str]]:
    """Id to state and why, of the nodes that are not healthy; each under the first state that fits: what is proven
    comes before what could not be read."""
    states = {node: ("fail", ", ".join(why)) for node, why in found.failing.items()}
    for state, number, figure in slow.found:
        if state == "slow":
            states.setdefault(number, ("slow", f"{figure.label} {figure.change_percent:+.0f} %"))
    for one in nodes:
        if one.name in links.slow and one.state == "answered":
            states.setdefault(one.id, ("slow", links.slow[one.name]))
    for one in nodes:
        if one.state != "answered":
            states.setdefault(one.id, ("no-answer", why_not_examined(one.reason, mask)))
        elif one.id in unknown:
            states.setdefault(one.id, ("unknown", unknown[one.id]))
    for number, labels in odd.nodes.items():
        states.setdefault(number, ("odd", ", ".join(dict.fromkeys(labels))))
    for one in off:
        states.setdefault(one.id, ("odd", "clock"))
    twice = {name: pair.kind for pair in duplicates if pair.kind != "answer" for name in pair.nodes}
    for one in nodes:
        if one.name in twice:
            why_twice = "two machines have this name" if twice[one.name] == "name" else "the same GPU as another node"
            states.setdefault(one.id, ("odd", why_twice))
    for state, number, figure in slow.found:
        if state == "once":  # not proven: worth a look, and no bar counts it
            how = (
                f"in {figure.low} of {figure.measured} measurements"
                if figure.low < figure.measured
                else "not confirmed"
            )
            states.setdefault(number, ("warn", f"{figure.label} {figure.change_percent:+.0f} %, {how}"))
    for one in nodes:
        if one.name in links.warned:
            states.setdefault(one.id, ("warn", links.warned[one.name]))
    for node, why in found.warned.items():
        states.setdefault(node, ("warn", ", ".join(why)))
    return states


def _counts(nodes: Collection[Node], states: Mapping[int, tuple[str, str]], unknown: Mapping[int, str]) -> FleetCounts:
    """Two machines under one name are one node, in the worse state of both."""
    words: dict[str, set[str]] = {}
    for node in nodes:
        words.setdefault(node.name, set()).add(states[node.id][0] if node.id in states else "healthy")
    of_node = {name: next(word for word in _STATES if word in some) for name, some in words.items()}
    of = Counter(of_node.values())
    open_ = {node.name for node in nodes if node.id in unknown or node.state != "answered"}
    return FleetCounts(
        nodes=len(words),
        fail=of["fail"],
        unknown=of["unknown"],
        no_answer=of["no-answer"],
        slow=of["slow"],
        odd=of["odd"],
        warn=of["warn"],
        healthy=of["healthy"],
        slow_unknown=sum(of_node[name] == "slow" for name in open_),
    )


_STATES = ("fail", "slow", "unknown", "no-answer", "odd", "warn", "healthy")


def _verdict(counts: FleetCounts, refused: int, fail_on: FailOn) -> tuple[FleetVerdict, int]:
    """Verdict and exit code. A file that could not be read may be a node's: nothing is known of it."""
    open_ = counts.unknown + counts.slow_unknown + counts.no_answer + refused + (counts.nodes == 0)
    bars = {"fail": 0, "slow": counts.slow, "odd": counts.slow + counts.odd, "unknown": open_}
    if counts.fail or bars[fail_on]:
        return "fail", 1
    return ("unknown", 3) if open_ else ("pass", 0)


def _rows(
    nodes: Iterable[Node],
    states: Mapping[int, tuple[str, str]],
    unknown: Mapping[int, str],
    names: Mapping[int, str],
    cohorts: Mapping[Cohort, str],
) -> tuple[NodeRow, ...]:
    rows = [
        NodeRow(
            node=names[node.id],
            state=states[node.id][0],
            cohort=cohorts[node.cohort] if node.cohort else "",
            why=states[node.id][1],
            unknown=unknown.get(node.id, "") if states[node.id][0] == "slow" else "",
        )
        for node in nodes
        if node.id in states
    ]
    return tuple(sorted(rows, key=lambda row: in_order(row.node)))
