"""The judge: checks(Snapshot, Matrix, Policy) -> Report."""

from __future__ import annotations

from .judge import judge, run_check
from .registry import Registered, check_ids, load, load_all
from .report import CheckResult, Report

__all__ = ["CheckResult", "Registered", "Report", "check_ids", "judge", "load", "load_all", "run_check"]
