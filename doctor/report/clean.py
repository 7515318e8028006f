"""Facts come from anywhere: no control character of theirs may reach a terminal, a log or a ticket."""

from __future__ import annotations

_ASCII = {
    "✓": "+", "✗": "x", "▲": "!", "●": "*", "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "‑": "-", "×": "x",
    "≥": ">=", "≤": "<=", "•": "*", "─": "-", "│": "|", "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "µ": "u",
    "°": " deg ", "·": "-", "└": "`", "▸": ">", "█": "#", "▓": "=", "▒": "+", "░": ".", "▚": "%", "▞": "o", "▏": "|",
    "▎": "|", "▍": "|", "▌": "#", "▋": "#", "▊": "#", "▉": "#",
}  # fmt: skip


def printable(text: str, keep_lines: bool = False) -> str:
    """`text` with control characters shown as escapes; line ends become spaces unless they are kept."""
    if text.isprintable():
        return text
    out = []
    for c in text:
        if c.isprintable() or (c == "\n" and keep_lines):
            out.append(c)
        elif c in " \t\r\n":
            out.append(" ")
        else:
            out.append(c.encode("unicode_escape", "backslashreplace").decode("ascii"))
    return "".join(out)


_HIDDEN = "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
"""DEL, C1 controls, and what turns the direction of writing around or cannot be seen."""


def json_escaped(data: bytes) -> bytes:
    """JSON with such characters as escapes: the same values, and nothing acts on a terminal or misleads an eye."""
    if data.isascii() and b"\x7f" not in data:
        return data
    import re

    return re.sub(_HIDDEN, lambda found: f"\\u{ord(found[0]):04x}", data.decode("utf-8")).encode("utf-8")


def ascii_only(text: str) -> str:
    """`text` in ASCII: known signs by their nearest spelling, the rest as `?`."""
    if text.isascii():
        return text
    return "".join(c if c < "\x80" else _ASCII.get(c, "?") for c in text)
