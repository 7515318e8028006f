"""What checks say, and what the user expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .expect import Expect
from .finding import (
    LAYERS,
    Alternative,
    Check,
    Ends,
    Finding,
    Findings,
    Fix,
    Layer,
    Quote,
    Severity,
    Status,
    Step,
    Where,
)
from .policy import FailOn, FoundConfig, Policy
from .skip import NotExamined, Skip, SkipKind

if TYPE_CHECKING:
    from compat_matrix import Matrix
else:
    Matrix = Any  # a name in annotations: whoever judges hands the tables over

__all__ = [
    "LAYERS", "Alternative", "Check", "Ends", "Expect", "FailOn", "Finding", "Findings", "Fix", "FoundConfig",
    "Layer", "Matrix", "NotExamined", "Policy", "Quote", "Severity", "Skip", "SkipKind", "Status", "Step", "Where",
]  # fmt: skip
