"""What the report of a large text says about the lines that were not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..findings import Finding
from ..judge.judge import exit_code
from ..judge.report import Report
from .encoding import utf8_of

if TYPE_CHECKING:
    from ..snapshot import Unread

_CUT = "cut the text down to the part around the error, and run gpudoctor explain again."
_ONE_LINE = (
    "The text is one long line. gpudoctor read its beginning, and the parts around any mention of errors, GPUs, "
    "drivers or CUDA."
)
_TOO_MANY = f" There are too many such mentions to read them all: {_CUT}"
_GIVE = "Provide an error, a log or a command's output: gpudoctor explain FILE"
_ID = "required-fact-missing"


def no_text(data: bytes) -> str:
    """The line for an input that contains no text, with what to give instead; '' for any other."""
    if not data.strip():
        return f"The text is empty. {_GIVE}\n"
    if not utf8_of(data):
        return f"This is not text but binary data. {_GIVE}\n"
    return ""


def with_unread(report: Report, unread: Unread) -> Report:
    """The report with a note on what was not read; UNKNOWN if it has no failure but the unread part may show one."""
    finding = Finding(
        id=_ID,
        status="pass",
        severity="info",
        title="Not all of this text was read" if unread.left else "This text was not read line by line",
        detail=words(unread),
        facts={"reason": "too-large", "lines": unread.lines, "read": unread.read, "not_read": unread.left},
        layer="python",
    )
    if not unread.left or report.verdict == "fail":
        return replace(report, remarks=(*report.remarks, finding))
    findings = (*report.findings, replace(finding, status="unknown", severity="warning"))
    return replace(report, findings=findings, verdict="unknown", exit_code=exit_code(findings, report.policy))


def words(unread: Unread) -> str:
    """Sentences about what was not read, by kind."""
    if unread.lines == 1:
        return _ONE_LINE + (_TOO_MANY if unread.left else "")
    sentences = [
        f"{unread.read:,} of its {unread.lines:,} lines were read: the first, the last, and those that could matter."
    ]
    left_out = [
        f"{count:,} {what}"
        for count, what in (
            (unread.alike, "differ only in numbers from a line that was read"),
            (unread.silent, "do not mention an error, a GPU, a driver or CUDA"),
            (unread.no_text, "are not text"),
        )
        if count
    ]
    if left_out:
        sentences.append(f"Of the other lines, {', '.join(left_out)}.")
    if unread.cut:
        one = unread.cut == 1
        sentences.append(
            f"{unread.cut:,} line{' is' if one else 's are'} too long to read in full: gpudoctor read the "
            f"beginning of {'it' if one else 'each'}, and the parts around any mention of errors, GPUs, drivers or "
            f"CUDA."
        )
    if unread.left:
        first, last = unread.between
        where = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
        sentences.append(
            f"Too many lines mention an error, a GPU, a driver or CUDA for gpudoctor to read them all "
            f"({unread.left:,} not read, {where}): {_CUT}"
        )
    return " ".join(sentences)
