"""Steps that only a found configuration file asks for, which is not trusted: their text is shown wherever they are."""

from __future__ import annotations

from .finding import Step

NOT_TRUSTED = "and that file is not trusted"


def is_of_stranger(step: Step) -> bool:
    """Whether its command may never be shown without its text."""
    return NOT_TRUSTED in step.text
