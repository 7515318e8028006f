"""The links between the nodes of a fleet's database, as its report has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from .kinds import LinkRow
from .link_rates import LinkRate, is_rate
from .link_verdict import LinkVerdict, judge
from .nodesets import in_order
from .report_links import LinkRound, LinksAbout, NotMeasured, SlowLink, SlowPath, SlowSwitch
from .rounds import Pair
from .summary_parts import why_not_examined

UNMEASURED = "links not measured"


class LinkStates(NamedTuple):
    """Why nodes are not healthy, by their plain name."""

    unknown: dict[str, str]
    slow: dict[str, str]
    warned: dict[str, str]
    """Not confirmed, or on a slow path: worth a look."""


def link_rates(rows: Iterable[LinkRow]) -> tuple[list[LinkRate], dict[str, str]]:
    """The rates, and the switches of the nodes."""
    rates, switches = [], dict[str, str]()
    for row in rows:
        rates.append(LinkRate(Pair(row.round, row.turn, row.node, row.partner), row.value, row.reason))
        for name, switch in ((row.node, row.switch), (row.partner, row.partner_switch)):
            if switch:
                switches[name] = switch
    return rates, switches


def link_states(found: LinkVerdict) -> LinkStates:
    """The states of nodes that this verdict gives."""
    slow: dict[str, str] = {}
    warned: dict[str, str] = {}
    for node in found.nodes:
        words = f"links {_percent(node.value, node.median):+.0f} %"
        (slow if node.confirmed else warned)[node.node] = words + ("" if node.confirmed else ", not confirmed")
    for switch in found.switches:
        words = f"links on its switch {_percent(switch.value, switch.median):+.0f} %"
        for name in switch.nodes:
            (slow if switch.confirmed else warned)[name] = words + ("" if switch.confirmed else ", not confirmed")
    for path in found.paths:
        for name in path.nodes:
            end = "" if path.confirmed else ", not confirmed"
            warned.setdefault(name, f"slow path {_percent(path.value, path.median):+.0f} %{end}")
    return LinkStates(dict.fromkeys(found.unmeasured, UNMEASURED), slow, warned)


def links_about(rows: Sequence[LinkRow], found: LinkVerdict, mask: Callable[[str], str] | None) -> LinksAbout | None:
    """The report's part; None if no link was to be measured."""
    if not rows:
        return None
    named = mask or str

    def switch_named(switch: str) -> str:
        return named(switch).replace("node", "switch") if mask else switch

    values = [row.value for row in rows if row.value is not None and is_rate(row.value)]
    return LinksAbout(
        figure=rows[0].figure,
        unit=rows[0].unit,
        pairs=len(rows),
        measured=len(values),
        median=median(values) if values else None,
        rounds=tuple(LinkRound(**one._asdict()) for one in found.turns),
        nodes=tuple(
            SlowLink(
                node=named(one.node),
                partner=named(one.partner),
                value=one.value,
                median=one.median,
                change_percent=_percent(one.value, one.median),
                pairs=one.pairs,
                confirmed=one.confirmed,
            )
            for one in found.nodes
        ),
        paths=tuple(
            SlowPath(
                ends=tuple(map(switch_named if one.switches else named, one.ends)),  # type: ignore[arg-type]
                switches=one.switches,
                value=one.value,
                median=one.median,
                change_percent=_percent(one.value, one.median),
                nodes=_sorted(one.nodes, named),
                confirmed=one.confirmed,
            )
            for one in found.paths
        ),
        switches=tuple(
            SlowSwitch(
                switch=switch_named(one.switch),
                nodes=_sorted(one.nodes, named),
                value=one.value,
                median=one.median,
                change_percent=_percent(one.value, one.median),
                confirmed=one.confirmed,
            )
            for one in found.switches
        ),
        not_measured=_not_measured(rows, named, mask is not None),
        unmeasured=_sorted(found.unmeasured, named),
    )


def links_of(rows: Sequence[LinkRow]) -> LinkVerdict:
    """What all pairs of a database say."""
    return judge(*link_rates(rows))


def _sorted(names: Iterable[str], named: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(sorted(map(named, names), key=in_order))


def _percent(value: float, usual: float) -> float:
    return round(100 * (value / usual - 1), 2)


def _not_measured(rows: Iterable[LinkRow], named: Callable[[str], str], masked: bool) -> tuple[NotMeasured, ...]:
    pairs: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if not is_rate(row.value):
            reason = why_not_examined(row.reason, masked)
            pairs.setdefault(reason, []).append((named(row.node), named(row.partner)))
    by_number = sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(NotMeasured(reason=reason, pairs=tuple(some)) for reason, some in by_number)
