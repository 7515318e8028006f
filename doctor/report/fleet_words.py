"""A fleet's report in sentences and rows of cells: what text, Markdown and HTML share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..findings import Fix
from ..findings.spec import instead
from ..fleet.nodesets import folded, parts
from ..fleet.repair import drains_first
from ..fleet.report import (
    CohortAbout,
    DuplicateAbout,
    FleetReport,
    NodeRow,
    OddFact,
    RefusedAbout,
    RemarkAbout,
    RepairAbout,
    SpecAbout,
    SpecDeviation,
    Split,
)

COUNTS = (
    ("fail", "FAIL"), ("slow", "SLOW"), ("unknown", "UNKNOWN"), ("odd", "odd"), ("no_answer", "no answer"),
    ("warn", "warned"), ("healthy", "healthy"),
)  # fmt: skip
"""Field of the counts to its word."""
DUPLICATES = {
    "answer": "Two answers from {nodes}; using the later one",
    "name": "Two machines report as {nodes} (their GPUs differ); both were kept",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


_WHERE = {
    "environment": "Python environment", "dockerfile": "Dockerfile", "container-start": "container start",
    "code": "program", "shell": "the user's shell",
}  # fmt: skip
_THERE = re.compile(r"\b(?:on|of|in) (?:the GPUs of )?this (?:host|machine)\b")


class Row(NamedTuple):
    """One line of a section: what, how it differs, and where."""

    label: str
    text: str
    nodes: str


def several(count: int, word: str) -> str:
    """`1 node`, `512 nodes`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def when(started: str, ended: str) -> str:
    """`26 Nov 10:02-10:04 UTC` from two ISO 8601 times; the second date only where it is another one."""
    first, last = _moment(started), _moment(ended)
    if first is None or last is None:
        return "no time"
    if first == last:
        return f"{first[0]} {first[1]} UTC"
    return f"{first[0]} {first[1]}-{last[1] if first[0] == last[0] else ' '.join(last)} UTC"


def day(text: str) -> str:
    """`19 Nov` from an ISO 8601 time."""
    moment = _moment(text)
    return moment[0] if moment else text


def _moment(text: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d):\d\dZ", text)
    if not match or not 1 <= int(match[1]) <= 12:
        return None
    return f"{int(match[2])} {_MONTHS[int(match[1]) - 1]}", match[3]


def head(report: FleetReport) -> list[str]:
    """How many nodes, from where, when, of which kinds, judged by what."""
    nodes = report.counts.nodes
    where = f" in {report.source}" if report.source and report.source != "files" else ""
    words = f"{several(nodes, 'node')}{where}, "
    words += "all answered" if report.answered == nodes else f"{report.answered:,} answered"
    found = [words] + ([when(report.started, report.ended)] if report.started else [])
    if report.refused:
        found.append(f"{refused_words(report.refused)} refused")
    return found


def refused_words(found: Sequence[RefusedAbout]) -> str:
    """`2 files`, `1 file and 3 lines`; empty for none."""
    lines = sum(one.line > 0 for one in found)
    files = len(found) - lines
    words = [several(files, "file") if files else "", several(lines, "line") if lines else ""]
    return " and ".join(filter(None, words))


def kinds(report: FleetReport) -> list[str]:
    """The cohorts with their number of nodes, all GPUs, and the versions."""
    shown = [f"{one.nodes:,}x {cohort_words(one)}" for one in report.cohorts[:4]]
    shown += [f"{len(report.cohorts) - 4} more kinds"] if len(report.cohorts) > 4 else []
    first = f"{', '.join(shown)}: {several(report.gpus, 'GPU')}" if shown else several(report.gpus, "GPU")
    found = [first, f"gpudoctor {report.tool.version}, matrix {report.tool.matrix}"]
    if report.judged_here:
        found.append(f"{several(report.judged_here, 'answer')} judged here")
    return found


def cohort_words(one: CohortAbout) -> str:
    return one.name or "nodes without GPUs"


def counted(report: FleetReport) -> list[tuple[str, str]]:
    """Field and `9 FAIL` of each count that is not 0; healthy always."""
    counts = [(name, getattr(report.counts, name), word) for name, word in COUNTS]
    also = report.counts.slow_unknown
    beside = {"slow": f" ({also:,} of them also unknown)" if also else ""}
    return [
        (name, f"{count:,} {word}{beside.get(name, '')}") for name, count, word in counts if count or name == "healthy"
    ]


def node_why(one: NodeRow) -> str:
    """Why a node is not healthy, and what is unknown of it besides."""
    return "; unknown: ".join(filter(None, (one.why, one.unknown)))


def repair_title(fix: Fix) -> str:
    """`Drain, then reboot`, where that is the order of its steps."""
    title = fix.title.rstrip(".")
    if not drains_first(fix) or title.lower().startswith("drain"):
        return title
    lower = len(title) > 1 and title[0].isupper() and title[1].islower() and not title.startswith("Fabric")
    return f"Drain, then {title[0].lower() + title[1:] if lower else title}"


def repair_marks(fix: Fix) -> str:
    """Where the steps run, as whom, and whose work they end: `host, root; ends all jobs there`."""
    changes = [step for step in fix.steps if step.purpose == "change"] or list(fix.steps)
    words = ", then ".join(list(dict.fromkeys(_WHERE.get(step.where, step.where) for step in changes))[:2])
    words += ", root" if any(step.needs_root for step in fix.steps) else ""
    ends = [step.ends for step in fix.steps if step.ends]
    return f"{words}; ends {_THERE.sub('there', ends[0]).replace(' on this GPU', ' on it')}" if ends else words


def cures(index: int, one: RepairAbout, report: FleetReport) -> str:
    """`cures 6 of 9`."""
    of = f" of {report.counts.fail:,}" if index == 0 else ""
    if one.fix is None:
        return f"{len(one.nodes):,}{of}, no known fix"
    return f"fixes {one.cures:,}{of}" if one.cures else f"also needed on {several(len(one.nodes), 'node')}"


def about(one: RepairAbout) -> str:
    """The nodes; where each has a subject of its own and they are few, with it."""
    if one.subjects and len(one.subjects) == len(one.nodes) and len(set(one.subjects.values())) == 1:
        return f"{folded(one.nodes)}: {_subjects(next(iter(one.subjects.values())))}"
    if one.subjects and len(one.nodes) <= 3:
        return ", ".join(
            f"{node}: {_subjects(one.subjects[node])}" if node in one.subjects else node for node in one.nodes
        )
    return folded(one.nodes)


def _subjects(some: Sequence[str]) -> str:
    """`GPU 0-7`; others as they are."""
    numbers = [subject[4:] for subject in some if subject.startswith("GPU ")]
    if len(numbers) < len(some):
        return ", ".join(some)
    return f"GPU {folded_numbers(map(int, numbers))}"


def odd_row(one: OddFact) -> Row:
    """`driver   565.57.01; 445 nodes have 570.211.01   gpu-[014,082]`."""
    value, usual = shown(one.value, one.unit, one.label), shown(one.usual, one.unit, one.label)
    others = "1 node has" if one.usual_nodes == 1 else f"{one.usual_nodes:,} nodes have"
    return Row(one.label, f"{value}; {others} {usual}", with_gpus(one.nodes, one.gpus))


def spec_title(one: SpecAbout) -> str:
    """`3 of 64 nodes do not meet the spec team.toml (8 lines)`."""
    name = f"the spec {', '.join(one.files)}" if one.files else "the spec"
    off = len(one.counts)
    words = f"{off:,} of {several(one.judged, 'node')} {'does' if off == 1 else 'do'} not meet"
    words = words if off else f"{one.met:,} of {several(one.judged, 'node')} {'meets' if one.met == 1 else 'meet'}"
    return f"{words} {name} ({several(one.lines, 'line')})"


def spec_row(one: SpecDeviation, unknown: bool = False) -> Row:
    """`driver   535.104.05 (the spec requires >=570)   gpu-[001-003]`."""
    return Row(one.name, instead(one.found, one.allowed, unknown), folded(one.nodes))


def spec_counts(one: SpecAbout) -> list[tuple[str, str]]:
    """(`2 deviations`, nodes), the most first."""
    nodes: dict[int, list[str]] = {}
    for node, count in one.counts.items():
        nodes.setdefault(count, []).append(node)
    return [(several(count, "deviation"), folded(some)) for count, some in sorted(nodes.items(), reverse=True)]


def split_words(one: Split) -> str:
    """`kernel 6.8.0-60-generic on 44 nodes, 6.8.0-64-generic on 21`."""
    (first, count), *more = one.values.items()
    words = [f"{one.label} {shown(first, one.unit, one.label)} on {several(count, 'node')}"]
    return ", ".join([*words, *(f"{shown(value, one.unit, one.label)} on {number:,}" for value, number in more)])


def with_gpus(nodes: Sequence[str], gpus: Mapping[str, tuple[int, ...]]) -> str:
    """Nodes, and for a GPU's fact which of their GPUs."""
    if not gpus:
        return folded(nodes)
    whole = [node for node in nodes if node not in gpus]
    some = [f"{node} GPU {folded_numbers(gpus[node])}" for node in nodes if node in gpus]
    return ", ".join([*([folded(whole)] if whole else []), *some])


def folded_numbers(numbers: Iterable[int]) -> str:
    """`0-3,7`."""
    runs: list[list[int]] = []
    for one in sorted(numbers):
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def shown(value: str, unit: str = "", label: str = "") -> str:
    """A stored value with its unit; a long one is cut. A limit of -1 is none."""
    if value == "-1" and "limit" in label:
        return "unlimited"
    text = value if len(value) <= 80 else f"{value[:77]}..."
    return f"{text} {unit}" if unit and re.fullmatch(r"-?[\d.]+", text) else text or "empty"


def clock_words(seconds: float) -> str:
    """`7 years behind the collector`."""
    size = abs(seconds)
    units = (("year", 365.25 * 86400), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))
    unit, length = next((one for one in units if size >= one[1] * 0.99), units[-1])
    count = max(1, round(size / length))
    return f"{several(count, unit)} {'behind' if seconds < 0 else 'ahead of'} the collector"


def clocks(report: FleetReport) -> list[tuple[str, tuple[str, ...]]]:
    """How far a clock is off, in words, with all nodes of which that is true; the furthest first."""
    found: dict[str, list[str]] = {}
    for one in sorted(report.clocks, key=lambda one: -abs(one.seconds)):
        found.setdefault(clock_words(one.seconds), []).append(one.node)
    return [(text, tuple(nodes)) for text, nodes in found.items()]


def since_title(report: FleetReport) -> str:
    """`Since 19 Nov`."""
    return f"Since {day(report.since.started)}" if report.since else "Since"


def parts_of(names: Sequence[str]) -> list[str]:
    """Nodesets, one piece each."""
    return parts(names)


def refused(one: RefusedAbout) -> str:
    """A file or line that could not be read, as a sentence."""
    file = f"{one.file}, line {one.line}" if one.line else one.file
    return f"{file[:200]}: {one.reason}"


def duplicate(one: DuplicateAbout) -> str:
    """A contradiction as a sentence."""
    detail = f" ({one.detail})" if one.detail else ""
    if one.kind == "uuid":
        gpus = "the same GPU" if one.gpus == 1 else f"the same {one.gpus:,} GPUs (equal UUIDs)"
        both = "both were" if len(one.nodes) == 2 else "all were"
        return f"{listed(one.nodes)} report {gpus}{detail}; {both} kept"
    return DUPLICATES.get(one.kind, "{nodes}").format(nodes=folded(one.nodes)) + detail


def remark(one: RemarkAbout) -> str:
    """A remark as a sentence."""
    return REMARKS.get(one.kind, "{nodes}: {detail}").format(nodes=folded(one.nodes), detail=one.detail)


REMARKS = {
    "skipped": "{detail} was skipped (--skip) on {nodes}",
    "not-requested": "{nodes} answered but are not listed in --nodes",
    "answered-as": "{nodes} answered (requested as {detail})",
    "silent-before": "{nodes} answered, but could not be examined at first: {detail}",
}


def listed(names: Sequence[str]) -> str:
    """`n1 and n2`; of more than two, nodesets."""
    return " and ".join(names) if len(names) == 2 else folded(names)
