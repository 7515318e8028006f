"""Times of a fleet as ISO 8601."""

from __future__ import annotations

import time


def moment(seconds: float) -> str:
    """ISO 8601, UTC, from seconds since 1970; empty for 0 and for what is not a time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if 0 < seconds < 1e11 else ""
