"""What no sentence and no command of a report may hold: a value that was not known, a word said twice, empty quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.findings import Finding
from doctor.judge.report import Report
from doctor.snapshot import Gpu, known

_SENTENCE = {
    "a value that is not there": re.compile(r"\b(?:None|nan|null|inf)\b(?! of\b)|Missing\("),
    "a word said twice": re.compile(r"(?i)\b([a-z]{2,}(?: [a-z]+){0,3}) \1\b"),
    "two full stops, or a comma before one": re.compile(r"(?<!\.)\.\.(?!\.)|,\.|, ,|;\."),
    "empty quotes or brackets": re.compile(r"(?<![\w=])(?<! is )(?:''|\"\"|\(\s*\))(?!\w)"),
    "a mask": re.compile(r"\b(?:user|host)-\d+\b"),
}
_COMMAND = {
    "a value that is not there": re.compile(r"(?<![-\w])(?:None|nan|null)(?!\w)(?<!/dev/null)|Missing\("),
    "empty quotes": re.compile(r"(?<![\w=])(?:''|\"\")(?!\w)"),
    "a place to fill in": re.compile(r"\b(?:WATTS|VERSION|NUMBER|XX+)\b"),
}
_SAYS_TWICE = ("had had", "that that")
_MOST = {"GiB": 1 << 15, "G": 1 << 15, "MiB": 1 << 25, "W": 20_000, "°C": 150, "%": 1_000}
"""Above these a number is one in another unit."""
_AMOUNT = re.compile(rf"\b(\d+(?:\.\d+)?) ?({'|'.join(_MOST)})(?!\w)")
_VERSIONS = {
    "torch.version": re.compile(r"(?<![\w-])torch==([\w.+]+)"),
    "driver.version": re.compile(r"nvidia-driver-(\d+)"),
    "python.patient.version": re.compile(r"venv [^&|]*--python (\d+\.\d+(?:\.\d+)?)\b"),
    "cuda.nvcc_version": re.compile(r"cuda-toolkit[-=](\d+[-.]\d+)"),
    "cuda.gcc_version": re.compile(r"\bgcc(?:-toolset)?-(\d+)\b"),
}
"""A fact that a step changes, and where a command names it."""
_NUMBERS = {
    "host.memory_limit_mib": (re.compile(r"(?:--memory=|MemoryMax=|--mem=|memory: )(\d+)G?i?g?\b"), 1024),
    "host.shm_mib": (re.compile(r"--shm-size=(\d+)g|sizeLimit: (\d+)Gi"), 1024),
    "host.cpu_quota_cores": (re.compile(r"--cpus=(\d+)|cpu: '(\d+)'|CPUQuota=(\d+)00%|--cpus-per-task=(\d+)"), 1),
    "host.open_files": (re.compile(r"ulimit -n (\d+)"), 1),
}
"""Likewise, with how many of the fact's units make one of the command's."""
_WATTS = re.compile(r"nvidia-smi -i (\d+) -pl (\d+)")


def faults(report: Report) -> list[str]:
    """Each, with the finding and the words."""
    found = []
    for finding in (*report.findings, *report.remarks):
        for kind, text in _texts(finding):
            rules = _COMMAND if kind == "command" else _SENTENCE
            wrong = [what for what, rule in rules.items() for hit in rule.findall(text) if hit not in _SAYS_TWICE]
            wrong += [f"{number} {unit}" for number, unit in _AMOUNT.findall(text) if float(number) > _MOST[unit]]
            found += [f"{finding.id}: {kind}: {what}: {text}" for what in wrong]
        found += [f"{finding.id}: {what}" for what in _disagreeing(finding)]
    return found


def _texts(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "title", finding.title
    quoted = finding.detail
    for line in finding.lines:
        quoted = quoted.replace(line.text, "")
    yield "detail", quoted
    for fix in finding.fixes:
        yield "fix", fix.title
        yield "note", fix.note
        for step in fix.steps:
            yield "step", step.text
            yield "command", step.command
            for other in step.alternatives:
                yield "command", other.command


def _disagreeing(finding: Finding) -> Iterator[str]:
    """A step whose command has another version or number than its changes."""
    for step in (step for fix in finding.fixes for step in fix.steps):
        for path, named in _VERSIONS.items():
            changed = step.changes.get(path)
            for version in named.findall(step.command) if isinstance(changed, str) else ():
                if not changed.startswith(version.replace("-", ".")):
                    yield f"the command says {version}, the changes {path} = {changed}"
        for path, (named, units) in _NUMBERS.items():
            changed = step.changes.get(path)
            for found in named.finditer(step.command) if isinstance(changed, (int, float)) else ():
                number = int(next(filter(None, found.groups())))
                if number * units != changed:
                    yield f"the command says {found[0]}, the changes {path} = {changed}"
        limits = {gpu.index: gpu.power_limit_w for gpu in known(step.changes.get("gpus")) or () if isinstance(gpu, Gpu)}
        for index, watts in _WATTS.findall(step.command):
            if limits and limits.get(int(index)) != int(watts):
                yield f"the command says {watts} W, the changes {limits}"
