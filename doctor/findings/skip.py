"""Why a check found nothing to judge: it does not apply here, or it was not examined (DESIGN rule 9)."""

from __future__ import annotations

from typing import Literal, TypeAlias

SkipKind: TypeAlias = Literal["does-not-apply", "not-examined"]


class Skip(Exception):
    """Raised by a check that does not apply here; the text is the reason."""

    def __init__(self, reason: str, without: str = "") -> None:
        """`without`: what it judges and what is not here, `gpu` (with its driver) or a package.

        Where the user expects that, the check was not examined.
        """
        super().__init__(reason)
        self.without = without


class NotExamined(Skip):
    """Raised by a check that applies here, but whose facts were not examined or measured."""
