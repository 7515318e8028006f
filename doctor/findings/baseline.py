"""An earlier proof that this one is held against: part of the Policy, so that a saved report is judged alike."""

from __future__ import annotations

from msgspec import Struct


class BaselineRate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured figure of the earlier proof. key: the GPU's, masked (the mask is the same in every report), or
    `cpu`; the rest as in `snapshot.Rate`."""

    key: str
    kind: str
    what: str
    value: float
    unit: str
    spread_percent: float = 0.0
    gpu: str = ""
    """The GPU's name."""


class Baseline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an earlier proof measured, and with which driver and torch; empty if it did not know."""

    rates: tuple[BaselineRate, ...] = ()
    driver: str = ""
    torch: str = ""
    day: str = ""
    regression_percent: float = 10.0
    """From this loss on a change fails."""
