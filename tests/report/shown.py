"""What each format shows of each sample report, word by word: `shown/FORMAT.txt`; `python -m tests.report.shown` writes.

Read the difference before you commit it. Drawings are left out: `test_plot_svg` and others read them.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from doctor import __version__
from doctor.commands.assess import assess
from doctor.commands.run_check import render
from doctor.judge.plan import plan
from doctor.judge.report import Report
from doctor.report.steps import plan_text
from doctor.report.terminal import Display
from doctor.snapshot import Engine
from doctor.text import read

from ..healthy import healthy
from ..judging import matrix, report
from ..sickness import not_loaded
from ..torches import not_asked, with_torch
from .measured_samples import cpu_measured, full_measured, told, two_gpus, watched
from .samples import sick

FOLDER = Path(__file__).with_name("shown")
_FEW = ("two causes", "every kind of step", "two GPUs", "text nccl")
FORMATS: dict[str, tuple[tuple[int, tuple[str, ...]], ...]] = {
    "terminal": ((0, ()), (2, ("two causes", "full proof"))),
    "markdown": ((0, (*_FEW, "watched", "text apt")),),
    "plan": ((0, ("not loaded", "two causes", "two steps")),),
    "html": ((0, _FEW[1:]),),
    "github": ((0, ()),),
    "junit": ((0, _FEW[:2]),),
    "sarif": ((0, _FEW[:2]),),
}
"""Format to how often -v is given, with the reports that are shown so (none named: all)."""
_DRAWN = re.compile(r"<(svg|style|script)\b.*?</\1>", re.DOTALL)
_NOW = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_VERSIONS = re.compile("|".join(map(re.escape, (__version__, matrix().version))))


def reports() -> Iterator[tuple[str, Report]]:
    yield "healthy", report(healthy())
    yield "two in a container", report(healthy("h100", "a100", container=True))
    yield "not loaded", report(not_loaded(healthy()))
    yield "two causes", report(not_asked(with_torch(healthy("rtx5090", "gtx1080"), "2.6.0", "cu124")))
    slurm = {"host.scheduler": "slurm", "torch_run.first_call_code": 999}
    yield "two steps", report(healthy().replace(slurm))
    docker = Engine(kind="docker", version="27.3.1", runtimes=("runc",))
    lacking = {"engines.engines": (docker,), "engines.hook": False, "engines.cdi": ()}
    yield "a command in a note", report(healthy().replace(lacking))
    yield "every kind of step", sick()
    yield "full proof", told(full_measured())
    yield "two GPUs", told(two_gpus())
    yield "CPU alone", told(cpu_measured())
    yield "watched", told(watched())
    texts = Path(__file__).parents[1] / "text" / "texts"
    for name in ("nccl", "apt"):
        yield f"text {name}", report(read((texts / f"{name}.txt").read_text("utf-8"), f"{name}.txt"))


def shown(format_: str, all_reports: dict[str, Report]) -> str:
    """Of each report a digest of its text in this format, then every line that is in one of them, once."""
    digests, lines = [], {}
    for verbose, names in FORMATS[format_]:
        for name in names or all_reports:
            flags = {"format_": format_.replace("terminal", "text"), "output": "report", "verbose": verbose}
            one = all_reports[name]
            if format_ == "plan":
                text = plan_text(plan(one.snapshot, matrix(), one.policy, "", assess), Display(width=80))
            else:
                text = render(one, {**flags, "ascii_": False, "no_color": True}).decode()
            for changing, word in ((_DRAWN, r"<\1/>"), (_NOW, "NOW"), (_VERSIONS, "VERSION")):
                text = changing.sub(word, text)
            rows = [row.rstrip() for row in text.splitlines()]
            number = hashlib.sha1("\n".join(rows).encode()).hexdigest()[:12]
            digests.append(f"{name}{' -' + verbose * 'v' if verbose else ''}: {number}")
            lines.update(dict.fromkeys(rows))
    return "\n".join([*digests, "", *filter(None, lines)]) + "\n"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    all_reports = dict(reports())
    for format_ in FORMATS:
        (FOLDER / f"{format_}.txt").write_text(shown(format_, all_reports), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
