"""A fact is a value or `Missing(reason, detail)`: could-not-look is a typed outcome, never a default."""

from __future__ import annotations

from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

from msgspec import Struct, field

Reason: TypeAlias = Literal["absent", "denied", "timeout", "error", "not-asked", "conflict", "recheck"]
"""Why a fact is missing.

absent: looked, and there is none (no such file, no such library); denied: no permission; timeout: no answer within
the deadline; error: an answer that is an error or cannot be read; not-asked: nobody looked (left out by a flag, or
the input has no such section); conflict: witnesses disagree; recheck: only known after a step of a fix has run.
"""


class Missing(Struct, frozen=True, omit_defaults=True):
    """A fact that is not known, and why."""

    reason: Reason = field(name="missing")
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


NOT_ASKED = Missing("not-asked")
ABSENT = Missing("absent")

T = TypeVar("T")


class NeedsFact(Exception):
    """Raised by `need` inside a check: the check is UNKNOWN with this reason."""

    def __init__(self, name: str, missing: Missing) -> None:
        super().__init__(f"{name}: {missing}")
        self.name = name
        self.missing = missing


def need(name: str, value: T | Missing) -> T:
    """Return the value, or raise `NeedsFact(name, missing)`; `name` is the fact's path such as `driver.cu_init`."""
    if isinstance(value, Missing):
        _raise(name, value)
    return value


def known(value: T | Missing) -> T | None:
    """The value, or None if it is missing (for facts that only enrich a message)."""
    return None if isinstance(value, Missing) else value


def _raise(name: str, value: Missing) -> NoReturn:
    raise NeedsFact(name, value)


class Section(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A group of facts; every field defaults to `Missing('not-asked')` or to an empty value."""

    def with_(self, **changes: Any) -> Any:
        """A copy with these fields changed."""
        from msgspec.structs import replace

        return replace(self, **changes)
