"""The judge: checks(Snapshot, Matrix, Policy) -> Report."""

from __future__ import annotations

from .judge import Examined, compose, conclude, examine, examine_by, exit_code, judge, result_of, run_check, verdict_of
from .registry import Registered, check_ids, load, load_all
from .report import CheckResult, Report

__all__ = [
    "CheckResult", "Examined", "Registered", "Report", "check_ids", "compose", "conclude", "examine", "examine_by",
    "exit_code", "judge", "load", "load_all", "result_of", "run_check", "verdict_of",
]  # fmt: skip
