"""Run the checks over a Snapshot and make the report. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from time import perf_counter
from typing import Literal, NamedTuple, cast

from ..findings import Finding, Matrix, NotExamined, Policy, Skip, SkipKind, Status
from ..fixes.ending import safely
from ..fixes.every_card import for_reboot
from ..fixes.install import with_outside_index
from ..fixes.origin import for_origin
from ..fixes.same_run import as_requested
from ..guard import traced
from ..snapshot import NeedsFact, Snapshot, known
from ..snapshot.presence import no_card, no_sign
from .cited import CitingMatrix, matrix_notes
from .rank import rank
from .registry import Registered, load_all
from .report import OURS, CheckResult, MatrixInfo, MatrixRow, Report, Verdict
from .selection import must_be_heard, not_checked


class Examined(NamedTuple):
    """What one check said."""

    check: Registered
    status: Status
    reason: str
    """Where it is unknown or skipped."""
    findings: tuple[Finding, ...]
    skip: SkipKind | Literal[""] = ""
    """Which kind of skip, where it is one."""
    duration_ms: float = 0.0
    rows: tuple[MatrixRow, ...] = ()
    kept: str = ""
    """Its id, where a found configuration would silence a failure or a required unknown of it."""


class Result(NamedTuple):
    """Status, the reason where it is unknown or skipped, what was found, and the kind of a skip."""

    status: Status
    reason: str
    findings: list[Finding]
    skip: SkipKind | Literal[""] = ""


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
        one = examine_by(check, snapshot, cast("Matrix", citing), policy)
        ms = round((perf_counter() - started) * 1e3, 3)
        found.append(one._replace(duration_ms=ms, rows=citing.cited()))
    return found


def examine_by(check: Registered, snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Examined:
    """What one check says, without its time and the rows of the matrix."""
    result, silenced, in_full = run_check(check, snapshot, matrix, policy), "", policy.in_full
    if in_full is not policy:
        full = run_check(check, snapshot, matrix, in_full)
        if lost := must_be_heard(full.findings, result.findings):
            result, silenced = full, lost
    return Examined(check, result.status, result.reason, tuple(result.findings), result.skip, kept=silenced)


def compose(
    snapshot: Snapshot, matrix: Matrix, policy: Policy, examined: Sequence[Examined], open_counts: bool = True
) -> Report:
    """The report of what the checks said. `open_counts`: a check that could not judge counts for `--fail-on`."""
    checks = tuple(result_of(one) for one in examined)
    ranked, open_checks = conclude(snapshot, matrix, policy, examined, checks)
    open_checks = open_counts and open_checks
    measured = None
    if known(snapshot.measured.level) is not None:
        from .verdict import verdict as measured_verdict

        measured = measured_verdict(snapshot, matrix, ranked)
    at_fault = {f.id for f in ranked if f.status != "pass"}
    used = [row for one in examined if one.check.id in at_fault for row in one.rows]
    return Report(
        tool=OURS,
        matrix=MatrixInfo(matrix.version, matrix.schema_version, *matrix_notes(matrix, policy.judged_on, used)),
        generated_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        target=snapshot.target,
        policy=policy,
        verdict=verdict_of(ranked, open_checks),
        exit_code=exit_code(ranked, policy, open_checks),
        findings=ranked,
        not_silenced=tuple(one.kept for one in examined if one.kept),
        remarks=tuple(safely(snapshot, f) for one in examined for f in one.findings if f.status == "pass"),
        checks=checks,
        measured=measured,
        snapshot=snapshot,
    )


def conclude(
    snapshot: Snapshot, matrix: Matrix, policy: Policy, examined: Sequence[Examined], checks: Sequence[CheckResult]
) -> tuple[tuple[Finding, ...], bool]:
    """(findings with the root cause first, whether checks that could not judge count for `--fail-on`). checks: the
    results of `examined`."""
    findings = [offered(snapshot, matrix, f) for one in examined for f in one.findings if f.status != "pass"]
    findings += not_checked(checks, findings, {one.check.id: one.check.about for one in examined}, policy)
    if findings:
        declared = {one.check.id: one.check.about.downstream_of for one in examined}
        findings = list(rank(findings, declared, _gpus(snapshot)))
    return tuple(findings), _counts_open(checks, policy)


def offered(s: Snapshot, m: Matrix, finding: Finding) -> Finding:
    """The finding as it may be shown: what its steps end is marked, and what the matrix's own index has is said."""
    finding = safely(s, as_requested(s, for_reboot(s, m, for_origin(s, finding))))
    return with_outside_index(finding) if m.differs else finding


def result_of(one: Examined) -> CheckResult:
    """A row of the report."""
    words, remarked = in_words(one.check, one.status, one.findings)
    return CheckResult(
        id=one.check.id,
        status=one.status,
        words=words,
        remarked=remarked,
        reason=one.reason,
        skip=one.skip if one.status == "skipped" else "",
        duration_ms=one.duration_ms,
        rows=one.rows,
    )


NOT_NAMED, LEFT_OUT = "not named by --only", "skipped by --skip"
NO_GPU = "this machine has no NVIDIA GPU"


def _gpus(s: Snapshot) -> dict[str, str]:
    """Every subject that is a GPU, by key, UUID and PCI address, those on the PCI bus alone too -> one name."""
    names = {d.address: d.address for d in known(s.driver.pci_devices) or () if d.vendor == "10de"}
    for gpu in known(s.gpus) or ():
        for name in (gpu.key, known(gpu.uuid), known(gpu.pci_address)):
            if name:
                names[name] = gpu.key
    return names


def run_check(check: Registered, snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Result:
    """What one check says. One that raises is a result, not an exit: UNKNOWN with the error's text."""
    if why := left_out(check.id, policy):
        return Result("skipped", why, [], "not-examined")
    if check.about.needs_gpu and policy.expect.kind == "none":
        return Result("skipped", "no GPU is expected here (--expect none)", [], "does-not-apply")
    if check.about.needs_gpu and check.id != "no-nvidia-gpu" and policy.expect.kind == "any" and no_card(snapshot):
        return Result("skipped", NO_GPU, [], "does-not-apply")
    findings: list[Finding] = []
    try:
        for finding in check.function(snapshot, matrix, policy):
            findings.append(finding)
    except NeedsFact as lack:
        if not any(f.status in ("fail", "warn", "unknown") for f in findings):
            if check.about.needs_gpu and no_card(snapshot):
                return Result("skipped", NO_GPU, findings, "not-examined")
            if check.about.needs_gpu and not _gpu_expected(snapshot, policy):
                return Result("skipped", "nothing here indicates an NVIDIA GPU", findings, "does-not-apply")
            return Result("unknown", str(lack), findings)
    except Skip as skip:
        if not findings:
            return Result("skipped", str(skip), findings, _kind(check, skip, snapshot, policy))
    except Exception as error:  # a crash in one check must not cost the report
        if traced():
            raise
        return Result("unknown", f"the check itself failed: {type(error).__name__}: {error}", findings)
    for status in ("fail", "unknown", "warn"):
        if any(f.status == status for f in findings):
            reason = next(f.title for f in findings if f.status == status) if status == "unknown" else ""
            return Result(status, reason, findings)
    return Result("pass", "", findings)


def left_out(check_id: str, policy: Policy) -> str:
    """Why this policy does not run a check; empty if it does."""
    if check_id in policy.skip:
        return LEFT_OUT
    return NOT_NAMED if policy.only and check_id not in policy.only else ""


def _kind(check: Registered, skip: Skip, s: Snapshot, policy: Policy) -> SkipKind:
    """Where what a check judges is expected here and not there, it was not examined."""
    if (check.about.needs_gpu or skip.without == "gpu") and not _gpu_expected(s, policy):
        return "does-not-apply"
    expected = skip.without == "gpu" or skip.without in policy.require
    return "not-examined" if expected or isinstance(skip, NotExamined) else "does-not-apply"


def in_words(check: Registered, status: Status, findings: Sequence[Finding]) -> tuple[str, bool]:
    """What a check's result means, and whether it is a remark: never the name of a fault that is absent."""
    if status == "pass":
        remark = next((f for f in findings if f.status == "pass"), None)
        return (remark.title, True) if remark else (check.about.sound, False)
    return next((f.title for f in findings if f.status == status), ""), False


def _gpu_expected(s: Snapshot, policy: Policy) -> bool:
    """Whether a GPU has to be here: one is wanted, or something speaks of one and none was ruled out."""
    return policy.gpu_wanted or (policy.expect.kind == "any" and not (no_card(s) or no_sign(s)))


def verdict_of(findings: Sequence[Finding], open_checks: bool = False) -> Verdict:
    """fail, unknown (nothing failed but something required is unknown), warn or pass.

    `open_checks`: checks are unknown, and `--fail-on` counts them: then nothing found is no pass.
    """
    statuses = {f.status for f in findings}
    worst: tuple[Verdict, ...] = ("fail", "unknown", "warn")
    return next((word for word in worst if word in statuses), "unknown" if open_checks else "pass")


def exit_code(findings: Sequence[Finding], policy: Policy, open_checks: bool = False) -> int:
    """DESIGN rule 9: 0 nothing failed, 1 failed, 3 required unknown; `fail_on` lowers the bar for 1."""
    word = verdict_of(findings)
    if word == "fail" or open_checks:
        return 1
    if word == "unknown":
        return 3 if policy.fail_on == "fail" else 1
    return 1 if word == "warn" and policy.fail_on == "warn" else 0


def _counts_open(checks: Sequence[CheckResult], policy: Policy) -> bool:
    """Whether `--fail-on unknown` (or `warn`, which is lower) meets unknown checks."""
    return policy.fail_on != "fail" and any(check.status == "unknown" for check in checks)
