"""Figures of the benchmarks: `results/NAME.json` has their runs, the README's table the newest run of each.

    python benchmarks/check.py PATIENT | python benchmarks/results.py record check --command '...' --says '...'
    python benchmarks/results.py show NAME     the newest run, with its tables, as Markdown
    python benchmarks/results.py table         write the README's table again

`record` reads what a script printed: its Markdown tables and its other lines. The day, the commit and the machine are
filled in; `--load` says what else the machine did, `--says` is the sentence for the README's table. A new NAME needs
`--title`: what is measured.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "results"
README = HERE / "README.md"
BEGIN, END = "<!-- results -->\n", "<!-- /results -->\n"
NAME = r"[a-z][a-z0-9_]*"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_ROW = re.compile(rf"\[\s*{_TEXT}(?:,\s*{_TEXT})*\s*\]")
"""A list of texts: a row of a table stands on one line."""


class Table(Struct, forbid_unknown_fields=True):
    """As it was printed."""

    columns: list[str]
    rows: list[list[str]]


class Run(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What one run gave, on which day, commit and machine."""

    date: str
    commit: str
    machine: str
    command: str
    says: str
    """The figures in one sentence."""
    notes: list[str] = []
    tables: list[Table] = []
    lines: list[str] = []
    """What was printed beside the tables."""


class Result(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One benchmark; the last run is the newest."""

    title: str
    """What is measured."""
    goal: str = ""
    runs: list[Run] = []


def read(name: str) -> Result:
    """A benchmark's results.

    Raises:
        ValueError: no such file, or not a file of results.
    """
    try:
        return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Result)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(f"{FOLDER.name}/{name}.json: {error}") from None


def text(result: Result) -> str:
    """As it is kept: readable in a diff."""
    data = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
    return _ROW.sub(lambda row: re.sub(r"(,?)\n\s+", _joint, row[0]), data) + "\n"


def write(name: str, result: Result) -> None:
    """Keep it."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(text(result), "utf-8")


def _joint(gap: re.Match[str]) -> str:
    return ", " if gap[1] else ""


def names() -> list[str]:
    """All benchmarks that have results."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def parse(printed: str) -> tuple[list[Table], list[str]]:
    """The Markdown tables of a text, and its other lines."""
    tables: list[Table] = []
    lines: list[str] = []
    rows: list[list[str]] = []
    for line in [*printed.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
            continue
        if len(rows) > 1:
            tables.append(Table(rows[0], rows[2:]))
        rows = []
        if line.strip():
            lines.append(line.rstrip())
    return tables, lines


def machine(load: str) -> str:
    """This machine in a few words, without its name."""
    files = {
        "/proc/cpuinfo": r"model name\s*: (.*)",
        "/proc/meminfo": r"MemTotal:\s*(\d+)",
        "/etc/os-release": r'PRETTY_NAME="(.*)"',
    }
    cpu, memory, system = (_first(path, pattern) for path, pattern in files.items())
    parts = [f"{os.cpu_count()} cores of {cpu or platform.machine()}"]
    parts += [f"{int(memory) >> 20} GB"] * bool(memory) + [
        system or platform.system(),
        f"Python {platform.python_version()}",
    ]
    return ", ".join(parts) + (f"; {load}" if load else "")


def _first(path: str, pattern: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text("utf-8", "replace"))
    except OSError:
        return ""
    return found[1].strip() if found else ""


def commit() -> str:
    """The commit, with a + where the files are not as it has them; the results do not count."""
    git = ["git", "-C", str(HERE)]
    done = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False)
    changed = [*git, "status", "--porcelain", "--untracked-files=no", "--", "..", ":!results", ":!README.md"]
    dirty = subprocess.run(changed, capture_output=True, text=True, check=False).stdout
    if done.returncode:
        raise ValueError("this is not a git checkout: --commit says which one was measured")
    return done.stdout.strip() + ("+" if dirty else "")


def markdown(name: str) -> str:
    """The newest run in full."""
    result = read(name)
    run = result.runs[-1]
    parts = [f"{result.title}: {run.says}", f"`{run.command}`, {run.date}, commit {run.commit}, {run.machine}"]
    parts += [f"Goal: {result.goal}"] * bool(result.goal) + run.notes
    for table in run.tables:
        rows = [table.columns, ["---"] * len(table.columns), *table.rows]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, *(["\n".join(run.lines)] if run.lines else [])]) + "\n"


def summary() -> str:
    """The table of the README."""
    rows = ["| benchmark | measures | newest figures | goal | day, commit |", "| --- | --- | --- | --- | --- |"]
    for name in names():
        result = read(name)
        run = result.runs[-1]
        cells = (f"[{name}](results/{name}.json)", result.title, run.says, result.goal, f"{run.date}, {run.commit}")
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def with_table(page: str) -> str:
    """The page with the table of today."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{summary()}{END}{rest.partition(END)[2]}"


def record(given: argparse.Namespace, printed: str) -> None:
    """Add a run to the results of a benchmark, and write the README's table."""
    if not re.fullmatch(NAME, given.name):
        raise ValueError(f"{given.name} is not a name: lower-case letters, digits and _")
    result = read(given.name) if given.name in names() else Result(given.title)
    result.title, result.goal = given.title or result.title, given.goal or result.goal
    if not result.title:
        raise ValueError(f"{given.name} is new: --title says what is measured")
    tables, lines = parse(printed)
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    where = machine(given.load)
    run = Run(day, given.commit or commit(), where, given.command, given.says, given.note, tables, lines)
    result.runs.append(run)
    write(given.name, result)
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")


def main() -> int:
    """Record, show or write the table; 2 and one line where that is not possible."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    new = actions.add_parser("record", help="add a run; reads what the script printed from stdin")
    new.add_argument("name")
    new.add_argument("--command", required=True, help="what was run")
    new.add_argument("--says", required=True, help="its figures in one sentence")
    for option, words in (
        ("--title", "what is measured"), ("--goal", "what it should reach"), ("--load", "what else the machine did"),
        ("--commit", "the commit that was measured, if not this one"),
    ):  # fmt: skip
        new.add_argument(option, default="", help=words)
    new.add_argument("--note", action="append", default=[], help="a condition of the run; repeatable")
    actions.add_parser("show", help="the newest run in full").add_argument("name")
    actions.add_parser("table", help="write the README's table")
    given = parser.parse_args()
    try:
        if given.action == "record":
            record(given, sys.stdin.read())
        elif given.action == "show":
            print(markdown(given.name), end="")
        else:
            README.write_text(with_table(README.read_text("utf-8")), "utf-8")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
