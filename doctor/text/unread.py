"""What the report of a large text says of the lines that were not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..findings import Finding
from ..judge.judge import exit_code
from ..judge.report import Report
from .encoding import utf8_of

if TYPE_CHECKING:
    from ..snapshot import Unread
    from .excerpt import Excerpt

_CUT = "cut the text to the part around the error, and explain it again."
_ONE_LINE = "It is one long line: I read its begin, and what stands around words of an error, a GPU, a driver or CUDA."
_TOO_MANY = f" There are too many of these words to read all: {_CUT}"
_ID = "required-fact-missing"


def nothing(data: bytes, part: Excerpt) -> str:
    """The line for a text without anything to judge."""
    if part.unread and part.unread.left:
        return f"Nothing that I can judge in what I read of this text. {words(part.unread)}\n"
    if not data.strip():
        return "Nothing in this text that I can judge: it is empty.\n"
    if not utf8_of(data):
        return "Nothing that I can judge: this is no text, but bytes of another kind.\n"
    return "Nothing in this text that I can judge: no GPU, driver, torch or known error is told.\n"


def with_unread(report: Report, unread: Unread) -> Report:
    """The report with a remark on what was not read; without a failure it is UNKNOWN where that may tell of one."""
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
    """What was not read, by kind, in sentences."""
    if unread.lines == 1:
        return _ONE_LINE + (_TOO_MANY if unread.left else "")
    sentences = [
        f"Of its {unread.lines:,} lines I read {unread.read:,}: the first, the last, and those that could matter."
    ]
    left_out = [
        f"{count:,} {what}"
        for count, what in (
            (unread.alike, "differ from a line that I read in their numbers alone"),
            (unread.silent, "hold no word of an error, a GPU, a driver or CUDA"),
            (unread.no_text, "are no text"),
        )
        if count
    ]
    if left_out:
        sentences.append(f"Of the others, {', '.join(left_out)}.")
    if unread.cut:
        one = unread.cut == 1
        sentences.append(
            f"{unread.cut:,} line{' is' if one else 's are'} too long to be read to the end: I read the begin of "
            f"{'it' if one else 'them'}, and what stands around such words."
        )
    if unread.left:
        first, last = unread.between
        where = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
        sentences.append(f"{unread.left:,} more hold such words and are too many to read ({where}): {_CUT}")
    return " ".join(sentences)
