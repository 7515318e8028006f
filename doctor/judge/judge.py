"""Run the checks over a Snapshot and make the report. Pure but for the clock."""

from __future__ import annotations

from datetime import datetime, timezone
from time import perf_counter
from typing import TYPE_CHECKING

from .. import __version__
from ..findings import Finding, Policy, Skip, Status, told
from ..snapshot import NeedsFact, Snapshot, known
from .rank import rank
from .registry import Registered, load_all
from .report import CheckResult, MatrixInfo, Report, Tool, Verdict

if TYPE_CHECKING:
    from compat_matrix import Matrix


def judge(snapshot: Snapshot, matrix: Matrix, policy: Policy, checks: list[Registered] | None = None) -> Report:
    """Judge a Snapshot by every check of the catalogue (or by `checks`)."""
    catalogue = load_all() if checks is None else checks
    text = snapshot.target.kind == "text"
    if text:
        from .text import as_found, needs, possible, suspected, with_build, with_capabilities, without_causes

        snapshot = with_build(with_capabilities(snapshot, matrix), matrix)
    results: list[CheckResult] = []
    findings: list[Finding] = []
    remarks: list[Finding] = []
    for check in catalogue:
        begun = perf_counter()
        status, reason, said = run_check(check, snapshot, matrix, policy)
        took_ms = round((perf_counter() - begun) * 1e3, 3)
        told_words, remarked = in_words(check, status, said)
        results.append(
            CheckResult(
                id=check.id, status=status, words=told_words, remarked=remarked, reason=reason, duration_ms=took_ms
            )
        )
        findings += [f for f in said if f.status != "pass"]
        remarks += [f for f in said if f.status == "pass"]
    if text:
        findings = without_causes(findings)
        results = as_found(results, findings)
    ranked = rank(findings, {c.id: c.about.downstream_of for c in catalogue})
    verdict = verdict_of(ranked)
    open_causes: tuple[str, ...] = ()
    if text:
        open_causes = possible(snapshot, ranked, results)
        if verdict == "unknown":
            ranked = (*suspected(snapshot, matrix, open_causes, catalogue), *ranked)
    measured = None
    if known(snapshot.measured.level) is not None:
        from .verdict import verdict as measured_verdict

        measured = measured_verdict(snapshot, matrix, ranked)
    return Report(
        tool=Tool("gpudoctor", __version__),
        matrix=MatrixInfo(matrix.version, matrix.schema_version),
        generated_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        target=snapshot.target,
        policy=policy,
        verdict=verdict,
        exit_code=exit_code(ranked, policy),
        findings=ranked,
        remarks=tuple(remarks),
        checks=tuple(results),
        needs=needs(open_causes, snapshot) if text and verdict == "unknown" else (),
        possible=open_causes,
        measured=measured,
        snapshot=snapshot,
    )


def run_check(
    check: Registered, snapshot: Snapshot, matrix: Matrix, policy: Policy
) -> tuple[Status, str, list[Finding]]:
    """One check: its status, the reason where it is unknown or skipped, and what it said.

    A check that raises is a result, not an exit: UNKNOWN with the error's text. Where it finds nothing, and a message
    of a pasted text decides it, that message is the finding.
    """
    status, reason, said = _run(check, snapshot, matrix, policy)
    if snapshot.target.kind != "text" or reason == _LEFT_OUT:
        return status, reason, said
    if status != "fail" and (decided := list(told(check.about, snapshot))):
        status, reason, said = "fail", "", [*decided, *(f for f in said if f.status == "pass")]
    if not any(f.fixes for f in said):
        return status, reason, said
    return status, reason, [_for_text(f, snapshot, matrix) if f.fixes else f for f in said]


def _for_text(finding: Finding, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding with fixes for the place of the text; with those that it has where these cannot be made."""
    from ..findings.told import forgetting
    from ..fixes.told import at_place

    finding = forgetting(finding, snapshot)
    try:
        return at_place(finding, snapshot, matrix)
    except Exception:  # no odd fact of a text may cost the report
        return finding


_LEFT_OUT = "left out by --only or --skip"


def _run(check: Registered, snapshot: Snapshot, matrix: Matrix, policy: Policy) -> tuple[Status, str, list[Finding]]:
    if (policy.only and check.id not in policy.only) or check.id in policy.skip:
        return "skipped", _LEFT_OUT, []
    if check.about.needs_gpu and policy.expect.kind == "none":
        return "skipped", "--expect none: no GPU is expected where this runs", []
    if check.about.needs_gpu and policy.expect.kind == "any" and check.id != "no-nvidia-gpu" and _no_card(snapshot):
        return "skipped", "this machine has no NVIDIA GPU", []
    said: list[Finding] = []
    try:
        for finding in check.function(snapshot, matrix, policy):
            said.append(finding)
    except NeedsFact as lack:
        if not any(f.status in ("fail", "warn", "unknown") for f in said):
            if check.about.needs_gpu and _no_card(snapshot):
                return "skipped", "this machine has no NVIDIA GPU", said
            return "unknown", str(lack), said
    except Skip as skip:
        if not said:
            return "skipped", str(skip), said
    except Exception as error:  # a crash in one check must not cost the report
        return "unknown", f"the check itself failed: {type(error).__name__}: {error}", said
    for status in ("fail", "unknown", "warn"):
        if any(f.status == status for f in said):
            return status, next(f.title for f in said if f.status == status) if status == "unknown" else "", said
    return "pass", "", said


def in_words(check: Registered, status: Status, said: list[Finding]) -> tuple[str, bool]:
    """What a check's result means, and whether it is a remark: never the name of a fault that is absent."""
    if status == "pass":
        remark = next((f for f in said if f.status == "pass"), None)
        return (remark.title, True) if remark else (check.about.sound, False)
    return next((f.title for f in said if f.status == status), ""), False


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
