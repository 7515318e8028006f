"""Reports as pictures: `--format svg|html` and `--plot FILE`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..guard import Refusal
from ..judge.report import Report
from .write import echo, write

KINDS = ("svg", "html")


def picture(report: Report, kind: str, preface: Sequence[str] = ()) -> bytes:
    """As SVG, or as a page with this preface. Raises Refusal if nothing was measured that can be plotted."""
    try:
        if kind == "svg":
            from ..report.plot_svg import render_svg

            text = render_svg(report)
        else:
            from ..report.page import render_html
            from .assess import about

            text = render_html(report, *about(report), preface)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return text.encode("utf-8", "backslashreplace")


def plot(report: Report, path: str, saved: bool) -> None:
    """Write the picture to the file. If there is nothing to plot, refuse (`saved`: the report is already in a file), or
    say so on stderr; the report follows."""
    try:
        data = picture(report, kind_of(path))
    except Refusal as refusal:
        if saved:
            raise
        echo(f"gpudoctor: --plot: {refusal}", err=True)
        return
    write(data, path)


def kind_of(path: str) -> str:
    """`svg` or `html`, from the file's name. Raises Refusal for any other name."""
    kind = path.rpartition(".")[2].lower()
    if kind not in KINDS:
        raise Refusal(f"--plot {path}: the file's name must end in .svg or .html")
    return kind


def writable(flags: dict[str, Any]) -> None:
    """Refuse now what could not be written after minutes of measuring."""
    for flag, path in (("--plot", flags["plot"]), ("--output", flags["output"])):
        if path in (None, "-"):
            continue
        folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
        nearest = path if os.path.lexists(path) else folder
        if not os.access(nearest, os.W_OK) or os.path.isdir(path) or not os.path.isdir(folder):  # noqa: PTH112
            raise Refusal(f"{flag} {path}: cannot be written")
