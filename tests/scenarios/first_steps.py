"""The first fix for each cause on each machine, as somebody read it who did not write it: `first_steps.tsv`.

`python -m tests.scenarios.first_steps` judges all scenarios and writes the table again: a row whose step is as it was
keeps its reading, every other one gets a question mark, for a reader to answer: would it work there, pasted as printed,
and what would be lost?
"""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).with_name("first_steps.tsv")
_HEAD = ("machine", "finding", "fix", "where", "first step", "ends", "works", "why, and what would be lost")


class Row(NamedTuple):
    """A machine's cause with the first step of its first fix. `works`: yes or no; '?': nobody has read it."""

    machine: str
    finding: str
    fix: str
    where: str
    step: str
    ends: str
    works: str = "?"
    why: str = ""

    @property
    def printed(self) -> tuple[str, ...]:
        """What gpudoctor prints: all but the reading."""
        return self[:6]


def rows_of(machine: str, report: dict[str, Any]) -> list[Row]:
    """A row for each cause that has a fix; equal ones (eight GPUs of one fault) once."""
    rows = {}
    for finding in report["findings"]:
        if finding["downstream_of"] or not finding["fixes"]:
            continue
        fix = finding["fixes"][0]
        step = fix["steps"][0]
        words = " ".join(step["text"].split())
        command = " ; ".join(line for line in step["command"].splitlines() if line)
        printed = f"{words} $ {command}" if command else words
        row = Row(machine, finding["id"], fix["title"], step["where"], printed, step["ends"])
        rows[row.printed] = row
    return list(rows.values())


def read() -> list[Row]:
    """The table as it is committed."""
    lines = csv.reader(io.StringIO(TABLE.read_text("utf-8")), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Row(*line) for line in list(lines)[1:]]


def write(rows: list[Row]) -> None:
    """Write it; readings of rows that are printed as before are kept."""
    known = {row.printed: row for row in read()} if TABLE.exists() else {}
    lines = ["\t".join(_HEAD), *("\t".join(known.get(row.printed, row)) for row in rows)]
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Judge every scenario and write the table."""
    from tests.fakes import build_fakes

    from . import fix_tables, take
    from .test_scenarios import judge_all

    with tempfile.TemporaryDirectory() as folder:
        judged = judge_all(take.names(), Path(folder), build_fakes(Path(folder) / "fakes"))
    write([row for name, (report, _, _) in judged.items() for row in rows_of(name, report)])
    fix_tables.write(
        {
            key: text
            for name, (report, _, _) in judged.items()
            for key, text in fix_tables.tables_of(name, report).items()
        }
    )


if __name__ == "__main__":
    main()
