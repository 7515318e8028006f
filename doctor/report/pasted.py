"""What is told otherwise of a pasted text: the lines a finding rests on, what stays open, and what would decide it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..findings import Finding
from ..judge.report import Report
from ..snapshot import Missing, Snapshot, Symptom, known
from . import facts
from .blocks import show
from .lines import Line, Span, command, line, wrap

_MOST_LINES = 3
_LONGEST = 160
_NOT_PROVEN = "The text does not prove it"
_OPEN = "This text alone does not decide the cause"
_SOUND = "I see no environment problem in this text"
_UNKNOWN_ERROR = "There is an error that I do not know: line {}"
_DECIDE = "To decide it, run there and explain the text again with the output in it:"
_MOST_OWN = 3


def is_text(report: Report) -> bool:
    """Whether a pasted text was judged, not a machine."""
    return report.target.kind == "text"


def worth_telling(report: Report) -> tuple[Finding, ...]:
    """The findings, of a text without those that say that it is silent or may mean this: `open_lines` tells of both."""
    if not is_text(report):
        return report.findings
    silent = [f for f in report.findings if f.id == "required-fact-missing" and f.facts.get("reason") == "not-asked"]
    first = suspect(report)
    shown = [f for f in report.findings if f is first or (f.status == "unknown" and f.id in report.possible)]
    return tuple(f for f in report.findings if f not in (*silent, *shown))


def suspect(report: Report) -> Finding | None:
    """The cause that the text makes likely, where it proves none."""
    return next((f for f in report.findings if report.likely and f.id == report.likely), None)


def named(s: Snapshot) -> list[str]:
    """What the text tells of the machine, in the words of the header; what it does not tell is left out."""
    told = [facts.gpus(s), facts.driver(s), facts.torch(s), facts.python(s)]
    return [words for words in told if not words.endswith(" unknown")] or ["no GPU, driver, torch or Python is told"]


def origin(report: Report) -> list[str]:
    """`Text ticket.log`, and the system where the text names it."""
    system = facts.place(report.snapshot)
    if system.startswith("unknown system"):
        system = system.removeprefix("unknown system").strip().strip("()")
    return [f"Text {report.target.name}".strip(), *([system] if system else [])]


def lines_of(finding: Finding, s: Snapshot) -> list[str]:
    """`line 3: ...`: the lines of the text that said what the finding names, each once, in the text's order."""
    words = " ".join((finding.title, finding.detail, *map(show, finding.facts.values())))
    found: dict[int, str] = {}
    for path, said in s.witnesses.items():
        if any(_names(words, value) for value in _values(s, path)):
            for text in said[:2]:
                if (number := _number(text)) and f"Line {number}:" not in finding.detail:
                    found[number] = max(found.get(number, ""), _cut(text), key=len)
    return [found[number] for number in sorted(found)][:_MOST_LINES]


def _values(s: Snapshot, path: str) -> list[str]:
    try:
        fact = s.fact(path)
    except KeyError:
        return []
    if path == "gpus":
        found = [gpu.compute_capability if isinstance(gpu.name, Missing) else gpu.name for gpu in known(fact) or ()]
        return [name for name in found if isinstance(name, str)]
    if path == "torch_run.arch_list":
        return ["torch.cuda.get_arch_list()"]
    if path == "host.wsl":
        return [f"WSL{fact}", "WSL"]
    return [path] if isinstance(fact, Missing) else [str(fact)] if isinstance(fact, (str, int, float)) else []


def _names(words: str, value: str) -> bool:
    """Whether the value stands in the words by itself; a short one such as '2' would be found by chance."""
    return len(value) > 2 and bool(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w])", words))


def _number(text: str) -> int:
    found = re.match(r"line (\d{1,9}): ", text)
    return int(found[1]) if found else 0


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def seen_lines(report: Report) -> list[str]:
    """The first lines that say that something is wrong, where nothing decided what."""
    found = {
        s.line: _cut(f"line {s.line}: {s.text}")
        for s in sorted(report.snapshot.symptoms, key=lambda s: s.line)
        if (s.suggests or s.of_program or s.unknown) and s.line and s.text
    }
    return list(found.values())[:_MOST_LINES]


def own_lines(report: Report) -> list[Symptom]:
    """The messages that speak of the program, or of nothing at all, each meaning once."""
    found = {s.means: s for s in report.snapshot.symptoms if s.of_program}
    return list(found.values())[:_MOST_OWN]


def _own(symptom: Symptom) -> str:
    return f"Line {symptom.line}: {symptom.means}. {symptom.fix}"


def _title(report: Report) -> str:
    if suspect(report):
        return _NOT_PROVEN
    said = [f for f in report.findings if f.id != "required-fact-missing" or f.facts.get("reason") != "not-asked"]
    fails = known(report.snapshot.torch_run.cuda_available) is False and not known(report.snapshot.torch.hip)
    if report.possible or said or fails:
        return _OPEN
    if numbers := unknown_lines(report):
        return _UNKNOWN_ERROR.format(numbers[0])
    return _SOUND


def unknown_lines(report: Report) -> list[int]:
    """Numbers of the lines that report an error which no message of ours explains."""
    return [s.line for s in report.snapshot.symptoms if s.unknown]


def leaves_open(report: Report) -> bool:
    """Whether the cause stays open."""
    return is_text(report) and report.verdict == "unknown"


def open_lines(report: Report, titles: Mapping[str, str], width: int) -> list[Line]:
    """What the text allows, likeliest first, and the commands whose output would decide it."""
    rows = wrap(_title(report), width, first=Span("? UNKNOWN  ", "unknown"), style="title")
    for text in () if suspect(report) else seen_lines(report):
        rows += wrap(text, width, "  ", style="dim")
    for symptom in own_lines(report):
        rows += wrap(_own(symptom), width, "    ", first="- ")
        rows += command(symptom.command, "      ") if symptom.command else []
    if report.possible and not suspect(report):
        rows += [(), line(Span("  Possible, likeliest first:", "bold"))]
        for name in report.possible:
            rows += wrap(titles.get(name, ""), width, "    ", first=f"{name}  ", hang=6)
        rows += wrap(f"What each means: gpudoctor explain {report.possible[0]}", width, "    ", style="dim")
    words = "To be sure, run there:" if _title(report) == _SOUND else _DECIDE
    rows += [(), line(Span(f"  {words}", "bold"))]
    for need in report.needs:
        rows += [*command(need.command, "      "), *wrap(need.why, width, "        ", style="dim")]
    if all(need.command != "gpudoctor check" for need in report.needs):
        rows += wrap("Or look at all at once, on that machine: gpudoctor check", width, "  ", style="dim")
    return rows


def open_markdown(report: Report, titles: Mapping[str, str], escape: Any, fenced: Any) -> list[str]:
    """The same as Markdown."""
    rows = [f"❔ **{_title(report)}**", "", *(f"> {escape(text)}" for text in seen_lines(report)), ""]
    rows += [row for s in own_lines(report) for row in (f"- {escape(_own(s))}", "")]
    if report.possible and not suspect(report):
        rows += ["Possible, likeliest first:", ""]
        rows += [f"- `{name}`: {escape(titles.get(name, ''))}".removesuffix(": ") for name in report.possible] + [""]
    rows += ["To be sure, run there:" if _title(report) == _SOUND else _DECIDE, ""]
    for need in report.needs:
        rows += [escape(need.why), "", *fenced(need.command), ""]
    return rows


def counted(report: Report) -> str:
    """`1 failed, 10 passed of 125 checks; 68 need more facts`."""
    found = {status: sum(c.status == status for c in report.checks) for status in ("fail", "warn", "pass", "unknown")}
    words = [
        f"{found[status]} {word}"
        for status, word in (("fail", "failed"), ("warn", "warned"), ("pass", "passed"))
        if found[status]
    ]
    text = f"{', '.join(words) or 'none decided'} of {len(report.checks)} checks"
    return text + (f"; {found['unknown']} need more facts" if found["unknown"] else "")


def next_step(report: Report) -> str:
    """What to do after the report of a text."""
    if report.verdict == "fail":
        return "Carry out the fix at the top, then run there: gpudoctor check"
    if report.verdict == "unknown":
        return "Nothing in the text proves a fault; what would decide it stands above."
    if numbers := unknown_lines(report):
        return f"{_UNKNOWN_ERROR.format(numbers[0])}. On that machine, gpudoctor check looks at the rest."
    if report.verdict == "warn":
        return "The text proves no fault; mind the warnings above. On that machine, gpudoctor check looks at the rest."
    return "The text shows nothing wrong. On that machine, gpudoctor check looks at the rest."
