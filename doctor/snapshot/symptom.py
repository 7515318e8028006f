"""What a text says that is not a fact about a machine: a message, and what it decides if it decides by itself."""

from __future__ import annotations

from msgspec import Struct


class Symptom(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message or statement of a pasted text, as the error catalogue knows it."""

    id: str
    """Of the catalogue's entry."""
    line: int = 0
    """Line of the input, from 1."""
    text: str = ""
    """That line, cut."""
    means: str = ""
    """In our words, for the title of a finding."""
    decides: str = ""
    """Id of the check that this message decides, alone or with the other facts of the same text; empty: it suggests."""
    suggests: tuple[str, ...] = ()
    """Ids of the checks whose cause it allows, likeliest first."""
    mention: bool = False
    """It speaks of a thing and does not say that it fails."""
    unknown: bool = False
    """The line reports an error that no message of the catalogue explains."""
    happened: bool = False
    """It shows that what the check only warns of has happened."""
    warns: bool = False
    """It proves what there is, and not that it does harm: a warning, of a check that fails too."""
    exact: bool = False
    """Its own fix is more exact than the check's."""
    of_program: bool = False
    """It speaks of the program, or of nothing at all, and not of the environment."""
    fix: str = ""
    command: str = ""
    where: str = "host"


class Ranked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cause that the words of a text make likely, by the cases that they are like."""

    cause: str
    """Id of a check; `healthy` where nothing points at the environment."""
    share: float
    """From 0 to 1; over all causes 1."""
    line: int = 0
    """The line that weighs most for it, from 1; 0 if none does."""
    text: str = ""


class Similar(Struct, frozen=True, kw_only=True):
    """A solved thread whose text is like this one."""

    title: str
    cause: str
    """Id of a check; `healthy` where it was no fault of the environment."""
    fix: str
    """What helped there."""
    url: str
    score: float
    """Cosine of the two texts, 0 to 1."""


class Unread(Struct, frozen=True):
    """What of a text was not read in full, in lines of the input."""

    lines: int
    read: int
    alike: int
    """Like one that was read, or like it but for its numbers."""
    silent: int
    """Without any word of a fault or of our subject."""
    no_text: int
    """Bytes of another kind."""
    left: int
    """Lines with such a word that were too many, and lines that were not even searched."""
    between: tuple[int, int]
    """The first and the last of these."""
    cut: int
    """Lines too long to be read to their end."""
