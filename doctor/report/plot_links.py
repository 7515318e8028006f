"""Links in pictures: bus bandwidth by size, and one sum in two ways with what each link carried."""

from __future__ import annotations

from math import cos, pi, sin

from ..judge.report import Report
from ..snapshot import CollectiveRate, Measured, SumWay, known
from .amounts import number
from .axes import LogAxis, spread_labels
from .measured_links import NAMES, group_of, group_words
from .measured_teach import theory
from .measured_units import size, time_words
from .svg import AXIS, GRID, INK, MUTED, PAPER, Drawing, shorten

WIDTH, _MARGIN, _TOP, _TALL, _FOOT = 1160.0, 28.0, 56.0, 300.0, 44.0
_COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#e69f00", "#7a5195")
_HOT = "#d55e00"
_RING, _NODE = 82.0, 15.0
"""Radius of the circle on which the ranks stand, and of a rank."""
_MOST = 16
"""Ranks that are drawn."""
TEACH = 300.0
"""Height of the ways."""


def render_links(report: Report) -> str:
    """The image; empty if there is none."""
    height = links_height(report)
    if not height:
        return ""
    d = Drawing("links")
    d.move(_MARGIN, 8)
    draw_links(d, report)
    d.end()
    return d.svg(WIDTH, height + 16, "Links between ranks")


def links_height(report: Report) -> float:
    """Height of the drawing; 0 if nothing can be drawn."""
    m = report.snapshot.measured
    return (_TOP + _TALL + _FOOT if _curves(m) else 0.0) + (TEACH if _ways(m) else 0.0)


def _curves(m: Measured) -> dict[str, list[CollectiveRate]]:
    """Collectives of two sizes or more, by size."""
    rates = [
        r for r in known(m.collective_rates) or () if not r.variant and 0 < r.bus_gb_s < 1e7 and 0 < r.bytes < 1e15
    ]
    found = {n: sorted((r for r in rates if r.operation == n), key=lambda r: r.bytes) for n in NAMES}
    return {name: points for name, points in found.items() if len({r.bytes for r in points}) > 1}


def _ways(m: Measured) -> list[SumWay]:
    """Those whose links are known."""
    return [way for way in known(m.ways) or () if way.links and 1 < way.ranks <= _MOST and theory(way)]


def draw_links(d: Drawing, report: Report) -> None:
    """Draws 1104 pixels wide, from the origin on."""
    m = report.snapshot.measured
    curves = _curves(m)
    if curves:
        _bandwidth(d, m, curves)
    if _ways(m):
        d.move(0, _TOP + _TALL + _FOOT if curves else 0)
        _three_ways(d, _ways(m))
        d.end()


def _bandwidth(d: Drawing, m: Measured, curves: dict[str, list[CollectiveRate]]) -> None:
    group = group_of(m)
    d.text(0, 16, "Bus bandwidth by size" + (f": {group_words(group)}" if group else ""), 15, bold=True)
    d.text(0, 34, "GB/s as counted by nccl-tests. Where a line is flat, the link is the bottleneck.", 11, MUTED)
    points = [r for rows in curves.values() for r in rows]
    sizes, speeds = [r.bytes for r in points], [r.bus_gb_s for r in points]
    x = LogAxis(min(sizes), max(sizes), 62, WIDTH - 2 * _MARGIN - 150)
    y = LogAxis(min(speeds) / 1.5, max(speeds) * 1.5, _TOP + _TALL, _TOP)
    for tick in y.ticks():
        d.line(x.start, y.at(tick), x.end, y.at(tick), GRID)
        d.text(x.start - 8, y.at(tick) + 4, number(tick), 11, MUTED, "end")
    for count in sorted({r.bytes for r in max(curves.values(), key=len)}):
        d.line(x.at(count), _TOP, x.at(count), _TOP + _TALL, GRID)
        d.text(x.at(count), _TOP + _TALL + 17, size(count), 11, MUTED, "middle")
    d.line(x.start, _TOP + _TALL, x.end, _TOP + _TALL, AXIS)
    ends = spread_labels([y.at(rows[-1].bus_gb_s) for rows in curves.values()], 14, _TOP, _TOP + _TALL)
    for (name, rows), shade, end in zip(curves.items(), _COLOURS, ends, strict=False):
        d.polyline([(x.at(r.bytes), y.at(r.bus_gb_s)) for r in rows], shade, 1.8)
        for r in rows:
            about = f"{NAMES[name]} of {size(r.bytes)}: {number(r.bus_gb_s)} GB/s, {time_words(r.us)}"
            d.circle(x.at(r.bytes), y.at(r.bus_gb_s), 3.5, shade, about=about)
        d.text(x.end + 10, end + 4, f"{NAMES[name]} {number(rows[-1].bus_gb_s)}", 12, shade)


def _three_ways(d: Drawing, ways: list[SumWay]) -> None:
    d.text(0, 16, f"One all-reduce of {size(ways[0].bytes)} over {ways[0].ranks} ranks", 15, bold=True)
    d.text(0, 34, "Line width shows the bytes carried; orange marks the busiest link.", 11, MUTED)
    most = max(count for way in ways for count in _between(way).values())
    for index, way in enumerate(ways):
        d.move(index * 540, 50)
        _way(d, way, most)
        d.end()


def _between(way: SumWay) -> dict[tuple[int, int], int]:
    """Bytes over the line between two ranks, both directions together."""
    found: dict[tuple[int, int], int] = {}
    for name, count in way.links.items():
        source, _, target = name.partition(">")
        if source.isdecimal() and target.isdecimal() and int(source) < way.ranks > int(target):
            ends = (min(int(source), int(target)), max(int(source), int(target)))
            found[ends] = found.get(ends, 0) + count
    return found


def _way(d: Drawing, way: SumWay, most: int) -> None:
    spots = {}
    for rank in range(way.ranks):
        turn = 2 * pi * rank / way.ranks - pi / 2
        spots[rank] = (110 + _RING * cos(turn), 112 + _RING * sin(turn))
    passed = dict.fromkeys(range(way.ranks), 0)
    for (one, other), count in _between(way).items():
        passed[one] += count
        passed[other] += count
        (x1, y1), (x2, y2) = spots[one], spots[other]
        d.line(x1, y1, x2, y2, _COLOURS[0], 1 + 9 * count / most)
    heaviest = max(passed.values())
    lightest = min(passed.values())
    for rank, (x, y) in spots.items():
        hot = passed[rank] == heaviest > 1.05 * lightest
        d.circle(x, y, _NODE, _HOT if hot else INK, about=f"rank {rank}: {size(passed[rank])} in and out")
        d.text(x, y + 4, str(rank), 12, PAPER, "middle", bold=True)
    title = {"ring": "Ring", "gather-sum-broadcast": "Gather, sum, broadcast"}.get(way.name, way.name)
    rows = [f"{time_words(way.us)}", f"busiest rank: {size(heaviest)} in and out", f"lightest rank: {size(lightest)}"]
    rows.append(f"theory: 2 x {size(theory(way) or 0)}")
    rows += [f"held by one rank: {size(way.held_bytes)}"] if way.held_bytes else []
    d.text(240, 40, shorten(title, 14, 280), 14, bold=True)
    for number_, words in enumerate(rows):
        d.text(240, 64 + 20 * number_, shorten(words, 12, 280), 12, INK if number_ else MUTED)
