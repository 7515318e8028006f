"""An image against hosts as Markdown."""

from __future__ import annotations

from ..judge.preflight_answer import Preflight
from .blocks import families
from .image_text import RUNS, details, how, spec_words, summary
from .markdown import cause_rows, escape

_SIGN = {"fail": "❌", "warn": "⚠️", "unknown": "❔", "pass": "✅"}


def render_image_markdown(answer: Preflight) -> str:
    """The whole answer."""
    image = answer.image
    rows = [f"### gpudoctor image: {escape(image.name)}", "", escape(" · ".join(summary(image))), ""]
    rows += [f"- {escape(label)}: {escape(text)}" for label, text in details(image)]
    if answer.hosts:
        rows += ["", "| | Host | Runs | How | Why |", "| --- | --- | --- | --- | --- |"]
    for one in answer.hosts:
        why = "; ".join(filter(None, (one.why, one.label_words)))
        cells = (_SIGN[one.verdict], one.host, RUNS[one.verdict][0], how(one), why)
        rows.append(f"| {' | '.join(map(escape, cells))} |")
    rows.append("")
    for one in answer.hosts:
        found = families(one.findings)
        if found:
            rows += [f"#### {escape(one.host)}", ""]
        for root, under in found:
            rows += cause_rows(root, under, [])
    if answer.spec:
        title, lines = spec_words(answer.spec, answer.image)
        rows += [f"#### {escape(title)}", "", *map(_spec_row, lines), ""]
    tool = f"gpudoctor {escape(answer.tool.version)}, matrix {escape(answer.matrix.version)}"
    return "\n".join([*rows, f"<sub>{tool}; exit {answer.exit_code}</sub>"]) + "\n"


def _spec_row(row: tuple[str, str, str]) -> str:
    """A row of `spec_words` as an item of a list."""
    text, fix, line = row
    fixed = f". Fix: {escape(fix)}" if fix else ""
    return f"- {escape(text)}{fixed}" + (f" `{line}`" if line else "")
