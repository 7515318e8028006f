"""A small writer of SVG: shapes and text in pixels, escaped, numbers short, no outside resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from .clean import printable

Anchor: TypeAlias = Literal["start", "middle", "end"]

FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, MUTED, GRID, AXIS, PAPER = "#1f2328", "#59636e", "#e9edf1", "#aab2bb", "#ffffff"
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[] /-"), frozenset("mwMWGOQ%@")
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escape(text: str) -> str:
    """Text for an element or a quoted attribute of SVG and HTML; control characters are shown, not passed on."""
    shown = "".join(c if _allowed(c) else "?" for c in printable(text))
    return shown.translate(_ESCAPED)


def _allowed(c: str) -> bool:
    """Whether XML 1.0 may hold it."""
    return c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff"


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide the text is in a sans serif face of `size` pixels; on the generous side."""
    em = sum(0.34 if c in _NARROW else 0.9 if c in _WIDE else 0.6 for c in text)
    return em * size * (1.12 if bold else 1)


def shorten(text: str, size: float, width: float) -> str:
    """The text, cut with an ellipsis where it would be wider than `width` pixels."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Elements in the order of drawing, with an origin that panels move.

    `name` makes ids its own: several pictures may stand in one page.
    """

    def __init__(self, name: str = "") -> None:
        self._parts: list[str] = []
        self._name = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
        self._clips = 0

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = AXIS, width: float = 1, dash: str = ""
    ) -> None:
        more = f' stroke="{colour}" stroke-width="{_n(width)}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        self._parts.append(f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"{more}/>')

    def polyline(self, points: Sequence[tuple[float, float]], colour: str, width: float = 2) -> None:
        path_points = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path_points}" fill="none" stroke="{colour}" stroke-width="{_n(width)}"'
            ' stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def polygon(self, points: Sequence[tuple[float, float]], fill: str, opacity: float = 1, edge: str = "") -> None:
        path_points = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        stroke = f' stroke="{edge}" stroke-width="1.2"' if edge else ""
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self._parts.append(f'<polygon points="{path_points}" fill="{fill}"{faint}{stroke}/>')

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        edge: str = "",
        round_: float = 0,
        opacity: float = 1,
        about: str = "",
    ) -> None:
        stroke = f' stroke="{edge}"' if edge else ""
        corners = f' rx="{_n(round_)}"' if round_ else ""
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self._parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(0, width))}" height="{_n(max(0, height))}" fill="{fill}"'
            f"{faint}{stroke}{corners}" + (f"><title>{escape(about)}</title></rect>" if about else "/>")
        )

    def circle(self, x: float, y: float, radius: float, fill: str, edge: str = PAPER, about: str = "") -> None:
        self._parts.append(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}" stroke="{edge}" stroke-width="1.2"'
            + (f"><title>{escape(about)}</title></circle>" if about else "/>")
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12,
        colour: str = INK,
        anchor: Anchor = "start",
        bold: bool = False,
        turn: float = 0,
        halo: bool = False,
    ) -> None:
        """`turn` in degrees about the point; a halo keeps a label readable over lines."""
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += ' font-weight="600"' if bold else ""
        more += f' transform="rotate({_n(turn)} {_n(x)} {_n(y)})"' if turn else ""
        more += f' paint-order="stroke" stroke="{PAPER}" stroke-width="3" stroke-linejoin="round"' if halo else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{colour}"{more}>{escape(text)}</text>'
        )

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        """Until `end`, nothing is drawn outside of this box."""
        self._clips += 1
        name = f"clip-{self._name}-{self._clips}"
        box = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"/>'
        self._parts.append(f'<clipPath id="{name}">{box}</clipPath><g clip-path="url(#{name})">')

    def move(self, x: float, y: float) -> None:
        """Until `end`, the origin is here."""
        self._parts.append(f'<g transform="translate({_n(x)} {_n(y)})">')

    def end(self) -> None:
        self._parts.append("</g>")

    def svg(self, width: float, height: float, title: str) -> str:
        """The whole picture on paper of its own: it reads the same in light and dark viewers."""
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}"'
            f' height="{_n(height)}" font-family="{escape(FONT)}" role="img">\n<title>{escape(title)}</title>\n'
            f'<rect width="{_n(width)}" height="{_n(height)}" fill="{PAPER}"/>\n{body}\n</svg>\n'
        )
