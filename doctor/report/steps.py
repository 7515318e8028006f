"""Text for the plan of `gpudoctor fix`: numbered fixes, where each step runs, and when to check again."""

from __future__ import annotations

from textwrap import wrap

from ..findings import Step
from ..judge.plan import Plan
from .blocks import marks
from .clean import ascii_only
from .terminal import Display

_SORT = {"warn": " (a warning)", "unknown": " (unknown)"}
_NOTHING = "gpudoctor found nothing it can fix."


def plan_text(plan: Plan, display: Display, again: str = "gpudoctor check") -> str:
    """The plan as plain text lines; commands are on their own lines, unwrapped. again: the command to check again
    with."""
    rows = _in_short(plan, display.width) if display.quiet else _whole(plan, display.width, again)
    text = "\n".join(rows).rstrip() + "\n"
    return ascii_only(text) if display.ascii_ else text


def _in_short(plan: Plan, width: int) -> list[str]:
    """The verdict, what it is about, and the first step."""
    found = [*((one.finding, one.fix.steps[0]) for one in plan.fixes), *((finding, None) for finding in plan.unfixed)]
    if not found:
        return wrap(f"{plan.verdict.upper()}  {_NOTHING}", width)
    finding, step = next((one for one in found if one[0].status == plan.verdict), found[0])
    sort = "" if finding.status == plan.verdict else _SORT.get(finding.status, "")
    rows = wrap(f"{plan.verdict.upper()}  {finding.title}{sort}", width)
    return rows + (_step(step, width) if step else wrap(f"No fix is known for {finding.id}.", width))


def _whole(plan: Plan, width: int, again: str) -> list[str]:
    if plan.ends == "nothing-to-do":
        return [_NOTHING]
    rows: list[str] = []
    for number, planned in enumerate(plan.fixes, 1):
        rows += wrap(f"{number}. {planned.fix.title}", width, subsequent_indent="   ")
        also = [check_id for check_id in planned.removes if check_id != planned.finding.id]
        because = f"for {planned.finding.id}{_SORT.get(planned.finding.status, '')}"
        because += f"; also removes {', '.join(also)}" if also else ""
        rows += wrap(because, width, initial_indent="   ", subsequent_indent="   ")
        for step in planned.fix.steps:
            rows += _step(step, width)
        if planned.look_again:
            rows.append(f"   Then check again: {again}")
        rows.append("")
    for finding in plan.unfixed:
        rows += wrap(f"No fix is known for {finding.id}: {finding.title}", width)
    if plan.fixes and not plan.fixes[-1].look_again:
        rows.append(f"When you have finished: {again}")
    return rows


def _step(step: Step, width: int) -> list[str]:
    """What to do, where, and the command."""
    rows = wrap(f"- {step.text} ({marks(step)})", width, initial_indent="   ", subsequent_indent="     ")
    return rows + (["", *(f"       {line}" for line in step.command.splitlines()), ""] if step.command else [])
