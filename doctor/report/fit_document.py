"""The answer of `gpudoctor fit` as sections with tables, for a page and for Markdown."""

from __future__ import annotations

from typing import Any

from ..fit.question import Answer, Question
from .fit import NEEDED, OPTIONS, OPTIONS_HEAD, headline, needed, options, question_words, sending
from .fit_pace import OTHERS, OTHERS_HEAD, PACE, other_gpus, pace_words
from .lines import plain as as_text
from .measured_sheets import Sheet
from .page_plain import part, plain


def fit_document(q: Question, found: Answer) -> dict[str, Any]:
    """What each part needs, the options, what sets the pace."""
    model, *work = question_words(q)
    memory = Sheet("", ("part", "memory", ""), needed(q, found), (1,))
    parts = [part(texts=[*work, *q.notes]), part(NEEDED, sheets=[memory])]
    if len(found.rungs) > 1:
        parts.append(part(OPTIONS, [sending(q)], [Sheet("", OPTIONS_HEAD, options(q, found), (1, 2, 3))]))
    if words := pace_words(q, found):
        parts.append(part(PACE, words))
    if others := other_gpus(q, found):
        parts.append(part(OTHERS, sheets=[Sheet("", OTHERS_HEAD, others, (1, 3, 4))]))
    return plain(model, " ".join(as_text(headline(q, found, 100)).split()), parts)
