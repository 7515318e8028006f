"""Parameter counts as people write them."""

from __future__ import annotations

import re

from ..guard import Refusal

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_FEWEST, _MOST = 1e5, 1e16


def parameter_count(text: str) -> float:
    """Parameters: 10e9, 7B, 1.3b, 350M. Raises Refusal."""
    found = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,6})?(?:e\+?\d{1,2})?)\s*([kmbt]?)\s*", text, re.I)
    count = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    if not _FEWEST <= count <= _MOST:
        raise Refusal(f"--params {text!r}: expected a number of parameters, such as 7B or 10e9")
    return count
