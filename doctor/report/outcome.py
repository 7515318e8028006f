"""What a check or a rule has to say of a file or a machine, for formats that other tools read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..findings.strangers import is_of_stranger
from .groups import in_words

if TYPE_CHECKING:
    from ..findings import Step
    from ..judge import Report

Level: TypeAlias = Literal["fail", "warn", "info", "unknown", "consequence", "pass", "skipped"]


class Outcome(NamedTuple):
    """One result. rule: an id; file and line: '' and 0 for a machine; fix: as text or commands."""

    rule: str
    level: Level
    title: str
    detail: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0


class Ruled(NamedTuple):
    """A rule as a page of its own: title, what to do, where it comes from."""

    title: str
    help: str
    source: str = ""


def _in_words(step: Step) -> str:
    """Its command; what ends others' work, has to be done as root or installs what a file names that is not trusted,
    never without its condition."""
    if not step.ends and not step.needs_root and not is_of_stranger(step):
        return step.command or step.text
    return " ".join(filter(None, (step.text, step.ends and f"(ends {step.ends})", step.command)))


def of_report(report: Report, manuals: Mapping[str, str]) -> tuple[list[Outcome], dict[str, Ruled]]:
    """Findings, then every check that passed, was skipped or is unknown; with the rules that they belong to.

    Findings in the same words, as of eight GPUs without code in this torch, are one.
    """
    found = []
    same = Counter((one.id, one.status, one.cause, one.title) for one in report.findings)
    for one in report.findings:
        if not (count := same.pop((one.id, one.status, one.cause, one.title), 0)):
            continue
        first = one.fixes[0] if one.fixes else None
        commands = "; ".join(_in_words(step) for step in first.steps) if first else ""
        fix = f"{first.title}: {commands}" if first else ""
        level: Level = one.status if one.status in ("fail", "warn") else "unknown"
        detail = f"{one.detail} Found {count} times.".lstrip() if count > 1 else one.detail
        if one.cause:
            level, detail = "consequence", f"Consequence of {one.cause}. {detail}".rstrip()
        found.append(Outcome(one.id, level, one.title, detail, fix))
    seen = {one.rule for one in found}
    for check in report.checks:
        if check.id not in seen:
            level = check.status if check.status in ("pass", "skipped", "unknown") else "pass"
            found.append(Outcome(check.id, level, check.words or in_words(check), check.reason))
    rules = {one.rule: Ruled(one.title, manuals.get(one.rule, "")) for one in found}
    return found, rules
