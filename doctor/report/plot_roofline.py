"""The roofline: what this GPU can do at each arithmetic intensity, as measured, and where operations stand below it."""

from __future__ import annotations

from typing import NamedTuple

from ..judge.report import Report
from ..snapshot.measured import Measured, Rate
from .amounts import number
from .axes import LogAxis, spread_labels
from .expected import peak_bandwidth, peak_of
from .figures import GROUPS, bandwidth, intensity, matmuls, operations
from .labels import Labels
from .svg import AXIS, GRID, INK, MUTED, Drawing, text_width

COLOURS = {"contraction": "#0072b2", "normalisation": "#d55e00", "element-wise": "#009e73"}
OTHER = "#7a5195"
_ALIKE = 1.08
"""Roofs nearer to each other than this are one line with both names."""
_NEAR = 14
"""Points of one group nearer than this many pixels share a label."""
LEFT, RIGHT, TOP, BOTTOM = 58, 132, 72, 46


class Roof(NamedTuple):
    """A horizontal line: what products of this precision reach."""

    label: str
    tflops: float
    dashed: bool = False


def has_roofline(m: Measured, device: str) -> bool:
    """Whether there is a memory slope with a roof or with points."""
    return bool(bandwidth(m, device)) and bool(_products(m, device) or operations(m, device))


def roofs(report: Report, device: str) -> list[Roof]:
    """Measured roofs, highest first, those alike joined; and the dense peak of the fastest 16-bit precision."""
    found: list[Roof] = []
    products = _products(report.snapshot.measured, device)
    for product in sorted(products, key=lambda r: -r.value):
        if found and found[-1].tflops / product.value < _ALIKE:
            found[-1] = Roof(f"{found[-1].label}, {product.what}", found[-1].tflops)
        else:
            found.append(Roof(product.what, product.value))
    main = next((p for name in ("bf16", "fp16", "tf32", "fp32") for p in products if p.what == name), None)
    peak = peak_of(report, main) if main else None
    if main and peak:
        found.append(Roof(f"{main.what} dense peak", peak, True))
    return sorted(found, key=lambda r: -r.tflops)


def _products(m: Measured, device: str) -> list[Rate]:
    return [r for r in matmuls(m, device) if r.unit == "TFLOP/s"]


def draw_roofline(d: Drawing, report: Report, device: str, width: float, height: float) -> None:
    """Draws into a box of this size whose upper left corner is the origin."""
    m = report.snapshot.measured
    slope = bandwidth(m, device) or 0.0
    lines, points = roofs(report, device), operations(m, device)
    peak_slope = peak_bandwidth(report, device)
    x, y = _axes(slope, lines, points, width, height)
    scale, unit = (1.0, "TFLOP/s") if y.high >= 5 else (1e3, "GFLOP/s")
    d.text(0, 16, "Roofline", 15, bold=True)
    words = "Left of the ridge, memory is the limit; right of it, the arithmetic units are. Solid lines are measured."
    d.text(0, 34, words, 11, MUTED)
    _grid(d, x, y, scale)
    d.text((x.start + x.end) / 2, height - 6, "Arithmetic intensity (FLOP/byte)", 12, MUTED, "middle")
    d.text(14, (y.start + y.end) / 2, f"Performance ({unit})", 12, MUTED, "middle", turn=-90)
    d.clip(x.start, y.end, x.end - x.start, y.start - y.end)
    labels = Labels(x.start, y.end, x.end, y.start)
    highest = max((r.tflops for r in lines if not r.dashed), default=0.0) or slope * x.high / 1e3
    if peak_slope:
        top = max(r.tflops for r in lines) if lines else highest
        _line(d, x, y, x.low, min(top / peak_slope * 1e3, x.high), peak_slope, AXIS, 1.2, "5 4")
    ridge = min(highest / slope * 1e3, x.high)
    labels.keep_off(_line(d, x, y, x.low, ridge, slope, INK, 2, ""))
    for roof in lines:
        start = max(x.low, roof.tflops / ((peak_slope if roof.dashed else None) or slope) * 1e3)
        colour, thick = (AXIS, 1.2) if roof.dashed else (INK, 2 if roof.tflops == highest else 1.2)
        if start < x.high:
            height_ = y.at(roof.tflops)
            d.line(x.at(start), height_, x.end, height_, colour, thick, "5 4" if roof.dashed else "")
            labels.keep_off([(x.at(start), height_), (x.end, height_)])
    d.end()
    _slope_label(d, x, y, slope, ridge, labels)
    _roof_labels(d, lines, x, y, scale, unit)
    _points(d, points, x, y, scale, unit, labels)
    _legend(d, points, x)


def _axes(slope: float, lines: list[Roof], points: list[Rate], width: float, height: float) -> tuple[LogAxis, LogAxis]:
    intensities = [intensity(p) for p in points]
    ridge = max((r.tflops for r in lines), default=0.0) / slope * 1e3
    low = min([0.1, *(i / 2 for i in intensities)])
    high = max([100.0, ridge * 8, *(i * 2.5 for i in intensities)])
    values = [p.value for p in points] + [r.tflops for r in lines]
    top = max(values) * 1.7
    bottom = min([p.value / 2.5 for p in points] + [r.tflops / 10 for r in lines] + [slope * low / 1e3 * 3])
    x = LogAxis(low, high, LEFT, width - RIGHT)
    return x, LogAxis(max(bottom, top / 1e6), top, height - BOTTOM, TOP)


def _grid(d: Drawing, x: LogAxis, y: LogAxis, scale: float) -> None:
    for tick in x.ticks():
        d.line(x.at(tick), y.start, x.at(tick), y.end, GRID)
        d.text(x.at(tick), y.start + 17, number(tick), 11, MUTED, "middle")
    for tick in (t / scale for t in LogAxis(y.low * scale, y.high * scale, 0, 1).ticks()):
        d.line(x.start, y.at(tick), x.end, y.at(tick), GRID)
        d.text(x.start - 8, y.at(tick) + 4, number(tick * scale), 11, MUTED, "end")
    d.line(x.start, y.start, x.end, y.start, AXIS)
    d.line(x.start, y.start, x.start, y.end, AXIS)


def _line(
    d: Drawing, x: LogAxis, y: LogAxis, low: float, high: float, slope: float, colour: str, width: float, dash: str
) -> list[tuple[float, float]]:
    positions = [(x.at(i), y.at(i * slope / 1e3)) for i in (low, high)]
    (x1, y1), (x2, y2) = positions
    d.line(x1, y1, x2, y2, colour, width, dash)
    return positions


def _slope_label(d: Drawing, x: LogAxis, y: LogAxis, slope: float, ridge: float, labels: Labels) -> None:
    """Along the memory slope, above it."""
    from math import atan2, degrees, hypot

    visible = max(x.low, y.low / slope * 1e3)
    x1, y1, x2, y2 = x.at(visible), y.at(visible * slope / 1e3), x.at(ridge), y.at(ridge * slope / 1e3)
    text = f"memory {number(slope)} GB/s"
    long = text_width(text, 11.5)
    length = hypot(x2 - x1, y2 - y1)
    if length < long + 20:
        return
    share = max(0.55, (long / 2 + 10) / length)
    angle = degrees(atan2(y2 - y1, x2 - x1))
    cx, cy = x1 + (x2 - x1) * share, y1 + (y2 - y1) * share
    up = 8 / length
    px, py = cx + (y2 - y1) * up, cy - (x2 - x1) * up
    d.text(px, py, text, 11.5, INK, "middle", turn=angle, halo=True)
    for step in range(-4, 5):  # the turned text as a row of small boxes
        along = step / 4 * long / 2 / length
        bx, by = px + (x2 - x1) * along, py + (y2 - y1) * along
        labels.take(bx - 6, by - 9, bx + 6, by + 2)


def _roof_labels(d: Drawing, lines: list[Roof], x: LogAxis, y: LogAxis, scale: float, unit: str) -> None:
    """In the right margin, moved apart, each tied to its line."""
    wanted = [y.at(r.tflops) for r in lines]
    for roof, line_y, label_y in zip(lines, wanted, spread_labels(wanted, 28, y.end + 4, y.start - 12), strict=True):
        colour = MUTED if roof.dashed else INK
        d.line(x.end, line_y, x.end + 10, label_y, AXIS)
        d.text(x.end + 14, label_y, roof.label, 11.5, colour, bold=not roof.dashed)
        d.text(x.end + 14, label_y + 12.5, f"{number(roof.tflops * scale)} {unit}", 11, MUTED)


def _points(d: Drawing, points: list[Rate], x: LogAxis, y: LogAxis, scale: float, unit: str, labels: Labels) -> None:
    positions = [(x.at(intensity(p)), y.at(p.value)) for p in points]
    for px, py in positions:
        labels.take(px - 6, py - 6, px + 6, py + 6)
    for names, group, px, py in sorted(_together(points, positions), key=lambda found: -len(", ".join(found[0]))):
        texts = [", ".join(names), f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else ""]
        for text in [t for t in texts if t]:
            position = labels.label(text, px, py, 11.5)
            if position is not None:
                lx, ly, anchor, tied = position
                if tied:
                    d.line(px, py, lx + (3 if anchor == "end" else -3), ly - 4, AXIS)
                d.text(lx, ly, text, 11.5, COLOURS.get(group, OTHER), anchor, halo=True)
                break
    # Squares are the largest: where points of two groups lie on each other, both are seen.
    pairs = sorted(zip(points, positions, strict=True), key=lambda pair: pair[0].group != "normalisation")
    for point, (px, py) in pairs:
        about = f"{point.what}: {number(point.value * scale)} {unit} at {number(intensity(point))} FLOP/byte"
        marker(d, point.group, px, py, about)


def _together(points: list[Rate], positions: list[tuple[float, float]]) -> list[tuple[list[str], str, float, float]]:
    """(names, group, x, y): points of a group that lie on each other share one label at their middle."""
    found: list[tuple[list[str], str, list[tuple[float, float]]]] = []
    for point, (px, py) in zip(points, positions, strict=True):
        for names, group, there in found:
            if group == point.group and any(abs(px - ox) < _NEAR and abs(py - oy) < _NEAR for ox, oy in there):
                names.append(point.what)
                there.append((px, py))
                break
        else:
            found.append(([point.what], point.group, [(px, py)]))
    return [
        (names, group, sum(p[0] for p in there) / len(there), sum(p[1] for p in there) / len(there))
        for names, group, there in found
    ]


def marker(d: Drawing, group: str, x: float, y: float, about: str = "") -> None:
    """A circle, a square or a triangle: groups are distinguished without color too."""
    colour = COLOURS.get(group, OTHER)
    if group == "normalisation":
        d.rect(x - 6, y - 6, 12, 12, colour, "#ffffff", about=about)
    elif group == "element-wise":
        d.polygon([(x, y - 5.5), (x + 5.2, y + 4), (x - 5.2, y + 4)], colour, edge="#ffffff")
    else:
        d.circle(x, y, 5, colour, about=about)


def _legend(d: Drawing, points: list[Rate], x: LogAxis) -> None:
    at = x.start
    there = {p.group for p in points}
    for group in [g for g in GROUPS if g in there] + sorted(there - set(GROUPS)):
        marker(d, group, at + 5, 55)
        d.text(at + 15, 59, group or "other", 11, MUTED)
        at += 15 + text_width(group or "other", 11) + 18
