"""GPUs whose names are close to a misspelled one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store


def unlisted_gpu(m: Store, name: str) -> str:
    """The sentence for a GPU that is not listed, with up to three names that may be meant."""
    from difflib import get_close_matches

    short = {row.name.removeprefix("NVIDIA ").removeprefix("GeForce ").upper(): row.name for row in m.gpus}
    plain = re.sub(r"(?i)\b(nvidia|geforce)\b|[-_]+", " ", name).strip()
    found = get_close_matches(plain.upper(), list(short), n=3, cutoff=0.6)
    hint = f"; did you mean {', '.join(short[key] for key in found)}?" if found else ""
    return f"GPU {name!r} is not listed in this matrix{hint}"
