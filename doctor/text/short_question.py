"""Which short texts ask a question: read with the text, answered when it is judged."""

from __future__ import annotations

from ..formats.lazy import lazy

_MOST_LINES, _MOST_CHARS = 4, 300
_NO_QUESTION = lazy(
    r"(?i)error|traceback|exception|fail|warning|cannot|can't|not (?:work|found|available)|no kernel|:\\|/"
)


def question_of(text: str) -> str:
    """The text, if it is short enough to be a question and one can be answered; else ''."""
    rows = [row for row in text.splitlines() if row.strip()]
    wording = " ".join(" ".join(rows).split())
    if not 0 < len(rows) <= _MOST_LINES or len(text) > _MOST_CHARS:
        return ""
    if reports_no_error(wording):
        return wording
    from .plain_question import plain

    return wording if plain(wording) else ""


def reports_no_error(question: str) -> bool:
    """Whether the matrix may answer it: nothing in it says that something fails."""
    return not _NO_QUESTION.search(question)
