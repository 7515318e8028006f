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


def ascii_only(text: str) -> str:
    """`text` in ASCII: known signs by their nearest spelling, the rest as `?`."""
    if text.isascii():
        return text
    return "".join(c if c < "\x80" else _ASCII.get(c, "?") for c in text)
