"""What is of all GPUs together: their figures side by side, one row a GPU, and the copies between each two."""

from __future__ import annotations

from collections.abc import Callable

from ..findings.measured_siblings import slower
from ..judge.report import Report
from ..snapshot import known
from ..snapshot.measured import Rate
from .amounts import number
from .axes import LinearAxis
from .figures import devices, rates
from .plot_matmul import GOOD, LOW, whisker
from .svg import AXIS, GRID, INK, MUTED, Drawing, shorten, text_width

COLUMNS = (("matmul", "bf16"), ("matmul", "fp16"), ("memory", "copy"), ("copy", "h2d-pinned"), ("copy", "d2h-pinned"))
_TITLES = {"copy": "memory", "h2d-pinned": "from host memory", "d2h-pinned": "to host memory"}
_LEFT, _TOP, _ROW, _BETWEEN = 70.0, 86.0, 24.0, 26.0
_CELL, _MARGIN = 58.0, 28.0
WIDTH = 1160.0


def gpus(report: Report) -> list[str]:
    """torch's names of the GPUs that were measured."""
    return [name for name in devices(report.snapshot.measured) if name.startswith("cuda")]


def columns(report: Report) -> list[list[Rate]]:
    """Figures that two GPUs or more have, each with one rate a GPU; of bf16 and fp16 the first."""
    m = report.snapshot.measured
    found: list[list[Rate]] = []
    for kind, what in COLUMNS:
        own = [r for r in rates(m, kind) if r.what == what and r.device.startswith("cuda") and ">" not in r.device]
        if len(own) > 1 and not (what == "fp16" and any(c[0].what == "bf16" for c in found)):
            found.append(own)
    return found


def speeds(report: Report) -> dict[tuple[str, str], float]:
    """GB/s from one device to another."""
    pairs = known(report.snapshot.measured.pairs) or ()
    return {(p.source, p.target): gb_s for p in pairs if (gb_s := known(p.gb_s)) and 0 < gb_s < 1e6}


def machine_parts(report: Report) -> list[tuple[Callable[[Drawing], None], float]]:
    """What draws each part, 1104 pixels wide, and its height; none if fewer than two GPUs were measured."""
    names, found, between = gpus(report), columns(report), speeds(report)
    if len(names) < 2:
        return []
    parts: list[tuple[Callable[[Drawing], None], float]] = []
    if found:
        parts.append((lambda d: _siblings(d, report, names, found), _TOP + _ROW * len(names) + 40))
    if between:
        ends = [name for name in names if any(name in pair for pair in between)]
        parts.append((lambda d: _links(d, report, ends, between), 96 + _CELL * 0.6 * len(ends) + 20))
    return parts


def render_machine(report: Report) -> str:
    """The image; empty if there is none."""
    d, y = Drawing("machine"), 8.0
    parts = machine_parts(report)
    for index, (draw, tall) in enumerate(parts):
        d.move(_MARGIN, y)
        if index:
            d.line(0, 0, WIDTH - 2 * _MARGIN, 0, GRID)
        draw(d)
        d.end()
        y += tall
    return d.svg(WIDTH, y, f"{len(gpus(report))} GPUs side by side") if parts else ""


def _siblings(d: Drawing, report: Report, names: list[str], found: list[list[Rate]]) -> None:
    d.text(0, 22, "GPUs side by side", 15, bold=True)
    d.text(0, 40, "Medians with the spread from the 10th to the 90th percentile.", 11, MUTED)
    low = {(device, one.rate.kind, one.rate.what) for device, all_ in slower(report.snapshot).items() for one in all_}
    bottom = _TOP + _ROW * len(names)
    for index, name in enumerate(names):
        d.text(_LEFT - 10, _TOP + _ROW * index + _ROW / 2 + 4, shorten(name, 12, _LEFT - 10), 12, INK, "end", bold=True)
    wide = (WIDTH - 2 * _MARGIN - _LEFT - _BETWEEN * (len(found) - 1)) / len(found)
    for index, column in enumerate(found):
        left = _LEFT + index * (wide + _BETWEEN)
        most = max(r.value * (1 + min(r.spread_percent, 100.0) / 200) for r in column)
        x = LinearAxis(0, most, left, left + wide - 62)
        title = _TITLES.get(column[0].what, column[0].what)
        d.text(left, _TOP - 12, shorten(f"{title}, {column[0].unit}", 12, wide), 12, MUTED)
        values = sorted(r.value for r in column)
        middle = x.at(values[len(values) // 2])
        for rate in column:
            if rate.device not in names:
                continue
            top = _TOP + _ROW * names.index(rate.device)
            bad = (rate.device, rate.kind, rate.what) in low
            about = f"{rate.device} {title}: {number(rate.value)} {rate.unit}"
            d.rect(left, top + 5, x.at(rate.value) - left, _ROW - 10, LOW if bad else GOOD, about=about)
            whisker(d, x, rate, top + _ROW / 2)
            d.text(left + wide, top + _ROW / 2 + 4, number(rate.value), 11.5, INK, "end", bold=bad)
        d.line(middle, _TOP, middle, bottom, AXIS, 1, "4 3")
        d.line(left, _TOP, left, bottom, AXIS)
    d.text(_LEFT, bottom + 20, "Dashed: median of all GPUs. Orange: slower than the other GPUs.", 11, MUTED)


def _links(d: Drawing, report: Report, names: list[str], between: dict[tuple[str, str], float]) -> None:
    """Rows send, columns receive."""
    tall, left, top = _CELL * 0.6, 84.0, 84.0
    slow = {
        (str(pair[0]), str(pair[1]))
        for finding in (*report.findings, *report.remarks)
        if finding.id == "gpu-link-slow"
        for pair in finding.facts.get("pairs", ())
    }
    d.text(0, 26, "Copies between GPUs, GB/s", 15, bold=True)
    d.text(
        0,
        44,
        "Rows send, columns receive. A stronger color is faster; orange: slower than the two GPUs' link allows.",
        11,
        MUTED,
    )
    wide = min(_CELL, (WIDTH - 2 * _MARGIN - left) / max(1, len(names)))
    most = max(between.values())
    size = 11.0 if wide >= 40 else 8.0
    for row, source in enumerate(names):
        d.text(left - 10, top + tall * row + tall / 2 + 4, shorten(source, 12, left - 10), 12, INK, "end", bold=True)
        d.text(
            left + wide * (row + 0.5),
            top - 8,
            shorten(source.removeprefix("cuda:"), 12, wide),
            12,
            INK,
            "middle",
            bold=True,
        )
        for column, target in enumerate(names):
            value = between.get((source, target))
            x, y = left + wide * column, top + tall * row
            if value is None:
                d.rect(x + 1, y + 1, wide - 2, tall - 2, GRID, opacity=0.6)
                continue
            bad = (source, target) in slow
            about = f"{source} to {target}: {number(value)} GB/s"
            d.rect(
                x + 1,
                y + 1,
                wide - 2,
                tall - 2,
                LOW if bad else GOOD,
                opacity=0.5 if bad else 0.08 + 0.4 * value / most,
                about=about,
            )
            words = number(value)
            if text_width(words, size) <= wide - 2:
                d.text(x + wide / 2, y + tall / 2 + 4, words, size, INK, "middle", bold=bad)
