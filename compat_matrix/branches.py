"""Questions about driver branches: which support a GPU, which to install, and which have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .code import compute_capability
from .rows_driver import DriverBranch
from .versions import numbers

if TYPE_CHECKING:
    from .drivers import Platform
    from .rows_code import Capability
    from .store import Store


def branch_to_install(
    m: Store, capabilities: Sequence[str], floor: int = 0, today: str = "", platform: Platform = "linux"
) -> DriverBranch | None:
    """The lowest branch from `floor` on that supports all these GPUs and has not ended; None: there is none.

    today: YYYY-MM-DD, else the matrix's date. Production and long-term branches come before short-lived ones. On
    Windows `floor` is a Windows driver number.
    """
    today = today or m.version.replace(".", "-")
    rows = [
        row
        for row in branches_for(m, capabilities, platform)
        if not branch_ended(m, row, today)
        and ((row.windows_last or 0) if platform == "windows" else row.branch) >= floor
    ]
    return min(rows, key=lambda row: (row.type not in ("production", "lts"), row.branch), default=None)


def drives(row: DriverBranch, gpu: Capability) -> bool:
    """Whether a branch supports a GPU: from its first branch (unlisted: the CUDA that first compiles for it) to its
    last."""
    if numbers(gpu.cc) < numbers(row.min_compute_capability):
        return False
    if not gpu.first_driver and numbers(gpu.first_toolkit) > numbers(row.cuda):
        return False
    return (gpu.first_driver or 0) <= row.branch <= (gpu.last_driver or 9999)


def branches_for(m: Store, capabilities: Sequence[str], platform: Platform = "linux") -> tuple[DriverBranch, ...]:
    """Every listed branch that supports all these GPUs, oldest first, ended or not: the last is the newest of them."""
    gpus = [row for cc in capabilities if (row := compute_capability(m, cc))]
    rows = [row for row in m.drivers if platform == "linux" or row.windows_last]
    return tuple(sorted((r for r in rows if all(drives(r, gpu) for gpu in gpus)), key=lambda row: row.branch))


def branch_ended(m: Store, row: DriverBranch, today: str) -> bool | None:
    """Whether the branch's end of life is before `today` (YYYY-MM-DD). A branch without a date has ended when a later
    one has: only the newest branch gets updates without a date. None: not known."""
    if row.end_of_life:
        return today > (row.end_of_life if len(row.end_of_life) == 10 else row.end_of_life + "-31")
    later = (one for one in m.drivers if one.branch > row.branch and one.end_of_life)
    return True if any(branch_ended(m, one, today) for one in later) else None
