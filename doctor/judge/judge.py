"""Run the checks over a Snapshot and make the report. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timezone
from time import perf_counter
from typing import cast

from .. import __version__
from ..findings import Finding, Matrix, Policy, Skip, Status
from ..fixes.ending import safely
from ..formats.record import Record
from ..snapshot import NeedsFact, Snapshot, known
from .cited import CitingMatrix
from .rank import rank
from .registry import Registered, load_all
from .report import CheckResult, MatrixInfo, MatrixRow, Report, Tool, Verdict


class Examined(Record):
    """What one check said."""

    check: Registered
    status: Status
    reason: str
    """Where it is unknown or skipped."""
    findings: tuple[Finding, ...]
    duration_ms: float = 0.0
    rows: tuple[MatrixRow, ...] = ()


def judge(snapshot: Snapshot, matrix: Matrix, policy: Policy, checks: list[Registered] | None = None) -> Report:
    """Judge a Snapshot by every check of the catalogue (or by `checks`)."""
    return compose(snapshot, matrix, policy, examine(snapshot, matrix, policy, checks))


def examine(
    snapshot: Snapshot, matrix: Matrix, policy: Policy, checks: list[Registered] | None = None
) -> list[Examined]:
    """What every check of the catalogue (or of `checks`) says, in its order."""
    found = []
    for check in load_all() if checks is None else checks:
        started, citing = perf_counter(), CitingMatrix(matrix)
        status, reason, findings = run_check(check, snapshot, cast("Matrix", citing), policy)
        ms = round((perf_counter() - started) * 1e3, 3)
        found.append(Examined(check, status, reason, tuple(findings), ms, citing.cited()))
    return found


def compose(snapshot: Snapshot, matrix: Matrix, policy: Policy, examined: Sequence[Examined]) -> Report:
    """The report of what the checks said."""
    findings = [safely(snapshot, f) for one in examined for f in one.findings if f.status != "pass"]
    ranked = rank(findings, {one.check.id: one.check.about.downstream_of for one in examined}, _gpus(snapshot))
    measured = None
    if known(snapshot.measured.level) is not None:
        from .verdict import verdict as measured_verdict

        measured = measured_verdict(snapshot, matrix, ranked)
    return Report(
        tool=Tool("gpudoctor", __version__),
        matrix=MatrixInfo(matrix.version, matrix.schema_version, _matrix_notes(matrix, policy.judged_on)),
        generated_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        target=snapshot.target,
        policy=policy,
        verdict=verdict_of(ranked),
        exit_code=exit_code(ranked, policy),
        findings=ranked,
        remarks=tuple(safely(snapshot, f) for one in examined for f in one.findings if f.status == "pass"),
        checks=tuple(_result(one) for one in examined),
        measured=measured,
        snapshot=snapshot,
    )


OLD_DAYS = 90


def _matrix_notes(matrix: Matrix, judged_on: str) -> tuple[str, ...]:
    """In a line each: that the matrix is not the built-in one, and that it is old on the day of the judgement."""
    notes = (matrix.differs,) if matrix.differs else ()
    try:
        days = (date.fromisoformat(judged_on) - date.fromisoformat(matrix.version.replace(".", "-"))).days
    except ValueError:  # judged on no day
        return notes
    if days <= OLD_DAYS:
        return notes
    what = "it knows no newer GPU, driver or torch; update gpudoctor, or give a newer matrix with --matrix"
    return (*notes, f"The matrix is {days} days old: {what}")


def _result(one: Examined) -> CheckResult:
    words, remarked = in_words(one.check, one.status, one.findings)
    return CheckResult(
        id=one.check.id,
        status=one.status,
        words=words,
        remarked=remarked,
        reason=one.reason,
        duration_ms=one.duration_ms,
        rows=one.rows,
    )


LEFT_OUT = "left out by --only or --skip"


def _gpus(s: Snapshot) -> dict[str, str]:
    """Every subject that is a GPU, by key, UUID and PCI address, those on the PCI bus alone too -> one name."""
    names = {d.address: d.address for d in known(s.driver.pci_devices) or () if d.vendor == "10de"}
    for gpu in known(s.gpus) or ():
        for name in (gpu.key, known(gpu.uuid), known(gpu.pci_address)):
            if name:
                names[name] = gpu.key
    return names


def run_check(
    check: Registered, snapshot: Snapshot, matrix: Matrix, policy: Policy
) -> tuple[Status, str, list[Finding]]:
    """One check: its status, the reason where it is unknown or skipped, and what it said.

    A check that raises is a result, not an exit: UNKNOWN with the error's text.
    """
    if (policy.only and check.id not in policy.only) or check.id in policy.skip:
        return "skipped", LEFT_OUT, []
    if check.about.needs_gpu and policy.expect.kind == "none":
        return "skipped", "--expect none: no GPU is expected where this runs", []
    if check.about.needs_gpu and policy.expect.kind == "any" and check.id != "no-nvidia-gpu" and _no_card(snapshot):
        return "skipped", "this machine has no NVIDIA GPU", []
    findings: list[Finding] = []
    try:
        for finding in check.function(snapshot, matrix, policy):
            findings.append(finding)
    except NeedsFact as lack:
        if not any(f.status in ("fail", "warn", "unknown") for f in findings):
            if check.about.needs_gpu and _no_card(snapshot):
                return "skipped", "this machine has no NVIDIA GPU", findings
            return "unknown", str(lack), findings
    except Skip as skip:
        if not findings:
            return "skipped", str(skip), findings
    except Exception as error:  # a crash in one check must not cost the report
        return "unknown", f"the check itself failed: {type(error).__name__}: {error}", findings
    for status in ("fail", "unknown", "warn"):
        if any(f.status == status for f in findings):
            return (
                status,
                next(f.title for f in findings if f.status == status) if status == "unknown" else "",
                findings,
            )
    return "pass", "", findings


def in_words(check: Registered, status: Status, findings: Sequence[Finding]) -> tuple[str, bool]:
    """What a check's result means, and whether it is a remark: never the name of a fault that is absent."""
    if status == "pass":
        remark = next((f for f in findings if f.status == "pass"), None)
        return (remark.title, True) if remark else (check.about.sound, False)
    return next((f.title for f in findings if f.status == status), ""), False


def _no_card(s: Snapshot) -> bool:
    """Whether the PCI list was read and rules a GPU out, and no other witness saw one (as no-nvidia-gpu judges)."""
    devices = known(s.driver.pci_devices)
    if devices is None or known(s.host.wsl) in (1, 2):
        return False
    seen = (known(s.gpus), known(s.driver.cuda_devices), known(s.driver.device_nodes))
    return not any(seen) and not any(device.vendor == "10de" for device in devices)


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """fail, unknown (nothing failed but something required is unknown), warn or pass."""
    statuses = {f.status for f in findings}
    if "fail" in statuses:
        return "fail"
    if "unknown" in statuses:
        return "unknown"
    return "warn" if "warn" in statuses else "pass"


def exit_code(findings: tuple[Finding, ...], policy: Policy) -> int:
    """DESIGN rule 9: 0 nothing failed, 1 failed, 3 required unknown; `fail_on` lowers the bar for 1."""
    statuses = {f.status for f in findings}
    if "fail" in statuses:
        return 1
    if "unknown" in statuses:
        return 1 if policy.fail_on in ("unknown", "warn") else 3
    return 1 if "warn" in statuses and policy.fail_on == "warn" else 0
