"""Text for the plan of `gpudoctor fix`: numbered fixes, where each step runs, and when to check again."""

from __future__ import annotations

from ..judge.plan import Plan
from .blocks import marks
from .clean import ascii_only
from .terminal import Display

_SORT = {"warn": " (a warning)", "unknown": " (unknown)"}


def plan_text(plan: Plan, display: Display, again: str = "gpudoctor check") -> str:
    """The plan as plain text lines; commands are on their own lines, unwrapped. again: the command to check again
    with."""
    from textwrap import wrap

    if plan.ends == "nothing-to-do":
        return "Found nothing that gpudoctor can fix.\n"
    rows: list[str] = []
    for number, planned in enumerate(plan.fixes[:1] if display.quiet else plan.fixes, 1):
        rows += wrap(f"{number}. {planned.fix.title}", display.width, subsequent_indent="   ")
        also = [check_id for check_id in planned.removes if check_id != planned.finding.id]
        because = f"for {planned.finding.id}{_SORT.get(planned.finding.status, '')}"
        because += f"; also removes {', '.join(also)}" if also else ""
        rows += wrap(because, display.width, initial_indent="   ", subsequent_indent="   ")
        for step in planned.fix.steps[:1] if display.quiet else planned.fix.steps:
            text = f"- {step.text} ({marks(step)})"
            rows += wrap(text, display.width, initial_indent="   ", subsequent_indent="     ")
            rows += ["", *(f"       {line}" for line in step.command.splitlines()), ""] if step.command else []
        if planned.look_again and not display.quiet:
            rows.append(f"   Then check again: {again}")
        rows.append("")
    for finding in plan.unfixed:
        rows += wrap(f"No fix is known for {finding.id}: {finding.title}", display.width)
    if plan.fixes and not plan.fixes[-1].look_again and not display.quiet:
        rows.append(f"When you have finished: {again}")
    text = "\n".join(rows).rstrip() + "\n"
    return ascii_only(text) if display.ascii_ else text
