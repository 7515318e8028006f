"""Steps that install what only a found configuration file names, which is not trusted: each says so itself."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..findings import Fix, Step
from ..findings.strangers import NOT_TRUSTED


def named_by(path: str, count: int = 1) -> str:
    """The sentence for such a step; `count`: of the packages that it installs."""
    what, them = ("this package", "it") if count == 1 else ("these packages", "them")
    return f"Only {path} names {what}, {NOT_TRUSTED}: check {what} before you install {them}."


def required_by(steps: Sequence[Step], path: str) -> list[Step]:
    """The steps with the sentence that only the file requires them."""
    words = f"Only {path} requires this, {NOT_TRUSTED}."
    return [replace(one, text=f"{one.text} {words}") for one in steps]


def marked(fix: Fix, path: str) -> Fix:
    """The fix with the file in its title, and the sentence in each step."""
    steps = [replace(one, text=f"{one.text} {named_by(path)}") for one in fix.steps]
    return replace(fix, title=f"{fix.title} (named only by {path}, which is not trusted)", steps=tuple(steps))
