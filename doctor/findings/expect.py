"""How many GPUs, and of which model, the user expects."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct


class Expect(Struct, frozen=True):
    """`--expect`: gpu (default), any, none, or a count and model such as 8xH100."""

    kind: Literal["gpu", "any", "none"] = "gpu"
    count: int = 0
    """0: no count was given."""
    model: str = ""
    """Part of the GPU's name, as given."""

    @classmethod
    def parse(cls, text: str) -> Expect:
        """Parse `gpu`, `any`, `none`, `8`, `8xH100`, `H100`; ValueError with one line on anything else."""
        word = text.strip()
        if word.lower() in ("gpu", "any", "none"):
            return cls(kind=word.lower())  # type: ignore[arg-type]
        found = re.fullmatch(r"(?:(\d{1,4})(?:\s*[xX×]\s*|$))?([A-Za-z][\w .+-]{0,60})?", word)
        if not word or not found or (found[1] is not None and int(found[1]) == 0):
            raise ValueError(f"--expect {text!r}: must be gpu, any, none, a count such as 8, or a model such as 8xH100")
        return cls(kind="gpu", count=int(found[1] or 0), model=(found[2] or "").strip())

    def __str__(self) -> str:
        if self.count or self.model:
            return f"{self.count}x{self.model}" if self.count and self.model else str(self.count or self.model)
        return self.kind
