"""How fast each Python is on one core, against Python 3.11 on the same core: thresholds of the host's speed follow it.

`python benchmarks/python_speed.py PYTHON...` measured it on 2026-11-23: builds from source by pyenv on one core, best
of 40 short runs, median of five. Two builds of one version differ too (a distribution's 3.11 is 20 % faster than
pyenv's, to which all of this is held). What is judged by it keeps more room than that: a server core of 2020 does 80
million operations a second in the loop, and 45 are asked.
"""

from __future__ import annotations

LOOP = {(3, 8): 0.72, (3, 9): 0.68, (3, 10): 0.75, (3, 11): 1.0, (3, 12): 0.79, (3, 13): 0.81}
"""Operations a second in the loop of `single_core_mops`."""
CALLS = {(3, 8): 1.70, (3, 9): 1.74, (3, 10): 1.79, (3, 11): 1.0, (3, 12): 1.29, (3, 13): 0.79}
"""Time of a method call that makes a small object, of which an eager training step has many."""
PYTHON_SHARE = 0.5
"""Of the host's time for a kernel, what is taken to be Python's: the rest is torch's own code and the driver's."""


def _nearest(version: str) -> tuple[int, int]:
    """The listed version: the newest for a newer one, the oldest for an older one, 3.11 if unknown."""
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if len(parts) != 2:
        return 3, 11
    return min(max((parts[0], parts[1]), min(LOOP)), max(LOOP))


def loop_factor(version: str) -> float:
    """What the loop's rate is multiplied by on this Python."""
    return LOOP[_nearest(version)]


def host_factor(version: str) -> float:
    """What the host's time for a kernel is multiplied by on this Python; never below that of 3.11, for a margin."""
    return max(1.0, 1 - PYTHON_SHARE + PYTHON_SHARE * CALLS[_nearest(version)])
