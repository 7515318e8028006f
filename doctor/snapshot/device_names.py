"""torch's names of GPUs: `cuda:2`."""

from __future__ import annotations

import re
from collections.abc import Iterable


def ordinal_of(device: object) -> int | None:
    """2 of `cuda:2` (or of 2); None of anything else."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device if 0 <= device < 1000 else None
    found = re.fullmatch(r"cuda:(\d{1,3})", device) if isinstance(device, str) else None
    return int(found[1]) if found else None


def in_short(devices: Iterable[str]) -> str:
    """`cuda:1-3, cuda:5` of the names."""
    numbers = sorted({number for name in devices if (number := ordinal_of(name)) is not None})
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"cuda:{run[0]}-{run[-1]}" if len(run) > 1 else f"cuda:{run[0]}" for run in runs)
