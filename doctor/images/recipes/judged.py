"""What the Dockerfile rules look at."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..installs import TorchInstall
from .bases import Base
from .stages import Stage, Step


class Judged(Struct, frozen=True, kw_only=True):
    """What the rules look at: the built stage, its base, the file's lines, the matrix, and the context's files."""

    stage: Stage
    base: Base
    rows: tuple[str, ...]
    m: Any
    """compat_matrix.Matrix."""
    today: tuple[tuple[Step, TorchInstall], ...] = ()
    """torch installs, each with the version and build that its installer would choose today."""
    files: dict[str, str] = {}
    """Requirement files in the build context, by the name that the Dockerfile uses."""
