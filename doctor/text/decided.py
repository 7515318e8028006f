"""A finding that a message decides: the same for every check, for what only a text shows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..findings import Check, Finding, Findings, Fix, Status, Step
from ..fixes.ending import with_condition
from ..snapshot import Missing, Snapshot, Symptom
from .torch_cleared import NO_CODE, OF_NO_CODE

_NAMES = ("cuDNN", "nvidia-", "bitsandbytes", "flash-attn", "libcuda", "libnvidia", "torch ", "torch'", "torchvision",
          "xformers", "nouveau", "nvcc")  # fmt: skip
"""Names that are written so at the beginning of a title too."""
_WHERE = ("shell", "environment", "dockerfile", "container-start", "host", "windows", "provider", "code")


def forgetting(finding: Finding, s: Snapshot) -> Finding:
    """The finding, whose fixes also remove the text's messages about the same cause: they are from before the fix."""
    gone = NO_CODE if finding.id in OF_NO_CODE else ()
    rest = tuple(symptom for symptom in s.symptoms if symptom.decides != finding.id and symptom.id not in gone)
    if len(rest) == len(s.symptoms):
        return finding
    fixes = []
    for fix in finding.fixes:
        if not fix.steps:
            continue
        *steps, last = fix.steps
        fixes.append(replace(fix, steps=(*steps, replace(last, changes={**last.changes, "symptoms": rest}))))
    return replace(finding, fixes=tuple(fixes))


def decided(about: Check, s: Snapshot, by_facts: bool = False) -> Findings:
    """What the text's messages prove for this check, with the line that proves it.

    The check's own severity wins: of an info check it is a remark, and of a check that warns it is a warning; both
    unless a message shows that it happened. Messages that only warn fail no check. `by_facts`: the check has warned or
    remarked by the facts of the text, which no other message tops.
    """
    deciding = [symptom for symptom in s.symptoms if symptom.decides == about.id]
    if not deciding:
        return
    happened = any(symptom.happened for symptom in deciding)
    mild: dict[str, Status] = {} if happened else {"info": "pass", "warning": "warn"}
    status = mild.get(about.severity, "fail")
    if status == "fail" and all(symptom.warns for symptom in deciding):
        status = "warn"
    if by_facts and (status == "pass" or not happened):
        return
    first = leading(deciding)
    means = first.means if first.means.startswith(_NAMES) else f"{first.means[:1].upper()}{first.means[1:]}"
    quotes = dict.fromkeys(f"line {symptom.line}: {symptom.text}" for symptom in deciding)
    lines = "; ".join(list(quotes)[:3])
    severity = about.severity if about.severity in ("critical", "error") else "error"
    say = {"fail": about.fail, "warn": about.warn, "pass": about.remark}[status]
    yield say(
        means,
        f"{lines[:1].upper()}{lines[1:]}",
        facts={"message": first.id, "line": first.line},
        fixes=_own_fix(about, first, s) if status != "pass" else (),
        **({"severity": severity} if status == "fail" else {}),
    )


def leading(deciding: Sequence[Symptom]) -> Symptom:
    """The message that a finding is about: the first, or one on the same line whose own fix is more exact."""
    first = deciding[0]
    return next((symptom for symptom in deciding if symptom.exact and symptom.line == first.line), first)


def _own_fix(about: Check, first: Symptom, s: Snapshot) -> tuple[Fix, ...]:
    if not first.fix:
        return ()
    rest = tuple(symptom for symptom in s.symptoms if symptom.decides != about.id)
    where = first.where if first.where in _WHERE else "host"
    again = Missing("recheck", "run it again")
    changes = {"symptoms": rest, "driver.nvml_init": again, "torch_run.first_call_code": again,
               "torch_run.cuda_available": again, "driver.cuda_version": again}  # fmt: skip
    step = Step(text=with_condition(first.fix, first.command), command=first.command, where=where, changes=changes)  # type: ignore[arg-type]
    return (Fix(id=f"by-{first.id}", title=first.fix.partition(". ")[0].rstrip("."), steps=(step,)),)
