"""Matrix products by precision, each on the range that this GPU should reach and its dense peak."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot.measured import Measured, Rate
from .amounts import number, percent
from .axes import LinearAxis
from .expected import Band, band
from .figures import matmuls
from .svg import AXIS, GRID, INK, MUTED, Drawing, text_width

GOOD, LOW, TRACK, RANGE = "#0072b2", "#d55e00", "#eef1f4", "#c3ccd5"
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 72, 46


def has_matmul(m: Measured, device: str) -> bool:
    """Any product."""
    return bool(matmuls(m, device))


def draw_matmul(d: Drawing, report: Report, device: str, width: float, height: float) -> None:
    """Draws into a box of this size whose upper left corner is the origin.

    Where the peak of every product is known each bar is a share of its own, else all share one axis of TFLOP/s.
    """
    products = matmuls(report.snapshot.measured, device)
    bands = [band(report, p) for p in products]
    shares = all(b and b.peak for b in bands)
    d.text(0, 16, "Matrix multiplication", 15, bold=True)
    d.text(
        0,
        34,
        "Measured, by data type." if not any(bands) else "Measured, compared with what this GPU can do.",
        11,
        MUTED,
    )
    small = max(p.value for p in products) < 1
    wholes = [b.peak if shares and b and b.peak else 1e-3 if small else 1.0 for b in bands]
    wholes = [whole / 100 if shares else whole for whole in wholes]
    tops = [max(p.value, b.top if b else 0.0) / whole for p, b, whole in zip(products, bands, wholes, strict=True)]
    x = LinearAxis(0, max([*tops, 100.0 if shares else 0.0]) * (1.0 if shares else 1.05), LEFT, width - RIGHT)
    for tick in x.ticks(5):
        d.line(x.at(tick), TOP, x.at(tick), height - BOTTOM, GRID)
        d.text(x.at(tick), height - BOTTOM + 17, number(tick), 11, MUTED, "middle")
    flops = "GFLOP/s" if small else "TFLOP/s"
    integers = [p.what for p in products if p.unit == "TOP/s"]
    whole_numbers = f" ({', '.join(integers)}: {flops[0]}OP/s)" if integers else ""
    axis = "Share of the dense peak (%)" if shares else flops + whole_numbers
    d.text((x.start + x.end) / 2, height - 6, axis, 12, MUTED, "middle")
    step = min(64.0, (height - BOTTOM - TOP) / len(products))
    for index, (product, expected, whole) in enumerate(zip(products, bands, wholes, strict=True)):
        _row(d, x, TOP + step * index, step, product, expected, whole, small)
    d.line(x.start, TOP, x.start, height - BOTTOM, AXIS)
    if any(bands):
        _legend(d, x.start)


def _row(
    d: Drawing, x: LinearAxis, top: float, step: float, product: Rate, expected: Band | None, whole: float, small: bool
) -> None:
    tall = min(18.0, step * 0.36)
    middle = top + step * 0.62
    d.text(x.start - 8, middle + 4, product.what, 12, INK, "end", bold=True)
    if expected:
        d.rect(x.start, middle - tall / 2, x.at(expected.top / whole) - x.start, tall, TRACK)
        low, high = x.at(expected.low / whole), x.at(expected.high / whole)
        d.rect(low, middle - tall / 2, high - low, tall, RANGE)
    bad = expected is not None and product.value < expected.low
    long = x.at(product.value / whole) - x.start
    d.rect(x.start, middle - tall * 0.22, long, tall * 0.44, LOW if bad else GOOD, about=_about(product))
    whisker(d, x, product, middle, whole)
    scale, unit = (1e3, "G" + product.unit[1:]) if small and product.unit.startswith("T") else (1.0, product.unit)
    text = f"{number(product.value * scale)} {unit}"
    base = middle - tall / 2 - 5
    d.text(x.start + 4, base, text, 11.5, INK, bold=True)
    if expected and expected.peak:
        share = f"{percent(100 * product.value / expected.peak)} of {number(expected.peak)}"
        d.text(x.start + 4 + text_width(text, 11.5, True) + 8, base, share, 11, MUTED)


def whisker(d: Drawing, x: LinearAxis, rate: Rate, y: float, whole: float = 1.0) -> None:
    """An error bar from the 10th to the 90th percentile, put around the median. `whole`: what is 1 on the axis."""
    half = rate.value * min(rate.spread_percent, 100.0) / 200
    low, high = x.at(max(x.low, (rate.value - half) / whole)), x.at(min(x.high, (rate.value + half) / whole))
    if rate.spread_percent <= 0 or high - low < 1:
        return
    d.line(low, y, high, y, INK, 1.2)
    for end in (low, high):
        d.line(end, y - 3, end, y + 3, INK, 1.2)


def _legend(d: Drawing, at: float) -> None:
    for colour, words in ((GOOD, "measured"), (RANGE, "expected range"), (TRACK, "up to the peak")):
        d.rect(at, 50 if colour != GOOD else 52.5, 16, 10 if colour != GOOD else 5, colour)
        d.text(at + 21, 59, words, 11, MUTED)
        at += 21 + text_width(words, 11) + 14


def _about(product: Rate) -> str:
    size = " x ".join(f"{product.detail[n]:.0f}" for n in ("m", "n", "k") if n in product.detail)
    return f"{product.what}: {number(product.value)} {product.unit}" + (f" at {size}" if size else "")
