"""A build of torch that fits a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .wish import Chosen

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_torch import TorchBuild


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A build that fits. grade: native, minor-version, forward-compat (needs a package from NVIDIA), or no-driver;
    chosen: what answers each wish except torch; gives_up: sentences; index: '' if a plain install gives this build."""

    build: TorchBuild
    grade: str
    why: str
    served: dict[str, str]
    chosen: tuple[Chosen, ...] = ()
    companions: dict[str, str] = {}
    gives_up: tuple[str, ...] = ()
    index: str = ""
    compat_package: str = ""
    rows: tuple[Row, ...] = ()
