"""No figure in README and the guides that nothing stands behind: a constant, a file of benchmarks/, or another's page.

The benchmarks' own page has figures with their script and day, which no test can hold.
"""

from __future__ import annotations

import re

from doctor.checks.gpu_slower_than_siblings import FAIL_PERCENT
from doctor.commands.watchdog import DEFAULT_S
from doctor.findings import watched_run as pace
from doctor.findings.measured_path import COPY_MB_S
from doctor.findings.measured_siblings import COPY_SHARE
from doctor.fleet.store.query import DEADLINE_S
from doctor.fleet.thresholds import thresholds
from doctor.judge.cited import OLD_DAYS
from doctor.patient.collective_speed import LARGEST, SMALLEST
from doctor.patient.speed_checks import REPEATS
from doctor.patient.speed_freivalds import BLOCK
from doctor.proof.loads import FULL_PERCENT
from doctor.proof.plan import IMPORT_MIB
from doctor.report.brief import MOST_LINES
from doctor.report.healthline import WIDTH
from doctor.snapshot.siblings import BELOW

from .rows import Faults
from .samples import ROOT, pages

_FIGURE = re.compile(
    r"(?<![\w.+-])(\d[\d,.]*\d|\d) ?(%|ms|s\b|seconds?|minutes?|days?|lines?|characters?|[KMG]i?B\b|times|of \d+\b|checks?|"
    r"machines?|texts?|cases?|points?|repeats?|columns|messages)"
)
_FLEET = thresholds()
_PROLOG = (ROOT / "doctor" / "commands" / "printed" / "slurm-prolog.txt").read_text("utf-8")
CONSTANTS = {
    f"{WIDTH} characters", f"{DEFAULT_S:.0f} seconds", f"{OLD_DAYS} days", f"{MOST_LINES} lines", f"{BLOCK} columns",
    f"{REPEATS} repeats", f"{SMALLEST >> 10} KiB", f"{LARGEST >> 20} MiB", f"{100 * BELOW:.0f} %",
    f"{100 * COPY_SHARE:.0f} %", f"{FAIL_PERCENT} %", f"{IMPORT_MIB / 1024:.1f} GiB",
    f"{pace.BUSY_PERCENT:.0f} %", f"{pace.IDLE_PERCENT:.0f} %", f"{pace.FULL_LINK:.0f} %", f"{pace.WORK_MEMORY:.0f} %",
    f"{pace.WORK_TENSOR:.0f} %", f"{pace.EXCHANGE_MB_S / 1000:.0f} GB", f"{100 * pace.WORKERS_FULL:.0f} %", f"{FULL_PERCENT} %",
    f"{100 * pace.FED_BY_WORKERS:.0f} %", f"{100 * pace.WORK_POWER:.0f} %", f"{pace.POLLING_SM:.0f} %",
    f"{100 * pace.ACCOUNTED:.0f} %", f"{COPY_MB_S:.0f} MB",
    f"{DEADLINE_S:.0f} seconds", f"{100 * _FLEET.odd_share.value:.0f} %", f"{100 * _FLEET.usual_share.value:.0f} %",
    *(f"{100 * _FLEET.floor(kind):.0f} %" for kind in ("matmul", "memory", "copy")),
    f"{re.findall(r'timeout ([0-9]+) gpudoctor', _PROLOG)[0]} seconds",
}  # fmt: skip
"""Figures that are the program's own."""


def paragraphs(text: str) -> list[str]:
    """The prose: no code, each row of a table for itself."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    return [
        part for block in re.split(r"\n\s*\n", text) for part in (block.splitlines() if "|" in block[:1] else [block])
    ]


def by_section(text: str) -> list[tuple[str, str]]:
    """Each paragraph with the section that it stands in."""
    return [(section, one) for section in re.split(r"(?m)^## ", text) for one in paragraphs(section)]


def behind(prose: str) -> str:
    """What the files of benchmarks/ that this prose names hold, and those of a folder that it names."""
    named = [ROOT / name for name in re.findall(r"benchmarks/[\w./-]*\w", prose)]
    files = [path for one in named for path in (sorted(one.glob("*.md")) if one.is_dir() else [one])]
    return "\n".join(path.read_text("utf-8") for path in files if path.is_file())


def holds(text: str, figure: str) -> bool:
    """Whether the figure stands there, or a number that it is rounded from."""
    if figure in text:
        return True
    value, places = float(figure.replace(",", "")), len(figure.partition(".")[2])
    numbers = (float(one.replace(",", "")) for one in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", text))
    return any(abs(one - value) <= 0.5001 * 10**-places for one in numbers)


def test_every_figure_has_something_behind_it() -> None:
    found = 0
    with Faults() as faults:
        for page in pages():
            if page.name in ("verified.md", "errors.md", "rules.md"):  # days and machines; the others are made of data
                continue
            for section, paragraph in by_section(page.read_text("utf-8")):
                files = behind(paragraph) or behind(section)
                prose = re.sub(r"`[^`]*`", "`", paragraph)
                for figure in _FIGURE.finditer(prose):
                    found += 1
                    words = " ".join(figure[0].split())
                    with faults.of(f"{page.name}: {words}"):
                        assert words in CONSTANTS or holds(files, figure[1]) or "](https://" in paragraph, prose
    assert found > 10
