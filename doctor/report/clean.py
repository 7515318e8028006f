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


_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Controls (C0 but tabs and line ends, DEL, C1), and what turns the direction of writing around or cannot be seen."""
_STYLE = "\x1b\\[[0-9;]{0,20}m"
"""How a terminal selects a color."""
_PLAIN = bytes(range(0x20, 0x7F)) + b"\t\n"


def visible(text: str, styled: bool = False) -> str:
    """A text with hidden characters as JSON escapes them: in JSON the same values, anywhere nothing that acts on a
    terminal or misleads an eye. `styled`: colors of our own are kept."""
    import re

    pattern = f"{_STYLE}|{_HIDDEN}" if styled else _HIDDEN
    return re.sub(pattern, lambda found: found[0] if len(found[0]) > 1 else _escape(found[0]), text)


def _escape(c: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(c.encode("utf-16", "surrogatepass")[2:]).cast("H"))


def visible_bytes(data: bytes, styled: bool = False) -> bytes:
    """The same for what is about to be written; data that is not UTF-8 is an image, not text."""
    if data.isascii() and not data.translate(None, _PLAIN):
        return data
    try:
        return visible(data.decode("utf-8"), styled).encode("utf-8")
    except UnicodeDecodeError:
        return data


def ascii_only(text: str) -> str:
    """`text` in ASCII: known signs by their nearest spelling, the rest as `?`."""
    if text.isascii():
        return text
    return "".join(c if c < "\x80" else _ASCII.get(c, "?") for c in text)
