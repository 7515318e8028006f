"""One line of at most 80 ASCII characters, for HEALTHCHECK and probes."""

from __future__ import annotations

from ..findings import Finding
from ..judge.report import Report
from ..judge.selection import nothing_to_check
from ..snapshot import Missing, Snapshot, known
from . import facts
from .clean import ascii_only, printable
from .groups import counted

WIDTH = 80
_WHY = {"not enough processor time": "not enough processor time", "it was still answering, slowly": "slow answers"}
"""Text for a child process that was stopped because it ran out of time (patient/movement.py), as long as there is
room."""


def healthline(report: Report) -> str:
    """`OK 1x NVIDIA L4, driver 580.82.07, torch 2.8.0+cu128` (`OK proven: 1x ...` where it computed), `FAIL id: title`
    or `UNKNOWN id: title`."""
    for status, word in (("fail", "FAIL"), ("unknown", "UNKNOWN")):
        found = _causes(report, status)
        if found:
            more = f" (+{len(found) - 1} more)" if len(found) > 1 else ""
            for words, why in _WHY.items() if status == "unknown" else ():
                if any(words in finding.detail for finding in found):
                    more = f" ({why})"
                    break
            named = found[0].title.startswith(found[0].id)  # a check that was requested, but not made
            return _cut(f"{word} {found[0].title if named else f'{found[0].id}: {found[0].title}'}", more)
    if report.verdict == "unknown":  # --fail-on unknown counts checks, which are not findings
        return _cut(f"UNKNOWN {counted(report.checks)}")
    if nothing := nothing_to_check(report):
        return _cut(f"OK {nothing}")
    s = report.snapshot
    warnings = [finding.id for finding in _causes(report, "warn")]
    suffix = f" (warning: {warnings[0]})" if len(warnings) == 1 else f" ({len(warnings)} warnings)" if warnings else ""
    proven = "proven: " if _proven(s) else ""
    return _cut(f"OK {proven}{facts.gpus(s)}, {facts.driver(s)}, {facts.torch(s)}", suffix)


def _causes(report: Report, status: str) -> list[Finding]:
    """Root causes, those in the same words once: eight GPUs that a torch has no code for have one."""
    roots = [finding for finding in report.findings if finding.status == status and not finding.cause]
    return list({(finding.id, finding.title): finding for finding in roots}.values())


def _proven(s: Snapshot) -> bool:
    """Whether every GPU computed right: through libcuda where that was asked, and by torch where it is installed."""
    m = s.measured
    drivers, offered = known(m.driver) or (), known(m.torch_devices) or ()
    right = {proof.device for proof in known(m.torch) or () if proof.right is True}
    if any(proof.right is not True for proof in drivers):
        return False
    by_torch = bool(offered) and right.issuperset(offered) and len(right) >= len(known(s.driver.cuda_devices) or ())
    no_torch = isinstance(s.torch.version, Missing) and s.torch.version.reason == "absent"
    return by_torch or (no_torch and len(drivers) >= max(1, len(known(s.driver.cuda_devices) or ())))


def _cut(text: str, end: str = "") -> str:
    text, end = ascii_only(printable(text)), ascii_only(printable(end))
    if len(text) + len(end) <= WIDTH:
        return text + end
    return text[: WIDTH - len(end) - 3].rstrip() + "..." + end
