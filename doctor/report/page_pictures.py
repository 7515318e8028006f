"""The pictures of a report that measured something, as SVG."""

from __future__ import annotations

from ..judge.report import Report
from .plot_links import render_links
from .plot_machine import render_machine
from .plot_soak import render_soak
from .plot_svg import drawable, render_svg


def pictures(report: Report) -> list[str]:
    """Each as an element of its own: all GPUs, links, the soak, and one for each device that was measured."""
    found = [render_machine(report), render_links(report), render_soak(report)]
    found += [render_svg(report, device) for device in drawable(report)]
    return [picture.strip() for picture in found if picture]
