"""Figures of GPUs of one model, compared: pure, for the prover and for the judge."""

from __future__ import annotations

from collections.abc import Mapping

BELOW = 0.9
"""Of the siblings' median: GPUs of one model differ by some percent, by their voltage and place in the chassis."""
FASTEST = 0.7
"""Share of the fastest: if most are slow, the median is not a useful reference."""


def below_siblings(values: Mapping[str, float], share: float = BELOW) -> dict[str, float]:
    """Device to the median of its siblings, for the devices below this share of it; to the fastest of them where it is
    far below that one but not below the median, so that slow ones are seen whatever their number.

    `values`: one figure of each device of one model. Nothing is said of a device that is alone.
    """
    found: dict[str, float] = {}
    if not values or min(values.values()) >= share * max(values.values()):
        return found  # none is below any median
    for device, value in values.items():
        others = sorted(other for name, other in values.items() if name != device)
        if not others:
            continue
        middle = len(others) // 2
        median = others[middle] if len(others) % 2 else (others[middle - 1] + others[middle]) / 2
        if share >= BELOW and FASTEST * median <= value < FASTEST * others[-1]:
            found[device] = others[-1]
        elif value < share * median:
            found[device] = median
    return found
