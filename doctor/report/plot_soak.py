"""The sustained load: rate, SM clock, power and temperature over time, a line for each GPU."""

from __future__ import annotations

from collections.abc import Callable

from ..findings.measured_soak import courses
from ..judge.report import Report
from ..snapshot import SoakPoint, known
from .amounts import number
from .axes import LinearAxis
from .plot_matmul import LOW
from .svg import AXIS, GRID, INK, MUTED, Drawing, shorten, text_width

WIDTH, _MARGIN, _TOP, _TALL, _FOOT, _BETWEEN = 1160.0, 28.0, 92.0, 190.0, 50.0, 34.0
HEIGHT = _TOP + _TALL + _FOOT + 8
_COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#999933", "#7a5195", "#8c6d1f", "#5b7f95")
"""Of GPUs that keep their speed; one that does not is drawn in the color of what is low."""
_FALLS = -10.0


def _rate(point: SoakPoint) -> float | None:
    return point.rate


_PANELS: tuple[tuple[str, Callable[[SoakPoint], float | None], bool], ...] = (
    ("Rate", _rate, True),
    ("SM clock, MHz", lambda p: known(p.clock_sm_mhz), True),
    ("Power, W", lambda p: known(p.power_w), True),
    ("Temperature, C", lambda p: known(p.temperature_max_c), False),
)
"""Title, value, and whether the axis begins at 0."""


def render_soak(report: Report) -> str:
    """The image; empty if there is none."""
    if not has_soak(report):
        return ""
    d = Drawing("soak")
    d.move(_MARGIN, 8)
    draw_soak(d, report)
    d.end()
    return d.svg(WIDTH, HEIGHT, "Sustained load")


def has_soak(report: Report) -> bool:
    """Whether some load was sustained for two points or more."""
    return bool(_loaded(report)[1])


def _loaded(report: Report) -> tuple[list[SoakPoint], list[str]]:
    """All points, and the devices that have two or more."""
    points = [p for p in known(report.snapshot.measured.soak) or () if 0 < p.rate < 1e9 and 0 <= p.at_s < 1e7]
    return points, [n for n in dict.fromkeys(p.device for p in points) if sum(p.device == n for p in points) > 1]


def draw_soak(d: Drawing, report: Report) -> None:
    """Draws 1104 pixels wide and HEIGHT tall, from the origin on."""
    points, names = _loaded(report)
    falling = {course.device for course in courses(report.snapshot.measured) if course.percent <= _FALLS}
    shades = {n: LOW if n in falling else _COLOURS[i % len(_COLOURS)] for i, n in enumerate(names)}
    seconds = max(p.at_s + p.seconds for p in points)
    d.text(0, 22, f"Sustained load, {number(seconds)} s", 15, bold=True)
    d.text(0, 40, "One line per GPU; orange: more than 10 % slower at the end than at the start.", 11, MUTED)
    at = 0.0
    for name in names:
        words = shorten(name, 12, 90)
        if at + 26 + text_width(words, 12) > WIDTH - 2 * _MARGIN:
            break
        d.rect(at, 52, 16, 5, shades[name])
        d.text(at + 21, 59, words, 12, INK)
        at += 21 + text_width(words, 12) + 16
    panels = [panel for panel in _PANELS if any(panel[1](p) is not None for p in points)]
    wide = (WIDTH - 2 * _MARGIN - _BETWEEN * (len(panels) - 1)) / len(panels)
    for index, (title, value, from_zero) in enumerate(panels):
        d.move(index * (wide + _BETWEEN), _TOP)
        unit = f", {points[0].what} {points[0].unit}" if title == "Rate" else ""
        _panel(d, title + unit, [p for p in points if p.device in shades], value, from_zero, seconds, wide, shades)
        d.end()


def _panel(
    d: Drawing,
    title: str,
    points: list[SoakPoint],
    value: Callable[[SoakPoint], float | None],
    from_zero: bool,
    seconds: float,
    wide: float,
    shades: dict[str, str],
) -> None:
    values = [v for p in points if (v := value(p)) is not None]
    low, high = (0.0 if from_zero else min(values) - 2), max(values) * 1.05
    if high - low <= 0:
        high = low + 1
    x, y = LinearAxis(0, seconds, 46, wide - 4), LinearAxis(low, high, _TALL, 12)
    d.text(0, 0, shorten(title, 12, wide), 12, INK, bold=True)
    for tick in y.ticks(4):
        d.line(x.start, y.at(tick), x.end, y.at(tick), GRID)
        d.text(x.start - 6, y.at(tick) + 4, number(tick), 11, MUTED, "end")
    for tick in x.ticks(3):
        d.text(x.at(tick), _TALL + 16, f"{number(tick)} s", 11, MUTED, "middle" if x.at(tick) < x.end - 14 else "end")
    for name, shade in shades.items():
        line = [
            (x.at(p.at_s + p.seconds / 2), y.at(v)) for p in points if p.device == name and (v := value(p)) is not None
        ]
        if len(line) > 1:
            d.polyline(line, shade, 1.8)
    d.line(x.start, 12, x.start, _TALL, AXIS)
    d.line(x.start, _TALL, x.end, _TALL, AXIS)
