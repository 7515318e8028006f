"""The measurements as one picture: roofline, matrix products, batch sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..judge.report import Report
from . import facts
from .figures import devices, name_of, step_parts, sweep
from .plot_matmul import draw_matmul, has_matmul
from .plot_roofline import draw_roofline, has_roofline
from .plot_sweep import draw_sweep, has_sweep
from .svg import GRID, MUTED, Drawing, shorten

_MARGIN, _GAP, _HEAD, _FOOT = 28, 34, 70, 30
_WIDTH = 1160


class Panel(NamedTuple):
    """One part of the picture and its size."""

    draw: Callable[[Drawing, Report, str, float, float], None]
    width: float
    height: float


def panels(report: Report, device: str) -> list[list[Panel]]:
    """Rows of panels for what was measured on this device."""
    m = report.snapshot.measured
    inner = _WIDTH - 2 * _MARGIN
    top: list[Panel] = []
    if has_roofline(m, device):
        top.append(Panel(draw_roofline, inner * 0.61 if has_matmul(m, device) else inner, 440))
    if has_matmul(m, device):
        top.append(Panel(draw_matmul, inner - inner * 0.61 - _GAP if top else inner, 440 if top else 300))
    rows = [top] if top else []
    if has_sweep(m, device):
        rows.append([Panel(draw_sweep, inner, 490 if any(step_parts(p) for p in sweep(m, device)) else 330)])
    return rows


def drawable(report: Report) -> list[str]:
    """Devices of which there is something to draw, GPUs first."""
    return [name for name in devices(report.snapshot.measured) if panels(report, name)]


def render_svg(report: Report, device: str = "") -> str:
    """The picture of one device: `device`, else the first that was measured.

    Raises ValueError with one line where nothing was measured that can be drawn.
    """
    found = drawable(report)
    if not found or (device and device not in found):
        about = f" on {device}" if device else ""
        raise ValueError(f"nothing to draw: no matrix product, memory bandwidth or batch sweep was measured{about}")
    device = device or found[0]
    rows = panels(report, device)
    height = _HEAD + sum(max(p.height for p in row) + _GAP for row in rows) + _FOOT
    d = Drawing(device)
    title = name_of(report, device) or ("CPU" if device == "cpu" else facts.gpus(report.snapshot))
    d.text(_MARGIN, 36, shorten(title, 20, _WIDTH - 2 * _MARGIN), 20, bold=True)
    words = [device, facts.torch(report.snapshot), facts.driver(report.snapshot), report.generated_at[:10]]
    d.text(_MARGIN, 57, shorten("  ·  ".join(w for w in words if w), 12, _WIDTH - 2 * _MARGIN), 12, MUTED)
    y = float(_HEAD + 10)
    for row in rows:
        d.line(_MARGIN, y - 10, _WIDTH - _MARGIN, y - 10, GRID)
        x = float(_MARGIN)
        for panel in row:
            d.move(x, y + 6)
            panel.draw(d, report, device, panel.width, panel.height)
            d.end()
            x += panel.width + _GAP
        y += max(p.height for p in row) + _GAP
    others = len(found) - 1
    more = f"; {others} more device{'s' if others > 1 else ''} in the report" if others else ""
    d.text(_MARGIN, height - 14, f"gpudoctor {report.tool.version}: medians{more}", 11, MUTED)
    return d.svg(_WIDTH, height, f"Measurements of {title}")
