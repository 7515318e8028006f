"""What the NVIDIA kernel driver says of itself in /proc/driver/nvidia."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from .lazy import lazy

_NVRM = lazy(r"^NVRM version:\s*(.*)$", re.MULTILINE)
_VERSION = lazy(r"(?<![\w.])(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)(?![\w.])", re.ASCII)


class KernelDriver(NamedTuple):
    """The loaded nvidia.ko. ``flavour``: ``open`` or ``proprietary``; ``line``: as the module says it."""

    version: Optional[str]
    flavour: str
    line: str


def parse_driver_version(text: str) -> Optional[KernelDriver]:
    """/proc/driver/nvidia/version; None where it is not that file."""
    match = _NVRM.search(text[:8192])
    if not match:
        return None
    line = match.group(1).strip()
    version = _VERSION.search(line)
    return KernelDriver(
        version.group(1) if version else None, "open" if "Open Kernel Module" in line else "proprietary", line
    )
