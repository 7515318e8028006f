"""The error that the user has seen: what torch said when it was asked, in its own words."""

from __future__ import annotations

import re

from ..findings import Finding
from ..snapshot import Snapshot, known

_OF_TORCH = ("gpu-path-not-available", "torch-import-broken", "cuda-init-failed")
_PASSING = (
    "CUDA kernel errors might be",
    "For debugging consider",
    "Compile with",
    "Device-side assertion",
    "Search for",
)
"""Beginnings of lines that torch adds to every CUDA error."""


def own_error(root: Finding, under: list[Finding], s: Snapshot) -> str:
    """One line; '' where torch said nothing, or where the finding's own words hold it."""
    if not any(f.id in _OF_TORCH for f in (root, *under)):
        return ""
    run = s.torch_run
    for fact in (run.import_error, run.first_call_error, run.kernel_error):
        line = next(
            (row for row in map(str.strip, (known(fact) or "").splitlines()) if row and not row.startswith(_PASSING)),
            "",
        )
        line = re.sub(r"^device \d+: ", "", line)
        if line:
            return "" if line in f"{root.title} {root.detail}" else line
    return ""
