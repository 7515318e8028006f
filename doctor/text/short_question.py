"""Which short texts ask a question: read with the text, answered when it is judged."""

from __future__ import annotations

from ..formats.lazy import lazy

_MOST_LINES, _MOST_CHARS = 4, 300
_NO_QUESTION = lazy(
    r"(?i)error|traceback|exception|fail|warning|cannot|can't|not (?:work|found|available)|no kernel|:\\|/"
)
_SLOW = lazy(
    r"(?i)\b(?:gpu|training|inference|model)\b.{0,60}\b(?:slow|slower|idle)\b|\b(?:slow|low)\b.{0,40}\b(?:gpu|training)\b"
    r"|\b\d{1,2}\s?%.{0,20}\bgpu\b|\bgpu\b.{0,30}\b\d{1,2}\s?%"
)


def question_of(text: str) -> str:
    """The text, if it is short enough to be a question and reports no error; else ''."""
    rows = [row for row in text.splitlines() if row.strip()]
    short = 0 < len(rows) <= _MOST_LINES and len(text) <= _MOST_CHARS
    return " ".join(" ".join(rows).split()) if short and not _NO_QUESTION.search(text) else ""


def is_about_speed(question: str) -> bool:
    """Whether it is about a slow GPU or training: only a measurement answers that."""
    return bool(_SLOW.search(question))
