"""What checks say, and what the user expects."""

from __future__ import annotations

from .finding import LAYERS, Alternative, Check, Finding, Fix, Layer, Quote, Severity, Skip, Status, Step, Where
from .policy import Expect, FailOn, Policy

__all__ = [
    "LAYERS", "Alternative", "Check", "Expect", "FailOn", "Finding", "Fix", "Layer", "Policy", "Quote", "Severity",
    "Skip", "Status", "Step", "Where",
]  # fmt: skip
