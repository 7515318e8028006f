"""The lines of a text that a finding is based on, and what only the report of a text has."""

from __future__ import annotations

import re
from typing import Literal

from msgspec.structs import replace

from ..findings import Finding, Quote
from ..fixes.ending import with_condition
from ..judge import CheckResult, Report
from ..judge.report import ProgramMessage, TextReport
from ..snapshot import Missing, Snapshot, known
from .suspects import ruled_out
from .xids import is_xid

_MOST = 3
SOUND_FROM, CAUSE_FROM = 0.8, 0.3
"""A text seems sound above the first probability that nothing is wrong, if no cause is likelier than the second."""
_OF_EACH = 2
"""Lines that a fact is shown by; more say the same."""


def quoted(report: Report) -> Report:
    """The report of a text with its lines: of each finding and check, and of the whole."""
    s = report.snapshot
    findings = tuple(_with_lines(f, s) for f in report.findings)
    remarks = tuple(_with_lines(f, s) for f in report.remarks)
    numbers: dict[str, set[int]] = {}
    for finding in (*findings, *remarks):
        numbers.setdefault(finding.id, set()).update(quote.line for quote in finding.lines)
    checks = tuple(_with_numbers(result, sorted(numbers.get(result.id, ()))) for result in report.checks)
    return replace(report, findings=findings, remarks=remarks, checks=checks, text=_text(report))


def _with_lines(finding: Finding, s: Snapshot) -> Finding:
    lines = lines_of(finding, s)
    return replace(finding, lines=lines) if lines else finding


def _with_numbers(result: CheckResult, numbers: list[int]) -> CheckResult:
    return replace(result, lines=tuple(numbers)) if numbers else result


def lines_of(finding: Finding, s: Snapshot) -> tuple[Quote, ...]:
    """The lines that decide it, and those that said what it names, each once, in the text's order."""
    words = " ".join((finding.title, finding.detail, *map(_shown, finding.facts.values())))
    found: dict[int, str] = {}
    for path, witnesses in s.witnesses.items():
        if any(_stands_in(words, value) for value in _values(s, path)):
            for text in witnesses[:_OF_EACH]:
                if line := re.match(r"line (\d{1,9}): ", text):
                    number = int(line[1])
                    found[number] = max(found.get(number, ""), text[line.end() :], key=len)
    if "message" in finding.facts:
        deciding = [
            x for x in s.symptoms if x.line and (x.decides == finding.id or x.line == finding.facts.get("line"))
        ]
        for symptom in deciding[:_MOST]:
            found.setdefault(symptom.line, symptom.text)
    if "probability" in finding.facts:
        found |= {one.line: one.text for one in s.ranked if one.cause == finding.id and one.line}
    return tuple(Quote(line=number, text=found[number]) for number in sorted(found))


def _shown(value: object) -> str:
    """A fact of a finding in the words that its line may have."""
    if isinstance(value, (bool, Missing)) or value is None:
        return ""
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(_shown, value[:40]))
    elif isinstance(value, dict):
        value = ", ".join(f"{name} {_shown(item)}" for name, item in list(value.items())[:40])
    return str(value)[:200]


def _values(s: Snapshot, path: str) -> list[str]:
    """What a finding would call the fact at this path."""
    try:
        fact = s.fact(path)
    except KeyError:
        return []
    if path == "gpus":
        found = [gpu.compute_capability if isinstance(gpu.name, Missing) else gpu.name for gpu in known(fact) or ()]
        return [name for name in dict.fromkeys(found) if isinstance(name, str)]
    if path == "torch_run.arch_list":
        return ["torch.cuda.get_arch_list()"]
    if path == "host.wsl":
        return [f"WSL{fact}", "WSL"]
    return [path] if isinstance(fact, Missing) else [str(fact)] if isinstance(fact, (str, int, float)) else []


def _stands_in(words: str, value: str) -> bool:
    """Whether the value stands in the words by itself; a short one such as '2' would be found by chance."""
    return len(value) > 2 and value in words and bool(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w])", words))


def _text(report: Report) -> TextReport:
    symptoms = report.snapshot.symptoms
    errors = {
        x.line: Quote(line=x.line, text=x.text)
        for x in sorted(symptoms, key=lambda x: x.line)
        if ((x.suggests and not x.mention) or x.of_program or x.unknown or is_xid(x)) and x.line and x.text
    }
    by_line = {x.line: x for x in symptoms if x.of_program}  # one for a line: what compares its numbers comes last
    own = {x.means: x for x in by_line.values()}
    denied = ruled_out(report.snapshot, report.checks)
    return replace(
        report.text or TextReport(),
        open=_open(report) if report.verdict == "unknown" else "",
        errors=tuple(errors.values())[:_MOST],
        unknown_errors=tuple(x.line for x in symptoms if x.unknown),
        similar=tuple(one for one in report.snapshot.similar if not denied(one.cause)),
        of_program=tuple(
            ProgramMessage(line=x.line, means=x.means, fix=with_condition(x.fix, x.command), command=x.command)
            for x in list(own.values())[:_MOST]
        ),
    )


def _open(report: Report) -> Literal["not-proven", "undecided", "unknown-error", "sound"]:
    s = report.snapshot
    if report.likely:
        return "not-proven"
    more = [f for f in report.findings if f.id != "required-fact-missing" or f.facts.get("reason") != "not-asked"]
    fails = known(s.torch_run.cuda_available) is False and not known(s.torch.hip)
    if more or fails:
        return "undecided"
    if any(x.unknown for x in s.symptoms):
        return "unknown-error"
    return "sound" if report.text and _is_sound(report.text) and not _complains(s) else "undecided"


def _complains(s: Snapshot) -> bool:
    """Whether a line speaks of a fault that may be the environment's, and of none of the program's."""
    own = {x.line for x in s.symptoms if x.of_program}
    return any(x.suggests and not x.mention and x.line not in own for x in s.symptoms)


def _is_sound(text: TextReport) -> bool:
    """Whether the words make it likely enough that nothing is wrong, and no cause likely."""
    return text.nothing > SOUND_FROM and not any(one.probability > CAUSE_FROM for one in text.possible)
