"""The batch sweep: how long a step takes at each batch, and what its time goes to."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot.measured import BatchPoint, Measured
from .amounts import amount, number, percent
from .axes import LogAxis
from .expected import crossover, limits
from .figures import STEP_PARTS, step_parts, sweep
from .svg import AXIS, GRID, INK, MUTED, PAPER, Drawing, text_width

COLOURS = dict(zip(STEP_PARTS, ("#0072b2", "#56b4e9", "#cc79a7", "#e69f00"), strict=True))
_LABELS = ("GPU at work", "copy to the GPU", "making the batch", "GPU waits for the host")
WORDS = dict(zip(STEP_PARTS, _LABELS, strict=True))
LEFT, RIGHT, TOP, BOTTOM = 58, 20, 44, 62
_SPLIT = 0.52
"""Share of the height for the upper part."""


def has_sweep(m: Measured, device: str) -> bool:
    """Two batches or more."""
    return len(sweep(m, device)) > 1


def draw_sweep(d: Drawing, report: Report, device: str, width: float, height: float) -> None:
    """Draws into a box of this size whose upper left corner is the origin."""
    points = sweep(report.snapshot.measured, device)
    parts = [step_parts(p) for p in points]
    split = any(parts)
    x = _batches(points, width)
    upper_end = height * _SPLIT if split else height - BOTTOM
    slot = (x.end - x.start) / max(1, len(points) - 1)
    low, high = min(p.step_ms for p in points), max(p.step_ms for p in points)
    y = LogAxis(low / 1.7, high * 2.0, upper_end, TOP)
    d.text(0, 16, "Batch sweep", 15, bold=True)
    d.text(
        0,
        34,
        "One training step of a small model. Where the line is flat, a larger batch costs no extra time.",
        11,
        MUTED,
    )
    for tick in y.ticks():
        d.line(LEFT, y.at(tick), width - RIGHT, y.at(tick), GRID)
        d.text(LEFT - 8, y.at(tick) + 4, number(tick), 11, MUTED, "end")
    d.text(14, (y.start + y.end) / 2, "Step time (ms)", 12, MUTED, "middle", turn=-90)
    _crossing(d, report, device, points, x, height)
    d.polyline([(x.at(p.batch), y.at(p.step_ms)) for p in points], INK)
    for point in points:
        speed = number(point.batch / point.step_ms * 1e3)
        about = f"batch {point.batch}: {amount(point.step_ms, 'ms')}, {speed} samples/s"
        d.circle(x.at(point.batch), y.at(point.step_ms), 4.5, INK, about=about)
        d.text(x.at(point.batch), y.at(point.step_ms) - 11, number(point.step_ms), 11.5, INK, "middle", halo=True)
    if split:
        _shares(d, points, parts, x, min(64.0, slot * 0.62), upper_end, height)
    bounds = limits(report, device)
    d.line(LEFT, height - BOTTOM, width - RIGHT, height - BOTTOM, AXIS)
    for point in points:
        d.text(x.at(point.batch), height - BOTTOM + 17, f"{point.batch:,}", 11.5, INK, "middle", bold=True)
        if point.batch in bounds and slot > 74:
            d.text(x.at(point.batch), height - BOTTOM + 32, bounds[point.batch], 11, MUTED, "middle")
    if bounds and slot > 74:
        d.text(LEFT - 8, height - BOTTOM + 32, "limit:", 11, MUTED, "end")
    d.text((LEFT + width - RIGHT) / 2, height - 6, "Batch size (samples)", 12, MUTED, "middle")


def _batches(points: list[BatchPoint], width: float) -> LogAxis:
    pad = 40
    return LogAxis(points[0].batch, points[-1].batch, LEFT + pad, width - RIGHT - pad)


def _crossing(d: Drawing, report: Report, device: str, points: list[BatchPoint], x: LogAxis, height: float) -> None:
    """Between the last batch that is not limited by the GPU and the first that is."""
    batch = crossover(report, device)
    before = max((p.batch for p in points if batch and p.batch < batch), default=None)
    if batch is None or before is None:
        return
    at = (x.at(before) + x.at(min(batch, points[-1].batch))) / 2
    d.line(at, TOP - 2, at, height - BOTTOM, "#d55e00", 1.4, "5 4")
    text = f"from batch {batch:,} on, the GPU is the limit"
    wide = text_width(text, 11.5)
    right = at + 8 + wide < x.end + 40
    d.text(at + (8 if right else -8), TOP + 10, text, 11.5, "#b34700", "start" if right else "end", halo=True)


def _shares(
    d: Drawing,
    points: list[BatchPoint],
    parts: list[tuple[float, ...]],
    x: LogAxis,
    wide: float,
    top: float,
    height: float,
) -> None:
    """Below: what the time of each step goes to, as shares of it."""
    start, end = height - BOTTOM, top + 50
    at = float(LEFT)
    there = [name for i, name in enumerate(STEP_PARTS) if any(p and p[i] > 0 for p in parts)]
    for name in there:
        d.rect(at, top + 24, 11, 11, COLOURS[name], round_=2)
        d.text(at + 16, top + 33.5, WORDS[name], 11, MUTED)
        at += 16 + text_width(WORDS[name], 11) + 16
    d.text(14, (start + end) / 2, "Share of the step (%)", 12, MUTED, "middle", turn=-90)
    for share in (0, 50, 100):
        y = start - (start - end) * share / 100
        d.line(LEFT, y, d_right(x), y, GRID)
        d.text(LEFT - 8, y + 4, str(share), 11, MUTED, "end")
    for point, part in zip(points, parts, strict=True):
        base = start
        for name, value in zip(STEP_PARTS, part, strict=False):
            tall = (start - end) * value / point.step_ms
            base -= tall
            if tall <= 0:
                continue
            about = f"batch {point.batch}: {WORDS[name]} {amount(value, 'ms')} of {amount(point.step_ms, 'ms')}"
            d.rect(x.at(point.batch) - wide / 2, base, wide, tall, COLOURS[name], PAPER, about=about)
            if tall > 15 and wide > 34:
                ink = PAPER if name == "device" else INK
                d.text(x.at(point.batch), base + tall / 2 + 4, percent(100 * value / point.step_ms), 11, ink, "middle")


def d_right(x: LogAxis) -> float:
    """The right edge of the plot."""
    return x.end + 40
