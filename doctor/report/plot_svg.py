"""The measurements as one picture: roofline, matrix products, batch sweep; of several GPUs all of them side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..judge.report import Report
from ..snapshot.device_names import in_short
from . import facts
from .figures import devices, name_of, step_parts, sweep
from .plot_links import draw_links, links_height
from .plot_machine import machine_parts
from .plot_matmul import draw_matmul, has_matmul
from .plot_roofline import draw_roofline, has_roofline
from .plot_soak import HEIGHT, draw_soak, has_soak
from .plot_sweep import draw_sweep, has_sweep
from .svg import GRID, MUTED, Drawing, shorten

_MARGIN, _GAP, _HEAD, _FOOT = 28, 34, 70, 30
_WIDTH = 1160
_INNER = _WIDTH - 2 * _MARGIN
_NAME = 30
"""Height of a GPU's name over its panels."""
_SMALL, _IN_A_ROW = 340, 2
"""Products of the GPUs behind the first."""


class Panel(NamedTuple):
    """One part of the picture and its size."""

    draw: Callable[[Drawing], None]
    width: float
    height: float


def panels(report: Report, device: str) -> list[list[Panel]]:
    """Rows of panels for what was measured on this device."""
    m = report.snapshot.measured
    top: list[Panel] = []

    def panel(draw: Callable[[Drawing, Report, str, float, float], None], width: float, height: float) -> Panel:
        return Panel(lambda d: draw(d, report, device, width, height), width, height)

    if has_roofline(m, device):
        top.append(panel(draw_roofline, _INNER * 0.61 if has_matmul(m, device) else _INNER, 440))
    if has_matmul(m, device):
        top.append(panel(draw_matmul, _INNER - _INNER * 0.61 - _GAP if top else _INNER, 440 if top else 300))
    rows = [top] if top else []
    if has_sweep(m, device):
        rows.append([panel(draw_sweep, _INNER, 490 if any(step_parts(p) for p in sweep(m, device)) else 330)])
    return rows


def drawable(report: Report) -> list[str]:
    """Devices of which there is something to draw, GPUs first."""
    return [name for name in devices(report.snapshot.measured) if panels(report, name)]


def together(report: Report) -> list[list[Panel]]:
    """All of them: side by side, the first one as it would be alone, the products of the others."""
    found = drawable(report)
    rows = [[Panel(draw, _INNER, tall)] for draw, tall in machine_parts(report)]
    if tall := links_height(report):
        rows.append([Panel(lambda d: draw_links(d, report), _INNER, tall)])
    if has_soak(report):
        rows.append([Panel(lambda d: draw_soak(d, report), _INNER, HEIGHT)])
    for index, row in enumerate(panels(report, found[0]) if found else ()):
        rows.append(_under(_title(report, found[0]), row) if index == 0 and len(found) > 1 else row)
    wide = (_INNER - _GAP * (_IN_A_ROW - 1)) / _IN_A_ROW
    small = [
        _under(_title(report, name), [Panel(partial(_products, report, name, wide), wide, _SMALL)])
        for name in found[1:]
        if has_matmul(report.snapshot.measured, name)
    ]
    for first in range(0, len(small), _IN_A_ROW):
        rows.append([panel for one in small[first : first + _IN_A_ROW] for panel in one])
    return rows


def _products(report: Report, device: str, width: float, d: Drawing) -> None:
    draw_matmul(d, report, device, width, _SMALL)


def _title(report: Report, device: str) -> str:
    return ", ".join(word for word in (device, name_of(report, device)) if word)


def _under(words: str, row: list[Panel]) -> list[Panel]:
    """The panels below these words."""

    def lowered(panel: Panel, above: str) -> Panel:
        def draw(d: Drawing) -> None:
            d.text(0, 16, shorten(above, 16, panel.width), 16, bold=True)
            d.move(0, _NAME)
            panel.draw(d)
            d.end()

        return Panel(draw, panel.width, panel.height + _NAME)

    return [lowered(panel, words if index == 0 else "") for index, panel in enumerate(row)]


def render_svg(report: Report, device: str = "") -> str:
    """The picture of one device, or of all that were measured.

    Raises ValueError with one line if nothing was measured that can be drawn.
    """
    found = [name for name in drawable(report) if device in ("", name)]
    rows = panels(report, device) if device and found else [] if device else together(report)
    if not rows:
        about = f" on {device}" if device else ""
        raise ValueError(f"nothing to draw: no matmul, memory bandwidth, batch sweep or collective was measured{about}")
    height = _HEAD + sum(max(p.height for p in row) + _GAP for row in rows) + _FOOT
    one = found[0] if len(found) == 1 else ""
    d = Drawing(one or "all")
    title = name_of(report, one) or ("CPU" if one == "cpu" else facts.gpus(report.snapshot))
    d.text(_MARGIN, 36, shorten(title, 20, _WIDTH - 2 * _MARGIN), 20, bold=True)
    words = [one or in_short(found), facts.torch(report.snapshot), facts.driver(report.snapshot)]
    words.append((report.target.gathered_at or report.generated_at)[:10])  # measured then, judged perhaps much later
    d.text(_MARGIN, 57, shorten("  ·  ".join(w for w in words if w), 12, _WIDTH - 2 * _MARGIN), 12, MUTED)
    y = float(_HEAD + 10)
    for row in rows:
        d.line(_MARGIN, y - 10, _WIDTH - _MARGIN, y - 10, GRID)
        x = float(_MARGIN)
        for panel in row:
            d.move(x, y + 6)
            panel.draw(d)
            d.end()
            x += panel.width + _GAP
        y += max(p.height for p in row) + _GAP
    d.text(_MARGIN, height - 14, f"gpudoctor {report.tool.version}: medians", 11, MUTED)
    return d.svg(_WIDTH, height, f"Measurements of {title}")
