"""The report in at most forty lines of Markdown: cause, proof, fix, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..findings import Finding, Fix
from ..judge.report import Report
from . import facts, pasted
from .amounts import several
from .blocks import families, marks, seen
from .groups import exit_words, sound_words
from .markdown import escape, fenced
from .own_error import own_error

MOST_LINES = 40
_MOST_STEPS, _MOST_COMMAND, _MOST_OTHERS, _MOST_WORDS, _MOST_BEFORE = 2, 3, 4, 400, 8
_SIGN = {"fail": "❌", "warn": "⚠️", "unknown": "❔"}


def render_brief(report: Report, titles: Mapping[str, str], preface: Sequence[str] = ()) -> str:
    """Cause, proof, fix and versions; `titles`: check id to title; `preface`: a head and sentences before it, of which
    the first are shown."""
    code = exit_words(report)
    rows = [*_before(preface), f"### gpudoctor: {report.verdict.upper()}{f' ({code})' if code else ''}", ""]
    found = families(pasted.worth_telling(report) if report.text else report.findings)
    first = pasted.suspect(report) if report.text else None
    if first is not None:
        found = [(first, []), *found]
    for answer in report.text.answers[:2] if report.text else ():
        rows += [_cut(answer.text), "", *([*fenced(answer.command), ""] if answer.command else [])]
    if found:
        root, under = found[0]
        rows += _cause(report, root, under)
        if others := [f"{escape(one.title)} (`{one.id}`)" for one, _ in found[1 : 1 + _MOST_OTHERS]]:
            more = len(found) - 1 - len(others)
            rows += [f"Also: {'; '.join(others)}{f'; {more} more' * (more > 0)}", ""]
    elif not pasted.leaves_open(report):
        rows += [escape(sound_words(report)), ""]
    if open_ := pasted.open_page(report, titles):
        rows += [f"{escape(open_['title'])}.", ""]
        rows += [f"- {one.chance} {one.id} {escape(one.words)}" for one in open_["possible"][:3]]
        rows += [f"- {escape(_cut(words))}" for words in open_["known_causes"]]
        if report.needs:
            rows += ["", "To decide:", "", *fenced("\n".join(n.command for n in report.needs[:3])), ""]
    rows += [f"- {name}: {_cut(value)}" for name, value in facts.table(report.snapshot, bool(report.text))]
    made = f"gpudoctor {report.tool.version}, matrix {report.matrix.version}, {report.generated_at}"
    return "\n".join([*rows[: MOST_LINES - 2], "", f"<sub>{escape(made)}</sub>"]) + "\n"


def _before(preface: Sequence[str]) -> list[str]:
    if not preface:
        return []
    head, *sentences = preface
    rows = [f"- {escape(_cut(words))}" for words in sentences[:_MOST_BEFORE]]
    left = len(sentences) - _MOST_BEFORE
    rows += [f"- and {left} more: `--format markdown` lists all"] if left > 0 else []
    return [f"## {escape(head)}", "", *rows, ""]


def _cause(report: Report, root: Finding, under: list[Finding]) -> list[str]:
    rows = [f"{_SIGN.get(root.status, '')} **{escape(root.title)}** (`{root.id}`)", ""]
    error = "" if report.text else own_error(root, under, report.snapshot)
    proof = [f"PyTorch says: {error}"] if error else []
    proof += ["; ".join(root.detail.splitlines())] if root.detail else []
    facts = seen(root)
    proof += [f"Seen: {'; '.join(f'{name} = {text}' for name, text in facts)}"] if facts else []
    proof += pasted.lines_of(root)[:1] if report.text else []
    rows += [f"- {_cut(text)}" for text in proof[:3]]
    rows.append("")
    return rows + (_fix(root.fixes[0], len(root.fixes)) if root.fixes else [])


def _fix(fix: Fix, count: int) -> list[str]:
    rows = [f"**Fix: {escape(fix.title)}**" + f" (or {several(count - 1, 'other way')})" * (count > 1), ""]
    for number, step in enumerate(fix.steps[:_MOST_STEPS], 1):
        rows.append(f"{number}. {_cut(step.text)} *({marks(step)})*")
        lines = step.command.strip("\n").splitlines()
        if 0 < len(lines) <= _MOST_COMMAND:
            rows += ["", *(f"   {row}" for block in fenced(step.command) for row in block.split("\n")), ""]
    left = len(fix.steps) - _MOST_STEPS
    return [*rows, *([f"{several(left, 'more step')}: `--format markdown` shows all"] if left > 0 else []), ""]


def _cut(text: str) -> str:
    text = escape(text)
    return text if len(text) <= _MOST_WORDS else text[: _MOST_WORDS - 3].rstrip("\\") + "..."
