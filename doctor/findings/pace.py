"""What may set the pace of a watched run; apart from what judges it, since every report names the type."""

from __future__ import annotations

from typing import Literal, TypeAlias

Pace: TypeAlias = Literal["gpu", "waiting", "launches", "copies", "cpu", "dataloader", "sleep", "unclear", "unknown"]
