"""What is reported differently for a pasted text: the lines a finding is based on, what stays open, and what would
decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..findings import Finding, Quote
from ..judge.report import PossibleCause, ProgramMessage, Report, TextReport
from ..snapshot import Similar, Snapshot, known
from . import facts
from .lines import Line, Span, command, line, wrap

_MOST_LINES = 3
_MOST_CAUSES = 4
_LONGEST = 160
_WORTH_TELLING = 0.1
_AFTER_ALL = 0.2
"""Probability from which a cause is reported for a text that seems sound."""
_LEADS_FROM = 0.3
"""Probability above which a cause that is not proven is the headline."""
_MOST_SIMILAR = 2
"""Solved threads that are shown without -v."""
UNKNOWN_ERROR = "Unrecognized error on line {}"
_OPEN = {
    "not-proven": "This text does not prove the cause", "undecided": "This text is not enough to find the cause",
    "unknown-error": UNKNOWN_ERROR, "sound": "No environment problem found in this text",
}  # fmt: skip
_QUIET = "No known error in this text, but it is not enough to rule out a problem"
_DECIDE = "Run this on that machine, append its output to the text, and run gpudoctor explain again:"


def worth_telling(report: Report) -> tuple[Finding, ...]:
    """The findings, without those that say that the text is silent or may mean this: `open_lines` tells of both."""
    silent = [f for f in report.findings if f.id == "required-fact-missing" and f.facts.get("reason") == "not-asked"]
    first = suspect(report)
    shown = [f for f in report.findings if f is first or (f.status == "unknown" and f.id in report.possible)]
    return tuple(f for f in report.findings if f not in (*silent, *shown))


def suspect(report: Report) -> Finding | None:
    """The cause that the text makes likely, where it proves none."""
    return next((f for f in report.findings if report.likely and f.id == report.likely), None)


def named(s: Snapshot) -> list[str]:
    """What the text says about the machine, as shown in the header; what it does not say is omitted."""
    known_parts = [facts.gpus(s), facts.driver(s), facts.torch(s), facts.python(s)]
    return [words for words in known_parts if not words.endswith(" unknown")] or [
        "the text names no GPU, driver, torch or Python"
    ]


def origin(report: Report) -> list[str]:
    """`Text ticket.log`, and the system where the text names it."""
    system = facts.system_name(report.snapshot)
    if system.startswith("unknown system"):
        system = system.removeprefix("unknown system").strip().strip("()")
    return [f"Text {report.target.name}".strip(), *([system] if system else [])]


def lines_of(finding: Finding) -> list[str]:
    """`line 3: ...`: the lines of the text that said what the finding names, but for those in its own words."""
    quotes = (quote for quote in finding.lines if f"line {quote.line}:" not in finding.detail.lower())
    return [_quoted(quote) for quote in quotes][:_MOST_LINES]


def _quoted(quote: Quote) -> str:
    text = f"line {quote.line}: {quote.text}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _own(message: ProgramMessage) -> str:
    return f"Line {message.line}: {message.means}. {message.fix}"


def open_words(report: Report, titles: Mapping[str, str] | None = None) -> str:
    """The headline of what a text leaves open: its most likely cause (by title, if titles are given), or its kind."""
    text = report.text
    if not text or not text.open:
        return ""
    words = _OPEN[text.open].format(*text.unknown_errors[:1])
    if first := leading_cause(report):
        cause = f"Most likely, but not proven: {(titles or {}).get(first.id, first.id)} ({percent(first.probability)})"
        return f"{words}. {cause}" if text.open == "unknown-error" else cause
    own = {message.line for message in text.of_program}
    complains = any(quote.line not in own for quote in text.errors) or worth_telling(report)
    fails = known(report.snapshot.torch_run.cuda_available) is False
    return words if complains or fails or text.open != "undecided" else _QUIET


def leading_cause(report: Report) -> PossibleCause | None:
    """The cause that the headline of a text names: likely enough to lead, and not yet reported as likely."""
    first = report.text.possible[0] if report.text and report.text.possible else None
    return first if first and not report.likely and first.probability > _LEADS_FROM else None


def leaves_open(report: Report) -> bool:
    """Whether the cause stays open; an answered question has one only where its words make a cause likely."""
    text = report.text
    return bool(text and text.open and (not text.answers or report.likely or leading_cause(report)))


def answer_lines(report: Report, width: int) -> list[Line]:
    """The answers to what a short text asks."""
    rows: list[Line] = []
    for answer in report.text.answers if report.text else ():
        rows += wrap(answer.text, width, style="title")
        rows += command(answer.command, "    ") if answer.command else []
    return rows


def answer_markdown(report: Report, escape: Any, fenced: Any) -> list[str]:
    """The same as Markdown."""
    rows: list[str] = []
    for answer in report.text.answers if report.text else ():
        rows += [f"**{escape(answer.text)}**", "", *([*fenced(answer.command), ""] if answer.command else [])]
    return rows


class Possible(NamedTuple):
    """A possible cause as text."""

    chance: str
    """`62 %`."""
    id: str
    """'' if it is not an environment problem."""
    words: str
    quote: str
    """The line that weighs most for it; '' if it is already shown above."""


def possible(report: Report, titles: Mapping[str, str]) -> list[Possible]:
    """The causes that the text allows, likeliest first, without the one that is reported as likely before them."""
    if report.text is None or not report.possible:
        return []
    least = _AFTER_ALL if report.text.open == "sound" else _WORTH_TELLING
    rows = [(one.probability, one.id, titles.get(one.id, ""), one) for one in report.text.possible]
    shown = [
        (
            chance,
            Possible(percent(chance), name, words, _quoted(Quote(line=one.line, text=one.text)) if one.line else ""),
        )
        for chance, name, words, one in rows
        if name != report.likely and chance >= least
    ]
    if shown and report.text.nothing >= _WORTH_TELLING:
        chance = report.text.nothing
        shown.append((chance, Possible(percent(chance), "", "not an environment problem", "")))
    quoted = set() if suspect(report) else {_quoted(quote) for quote in report.text.errors}  # already shown above
    found = []
    for _, one in sorted(shown, key=lambda row: -row[0]):
        found.append(one._replace(quote="") if one.quote in quoted else one)
        quoted.add(one.quote)
    return found


def known_causes(report: Report, titles: Mapping[str, str]) -> list[str]:
    """What the messages of the text mean and come from, as far as the report does not name it otherwise."""
    shown = {one.id for one in possible(report, titles)} | {f.id for f in report.findings}
    found: list[str] = []
    for row in sorted(report.text.messages if report.text else (), key=lambda row: not row.fix):
        left = [name for name in row.causes if name not in shown]
        unshown = left if len(left) == len(row.causes) else []
        if row.fix or unshown:
            causes = "; ".join(f"{name} ({titles.get(name, name)})" for name in unshown[:_MOST_CAUSES])
            words = [f"Line {row.line}: {row.means}.", row.fix, f"Possible causes: {causes}" if causes else ""]
            found.append(" ".join(filter(None, words)))
        elif left and report.text and report.text.open != "sound":
            found.append(f"Less likely causes of line {row.line}: {', '.join(left)}")
        shown.update(left)
    return found[:_MOST_LINES]


def percent(chance: float) -> str:
    return f"{100 * chance:.0f} %"


def _possible_words(report: Report) -> str:
    return "Possible causes, most likely first, with how often such a guess has been right:"


def open_lines(report: Report, titles: Mapping[str, str], width: int) -> list[Line]:
    """What the text allows, likeliest first, and the commands whose output would decide it."""
    text = report.text or TextReport()
    rows = wrap(open_words(report, titles), width, first=Span("? UNKNOWN  ", "unknown"), style="title")
    for quote in () if suspect(report) else text.errors:
        rows += wrap(_quoted(quote), width, "  ", style="dim")
    for message in text.of_program:
        rows += wrap(_own(message), width, "    ", first="- ")
        rows += command(message.command, "      ") if message.command else []
    if shown := possible(report, titles):
        rows += [(), line(Span(f"  {_possible_words(report)}", "bold"))]
        for one in shown:
            rows += wrap(one.words, width, "    ", first=f"{one.chance:>5}  {one.id + '  ' if one.id else ''}", hang=11)
            rows += wrap(one.quote, width, "           ", style="dim") if one.quote else []
        rows += wrap(f"To look one up: gpudoctor explain {report.possible[0]}", width, "    ", style="dim")
    for words in known_causes(report, titles):
        rows += wrap(words, width, "    ", first="- ")
    decide = "To be sure, run on that machine:" if text.open == "sound" else _DECIDE
    rows += [(), line(Span(f"  {decide}", "bold"))]
    for need in report.needs:
        rows += [*command(need.command, "      "), *wrap(need.why, width, "        ", style="dim")]
    if all(need.command != "gpudoctor check" for need in report.needs):
        rows += wrap("Or check everything at once on that machine: gpudoctor check", width, "  ", style="dim")
    return rows


def similar(report: Report, verbose: int) -> Sequence[Similar]:
    """Solved threads whose text is like this one: two where the cause stays open, all of them with -v."""
    found = report.text.similar if report.text else ()
    return found if verbose else found[:_MOST_SIMILAR] if leaves_open(report) else ()


def similar_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """Those threads, with what helped there."""
    if not (found := similar(report, verbose)):
        return []
    rows = [line(Span("Solved threads like this one:", "bold"))]
    for one in found:
        rows += wrap(f"{one.title} ({one.cause}, {100 * one.score:.0f} % alike)", width, "    ", first="- ")
        rows += wrap(one.fix, width, "      ") if one.fix else []
        rows += [line(Span(f"      {one.url}", "dim"))]
    return rows


def open_markdown(report: Report, titles: Mapping[str, str], escape: Any, fenced: Any) -> list[str]:
    """The same as Markdown."""
    page = open_page(report, titles)
    rows = [f"❔ **{page['title']}**", "", *(f"> {escape(quote)}" for quote in page["quotes"]), ""]
    for words, command_line in page["of_program"]:
        rows += [f"- {escape(words)}", "", *([*fenced(command_line), ""] if command_line else [])]
    if page["possible"]:
        rows += [page["possible_words"], ""]
        for one in page["possible"]:
            name = f" `{one.id}`:" if one.id else ""
            rows.append(f"- {one.chance}{name} {escape(one.words)}{f' ({escape(one.quote)})' if one.quote else ''}")
        rows.append("")
    if page["known_causes"]:
        rows += [*(f"- {escape(words)}" for words in page["known_causes"]), ""]
    rows += [page["decide"], ""]
    for need in page["needs"]:
        rows += [escape(need.why), "", *fenced(need.command), ""]
    if page["similar"]:
        rows += ["Solved threads like this one:", ""]
        for one in page["similar"]:
            fix = f" {escape(one.fix)}" if one.fix else ""
            rows.append(f"- {escape(one.title)} (`{one.cause}`):{fix} {escape(one.url)}")
        rows.append("")
    return rows


def open_page(report: Report, titles: Mapping[str, str]) -> dict[str, Any]:
    """The same for a page; empty if nothing is left open."""
    text = report.text or TextReport()
    if not leaves_open(report):
        return {}
    return {
        "title": open_words(report, titles),
        "quotes": [] if suspect(report) else [_quoted(quote) for quote in text.errors],
        "of_program": [(_own(message), message.command) for message in text.of_program],
        "possible": possible(report, titles),
        "possible_words": _possible_words(report),
        "known_causes": known_causes(report, titles),
        "decide": "To be sure, run on that machine:" if text.open == "sound" else _DECIDE,
        "needs": report.needs,
        "similar": similar(report, 0),
    }
