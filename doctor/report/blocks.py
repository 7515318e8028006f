"""Text for the findings of a report: a cause in full with its fix, and its consequences as one line each."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ..findings import Finding, Fix, Step
from ..snapshot import Missing
from .amounts import several
from .lines import BLANK, Line, Span, Style, command, line, wrap

WHERE = {
    "shell": "in this shell",
    "environment": "in this Python environment",
    "dockerfile": "in the Dockerfile",
    "container-start": "where the container or job is started",
    "host": "on the host",
    "windows": "on Windows",
    "provider": "at your provider",
    "code": "in your program",
    "operator": "by the machine's operator",
}
SIGNS: dict[str, tuple[str, Style]] = {
    "fail": ("✗ FAIL", "fail"),
    "unknown": ("? UNKNOWN", "unknown"),
    "warn": ("▲ WARN", "warn"),
}


def families(findings: tuple[Finding, ...]) -> list[tuple[Finding, list[Finding]]]:
    """Each root cause with what is listed under it: the same check's findings of other subjects, and its
    consequences."""
    causes = {finding.id for finding in findings if not finding.cause}
    roots = [finding for finding in findings if finding.cause not in causes]
    first = {finding.id: finding for finding in reversed(roots)}
    under: dict[str, list[Finding]] = {name: [] for name in first}
    for finding in roots:
        if finding is not first[finding.id]:
            under[finding.id].append(finding)
    for finding in findings:
        if finding.cause in causes:
            under[finding.cause].append(finding)
    return [(finding, under[finding.id]) for finding in roots if finding is first[finding.id]]


def cause(
    finding: Finding,
    under: list[Finding],
    width: int,
    verbose: int,
    lines: Sequence[str] = (),
    error: str = "",
    folded: bool = False,
) -> list[Line]:
    """One root cause: what, the `error` that the user has seen, why (and the `lines` of a text that hold it), the fix,
    and what follows from it. folded: without blank rows, and what follows is only counted."""
    sign, style = SIGNS[finding.status]
    rows = wrap(finding.title, width, first=Span(f"{sign}  ", style), style="title")
    rows += wrap(error, width, "  ", first=Span("PyTorch says: ", "bold")) if error else []
    for text in finding.detail.splitlines():
        rows += wrap(text, width, "  ")
    rows += evidence(finding, width) if verbose else []
    for text in lines:
        rows += wrap(text, width, "  ", first=Span("From ", "bold"), style="dim")
    for fix in finding.fixes[: None if verbose else 1]:
        rows += [BLANK, *_fix(fix, width, verbose)]
    rest = finding.fixes[1:]
    if rest and not verbose:
        titles = "; ".join(fix.title for fix in rest)
        rows += [BLANK, *wrap(f"{titles} (-v shows the steps)", width, "  ", first=Span("Or: ", "bold"))]
    if not verbose and finding.status == "fail":
        under = [other for other in under if other.status != "unknown"]  # they wait for the fix: shown below the groups
    if folded:
        rows = [row for row in rows if row != BLANK]
        if under:
            rows.append(
                line(Span(f"  This also causes {several(len(under), 'other finding')} (-v lists them)", "bold"))
            )
    elif under:
        rows += [BLANK, line(Span("  This also causes:", "bold"))]
        for other, times in alike(finding, under):
            sign, style = SIGNS[other.status]
            rows += wrap(f"{other.title} [{other.id}]{times}", width, "  ", first=Span(f"└ {sign.split()[1]} ", style))
    return rows + wrap(f"Details: gpudoctor explain {finding.id}", width, "  ", style="dim")


def alike(root: Finding, under: list[Finding]) -> list[tuple[Finding, str]]:
    """What is listed under a cause; equal texts appear once with a count: eight GPUs with one fault are one line."""
    first: dict[tuple[object, ...], Finding] = {}
    counts: dict[tuple[object, ...], int] = {}
    for finding in under:
        words = (finding.id, finding.status, finding.title)
        first.setdefault(words, finding)
        counts[words] = counts.get(words, 0) + 1
    rows = []
    for key, finding in first.items():
        if key == (root.id, root.status, root.title):
            times = f", {counts[key]} more like it"
        else:
            times = f", {counts[key]} such findings" if counts[key] > 1 else ""
        rows.append((finding, times))
    return rows


def evidence(finding: Finding, width: int) -> list[Line]:
    """The deciding facts, one row."""
    facts = [f"{name} = {text}" for name, text in seen(finding)]
    if finding.subject:
        facts.insert(0, f"about {finding.subject}")
    if not facts:
        return []
    return wrap("; ".join(facts), width, "  ", first=Span("Seen: " if finding.direct else "Inferred: ", "bold"))


def seen(finding: Finding) -> list[tuple[str, str]]:
    """The deciding facts as text, numbers to three figures. Tables are left to JSON, because the text covers them."""
    return [
        (name, show(_three_figures(value)))
        for name, value in finding.facts.items()
        if not (isinstance(value, (list, tuple)) and any(isinstance(row, dict) for row in value))
    ]


def _three_figures(value: Any) -> Any:
    if isinstance(value, float) and isfinite(value):
        rounded = round(value) if abs(value) >= 100 else float(f"{value:.3g}")
        return int(rounded) if rounded == int(rounded) else rounded
    if isinstance(value, dict) and "missing" not in value:
        return {key: _three_figures(item) for key, item in value.items()}
    return [_three_figures(item) for item in value] if isinstance(value, (list, tuple)) else value


def marks(step: Step) -> str:
    """Where a step is carried out, as whom, and whose work it ends."""
    words = [WHERE.get(step.where, step.where)]
    words += ["as root"] if step.needs_root else []
    words += ["changes nothing"] if step.purpose == "look" else []
    words += [f"ends {step.ends}"] if step.ends else ["cannot be undone"] if step.destructive else []
    words += [] if step.possible_here else ["not possible from here"]
    return ", ".join(words)


def _fix(fix: Fix, width: int, verbose: int) -> list[Line]:
    rows = wrap(fix.title, width, "  ", first=Span("Fix: ", "bold"), style="bold")
    many = len(fix.steps) > 1
    for number, step in enumerate(fix.steps, 1):
        text = f"{step.text} ({marks(step)})"
        rows += wrap(text, width, "    ", first=f"{number}. " if many else "")
        if step.command:
            rows += command(step.command, "       " if many else "      ")
        for other in step.alternatives if verbose else ():
            rows += wrap(f"With {other.tool}:", width, "    ", style="dim")
            rows += command(other.command, "       " if many else "      ")
    for paragraph in fix.note.splitlines():
        if paragraph.startswith("  "):
            rows += command(paragraph[2:], "      ")
        else:
            rows += wrap(paragraph, width, "    ", style="dim")
    return rows


def show(value: Any, limit: int = 200) -> str:
    """A fact's value as text."""
    if isinstance(value, Missing) or (isinstance(value, dict) and set(value) <= {"missing", "detail"} and value):
        reason = str(value) if isinstance(value, Missing) else ": ".join(str(v) for v in value.values() if v)
        return f"unknown ({reason})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "not set"
    if isinstance(value, (list, tuple)):
        text = ", ".join(show(item, limit) for item in value[:40]) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {show(item, limit)}" for key, item in list(value.items())[:40]) or "none"
    else:
        text = str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
