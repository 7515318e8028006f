"""The report: one verdict, the same in every format."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from ..findings import Finding, Policy, Status
from ..snapshot import Snapshot, Target

REPORT_SCHEMA_VERSION = 1

Verdict: TypeAlias = Literal["pass", "warn", "fail", "unknown"]


class CheckResult(Struct, frozen=True, kw_only=True):
    """What became of one check."""

    id: str
    status: Status
    reason: str = ""
    """Why it is unknown or skipped; empty otherwise."""
    duration_ms: float = 0.0


class Tool(Struct, frozen=True):
    name: str
    version: str


class MatrixInfo(Struct, frozen=True):
    version: str
    schema_version: int


class Need(Struct, frozen=True, kw_only=True):
    """What would decide where a text does not: a command to run on the machine that it comes from."""

    command: str
    why: str
    decides: tuple[str, ...] = ()
    """Ids of the checks that it decides."""


class Report(Struct, frozen=True, kw_only=True):
    """What `--format json` prints; `gpudoctor schema` prints its JSON Schema."""

    schema_version: int = REPORT_SCHEMA_VERSION
    tool: Tool
    matrix: MatrixInfo
    generated_at: str
    """ISO 8601, UTC."""
    target: Target
    policy: Policy
    verdict: Verdict
    exit_code: int
    redacted: bool = False
    findings: tuple[Finding, ...] = ()
    """Root cause first."""
    remarks: tuple[Finding, ...] = ()
    """Info: never changes the verdict."""
    checks: tuple[CheckResult, ...] = ()
    needs: tuple[Need, ...] = ()
    """Of a pasted text that leaves the cause open; else empty."""
    possible: tuple[str, ...] = ()
    """Ids of checks whose cause the text allows but does not prove, likeliest first."""
    snapshot: Snapshot
