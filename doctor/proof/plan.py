"""What a level of proof consists of, and how long its parts may take. Seconds throughout."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["proof", "quick", "standard", "full"]

TOTAL_S: dict[Level, float] = {"proof": 60.0, "quick": 120.0, "standard": 240.0, "full": 600.0}
"""Until when all of it has to be over, where the user says nothing else."""
SPEED: dict[Level, tuple[str, float]] = {"quick": ("quick", 15.0), "standard": ("quick", 15.0), "full": ("full", 90.0)}
"""torch_speed's own level and the time that it takes for it, the import left out."""
TRAINING: dict[Level, tuple[str, float]] = {"standard": ("standard", 25.0), "full": ("full", 90.0)}
IMPORT_S = 60.0
"""Longest wait for `import torch`: from a cold network file system it takes that long."""
STEP_S = {
    "driver_proof": 30.0, "torch_proof": 30.0, "collective_proof": 60.0, "torch_speed": 45.0, "training_speed": 60.0,
}  # fmt: skip
"""Longest silence of an agent: a kernel that never ends is told from a slow machine by it."""
LEAST_S = 2.0
"""With less time left than this nothing is begun."""


class Plan(Struct, frozen=True, kw_only=True):
    """One proof. `commands`: agent to its command without arguments; `left_out`: agent to why it is not started."""

    level: Level
    device: str = "cuda"
    """`cuda` (every visible GPU), `cuda:1`, `cpu`."""
    total_s: float
    commands: dict[str, list[str]]
    left_out: dict[str, tuple[str, str]] = {}
    """(reason as in Missing, the words)."""
    devices: int | None = None
    """How many libcuda counted, where that is known."""

    def silence_s(self, agent: str, step: str) -> float:
        """How long an agent may be silent in a step."""
        if step.startswith("import"):
            return min(IMPORT_S, self.total_s / 2)
        return min(STEP_S[agent], self.total_s / 3)


def device_of(text: str) -> str:
    """`cuda`, `cuda:N` or `cpu` as it is; ValueError with one line on anything else."""
    word = text.strip().lower()
    if word in ("cuda", "cpu") or re.fullmatch(r"cuda:\d{1,3}", word):
        return word
    raise ValueError(f"--device {text!r}: say cuda (every visible GPU), cuda:N or cpu")


def ordinal_of(device: object) -> int | None:
    """2 of `cuda:2` (or of 2); None of anything else."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device if 0 <= device < 1000 else None
    found = re.fullmatch(r"cuda:(\d{1,3})", device) if isinstance(device, str) else None
    return int(found[1]) if found else None
