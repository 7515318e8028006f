"""The SM clock that sound boards of a model hold under load: GeForce and RTX boards do not reach their maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .expectation import measured_rows

if TYPE_CHECKING:
    from .rows_gpu import Gpu
    from .store import Store

METRIC = "sm_clock_under_load"


def usual_clock(m: Store, gpus: Sequence[Gpu]) -> float:
    """The lowest that was measured on one of these products, in MHz; 0 unless all of them were measured."""
    lowest = [
        min((row.least for row in measured_rows(m).get(gpu.name, ()) if row.metric == METRIC), default=0.0)
        for gpu in gpus
    ]
    return min(lowest, default=0.0)
