"""Part of agents that measure: figures of a series of times."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence


def median(values: Sequence[float]) -> float:
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float:
    """Percentile with linear interpolation between the two nearest values."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100.0
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def spread_percent(values: Sequence[float]) -> float:
    """90th less 10th percentile in percent of the median."""
    middle = median(values)
    return (percentile(values, 90) - percentile(values, 10)) / middle * 100.0 if middle > 0 else 0.0


def figure(value: float) -> float:
    """Six significant digits; raises ValueError for what is no finite number."""
    if not math.isfinite(value):
        raise ValueError("a figure that is no finite number")
    return float("%.6g" % value)
