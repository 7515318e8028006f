"""The Pythons for which a torch release and packages installed with it all have wheels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from .torchs import release_row
from .wish import allowed

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store


def shared_pythons(m: Store, torch: str, platform: str, rows: Iterable[Row]) -> tuple[str, ...]:
    """The Pythons ('3.12', '3.13t') that torch's wheels for a platform and each of these rows support, oldest first."""
    release = release_row(m, torch)
    found = cast("tuple[str, ...]", getattr(release, f"pythons_{platform}", ()))
    for row in rows:
        found = tuple(one for one in found if supports_python(row, one))
    return found


def supports_python(row: Row, python: str) -> bool:
    """Whether a package's row allows a Python: by the wheels that it lists, and by its requirement."""
    listed = cast("tuple[str, ...]", getattr(row, "pythons", ()))
    required = cast("str", getattr(row, "requires_python", ""))
    return (not listed or python in listed) and (not required or allowed(required, python.rstrip("t")))
