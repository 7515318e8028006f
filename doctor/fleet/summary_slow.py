"""Slow GPUs and nodes of a fleet's database, as its report has them: one line for each GPU and kind of figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from . import slow
from .cohorts import Alike, alike
from .columns import Columns, are_speeds, is_speed
from .kinds import Cohort, Measured
from .report import SlowFigure, Spread, TooFew, TwoKinds, UnknownOn
from .store.read import Store
from .thresholds import Kind

_LABELS = {
    "memory copy": "device memory", "memory triad": "device memory", "copy h2d-pinned": "host to device",
    "copy d2h-pinned": "device to host",
}  # fmt: skip


class SlowFigures(NamedTuple):
    """Of all cohorts; slow, once and lagging together."""

    found: tuple[tuple[slow.State, int, SlowFigure], ...]
    """State, id of the node, and what is slow."""
    spreads: tuple[Spread, ...]
    kinds: tuple[TwoKinds, ...]
    too_few: tuple[TooFew, ...]
    unknown: tuple[UnknownOn, ...]
    """Figures that are not valid rates on some nodes, such as 0: they are omitted."""


def slow_figures(store: Store, cohorts: Mapping[Cohort, str], names: Mapping[int, str]) -> SlowFigures:
    """A bounded number of figures of one cohort is in memory at once."""
    rows: dict[tuple[int, int, str], list[tuple[slow.State, SlowFigure]]] = {}
    spreads: list[Spread] = []
    kinds: list[TwoKinds] = []
    unread: list[UnknownOn] = []
    few: dict[str, tuple[int, set[int]]] = {}
    sizes = Counter(node.cohort for node in store.nodes())
    for cohort, name in cohorts.items():
        common, others = _groups(store, cohort)
        for figure, kind, (parts, unit, wrong) in _measured(store, cohort, common, others, sizes[cohort]):
            if wrong:
                nodes_of = tuple(sorted(names[node] for node in wrong))
                unread.append(UnknownOn(cohort=name, fact=f"figures[{figure}]", label=label(figure), nodes=nodes_of))
            for group, values in parts.items():
                speed = slow.judge(values, kind)
                if speed.kinds is not None:
                    kinds.append(
                        TwoKinds(
                            cohort=name,
                            figure=figure,
                            label=label(figure),
                            medians=speed.kinds.means,
                            unit=unit,
                            sizes=speed.kinds.sizes,
                            slower=tuple(sorted(names[node] for node in speed.slower)),
                        )
                    )
                for part in speed.parts:
                    if part.too_few:
                        number, nodes = few.get(_in(name, group, common), (0, set()))
                        few[_in(name, group, common)] = (number + 1, nodes | set(values.nodes))
                        continue
                    spreads.append(
                        Spread(
                            cohort=_in(name, group, common),
                            figure=figure,
                            values=part.values,
                            median=part.median,
                            unit=unit,
                            spread_percent=part.spread_percent,
                            hides_percent=max(part.hides_percent, 100 * (1 - part.slow_below / part.median)),
                        )
                    )
                    for one in part.below:
                        row = _figure(one, figure, kind, unit, part, name, names)
                        rows.setdefault((one.node, one.gpu, kind), []).append((one.state, row))
    return SlowFigures(
        tuple(sorted(_merged(rows), key=lambda one: (slow.STATES.index(one[0]), one[2].change_percent))),
        tuple(spreads),
        tuple(kinds),
        tuple(
            TooFew(cohort=where, figures=number, nodes=tuple(sorted(names[node] for node in nodes)))
            for where, (number, nodes) in few.items()
        ),
        tuple(unread),
    )


def _merged(
    rows: dict[tuple[int, int, str], list[tuple[slow.State, SlowFigure]]],
) -> Iterator[tuple[slow.State, int, SlowFigure]]:
    """All figures of one kind of one GPU in one line, which has the worst of them. What a line for the whole node says
    of a kind is not repeated for its GPUs."""
    for (node, gpu, kind), found in rows.items():
        found.sort(key=lambda one: (slow.STATES.index(one[0]), one[1].change_percent))
        state, first = _shown(found)
        whole = rows.get((node, slow.WHOLE_NODE, kind)) if gpu != slow.WHOLE_NODE else None
        if whole:
            best = min(slow.STATES.index(one[0]) for one in whole)
            if slow.STATES.index(state) >= best:
                # Where the statistics gave both for one figure, this GPU is far below the others of its node.
                common_ones = {one.figure for _, one in whole}
                found = [one for one in found if one[1].figure in common_ones]
                if not found:
                    continue
                state, first = _shown(found)
        also = tuple(one.figure for _, one in found if one.figure != first.figure)
        yield state, node, _with(first, also)


_NEAR = 2.0
"""Percent by which the figure that everybody knows may be less far behind than the worst, to stand in its place."""


def _shown(found: list[tuple[slow.State, SlowFigure]]) -> tuple[slow.State, SlowFigure]:
    """Of figures, the worst first, that which has the line: bf16 where it is as slow as the others."""
    state, worst = found[0]
    near = [one for one in found if one[0] == state and one[1].change_percent <= worst.change_percent + _NEAR]
    return next((one for one in near if one[1].figure in ("matmul bf16", "copy h2d-pinned")), found[0])


def _with(one: SlowFigure, also: tuple[str, ...]) -> SlowFigure:
    return replace(one, also=also)


def _figure(
    one: slow.Below, figure: str, kind: str, unit: str, part: slow.Slowness, cohort: str, names: Mapping[int, str]
) -> SlowFigure:
    return SlowFigure(
        node=names[one.node],
        gpu=one.gpu,
        gpus=one.gpus,
        cohort=cohort,
        kind=kind,
        figure=figure,
        label=label(figure),
        value=one.value,
        unit=unit,
        median=part.median,
        spread_percent=round(part.spread_percent, 3),
        change_percent=round(100 * one.change, 2),
        measured=one.measured,
        low=one.low,
    )


def label(figure: str) -> str:
    """`bf16 matmul`, `device memory`, `host to device`."""
    kind, _, what = figure.partition(" ")
    return _LABELS.get(figure) or f"{what} {kind}"


def _groups(store: Store, cohort: Cohort) -> tuple[Alike, dict[int, dict[int, Alike]]]:
    """The group that most GPUs are in, and the others' by node and GPU."""
    kinds = [(one, alike(one.power_limit_w, one.link, one.model), count) for one, count in store.gpu_kinds(cohort)]
    counts: Counter[Alike] = Counter()
    for _, group, count in kinds:
        counts[group] += count
    if not counts:
        return alike(None, ""), {}
    common = counts.most_common(1)[0][0]
    others: dict[int, dict[int, Alike]] = {}
    for one, group, _ in kinds:
        if group != common:
            for node, gpu in store.gpus_of(cohort, one):
                others.setdefault(node, {})[gpu] = group
    return common, others


_MOST_VALUES = 1 << 20
"""That are in memory at once."""
_Grouped: TypeAlias = "tuple[dict[Alike, Columns], str, set[int]]"
"""The values by what they are compared within, their unit, and the nodes with values that are not valid rates."""


def _measured(
    store: Store, cohort: Cohort, common: Alike, others: Mapping[int, Mapping[int, Alike]], nodes: int
) -> Iterator[tuple[str, Kind, _Grouped]]:
    """The figures of a cohort, by name: all that have room are read together."""
    left = [(figure, kind) for figure in store.figures(cohort) if (kind := slow.kind_of(figure)) is not None]
    room = max(1, _MOST_VALUES // max(1, nodes * (cohort[1] or 8)))
    while left:
        some, left = dict(left[:room]), left[room:]
        found = {figure: _Groups(common, others) for figure in some}
        for figure, one in store.values(cohort, some.keys()):
            found[figure].add(one)
        while some:
            figure = next(iter(some))
            yield figure, some.pop(figure), found.pop(figure).all()


class _Groups:
    """One figure of a cohort, as it is read."""

    def __init__(self, common: Alike, others: Mapping[int, Mapping[int, Alike]]) -> None:
        self._common, self._others = common, others
        self._found: dict[Alike, Columns] = {common: Columns()}
        self._unit, self._wrong = "", set[int]()

    def add(self, one: Measured) -> None:
        self._unit = self._unit or one.unit
        values = one.values
        if one.repeat == 1 and not one.own and one.node not in self._others and values and None not in values:
            speeds: Sequence[Any] = values
            if are_speeds(speeds):
                self._found[self._common].add(one.node, range(len(speeds)), speeds)
                return
        of_group: dict[Alike, dict[int, float]] = {}
        for gpu, value in enumerate(values):
            if value is None:
                continue
            if not is_speed(value):
                self._wrong.add(one.node)
                continue
            group = self._others.get(one.node, {}).get(0 if one.own else gpu, self._common)
            of_group.setdefault(group, {})[slow.WHOLE_NODE if one.own else gpu] = value
        for group, speeds_of in of_group.items():
            into = self._found.setdefault(group, Columns())
            if one.repeat == 1:
                into.add(one.node, speeds_of.keys(), speeds_of.values())
            else:
                into.again(one.node, one.repeat, speeds_of)

    def all(self) -> _Grouped:
        parts = {group: some for group, some in self._found.items() if some.nodes or some.later}
        return parts, self._unit, self._wrong


def _in(cohort: str, group: Alike, common: Alike) -> str:
    """The cohort, and what tells the group from most others in it."""
    watts = group.power_limit_w
    words = [group.model] if group.model != common.model and group.model else []
    words += [f"{watts:.0f} W"] if watts is not None and watts != common.power_limit_w else []
    words += [group.link] if group.link != common.link and group.link else []
    return f"{cohort} ({', '.join(words)})" if words else cohort
