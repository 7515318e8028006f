"""Writes `doctor/text/catalogue.json`, which the product reads, from `doctor/text/catalogue/*.toml`, which people read.

    python training/catalogue.py [--check]

The same for `doctor/text/tables/*.toml`: `shapes.json`, `marks.json`, `xids.json`, `fixes.json`, a line for each row,
and `grammar.json`, a line for each section.

Every row is checked first, and a fault is told with its file and line: an unknown key, operator or place, a condition
on a message or topic that there is none of, a check that does not exist, a pattern that does not compile or has fewer
groups than the row takes. --check writes nothing and exits with 1 where the file is not what the script would write.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from doctor.text.messages import FILE, SENTENCES  # noqa: E402
from training.catalogue_faults import BODY, references, shape  # noqa: E402

WING = ROOT / "doctor" / "text"
TABLES, SMALL = WING / "catalogue", WING / "tables"
TOPICS, PEOPLE, GRAMMAR = "topics.toml", "people.toml", "grammar.toml"


class Row(NamedTuple):
    """A row as it is written, and where: `line` counts from 1."""

    id: str
    fields: dict[str, Any]
    file: Path
    line: int

    @property
    def expression(self) -> str:
        """The pattern in one line: what is written in several is put together without the blanks around each."""
        return in_one_line(self.fields.get("pattern", ""))

    def examples(self, key: str) -> list[tuple[str, str]]:
        """(text, where it comes from) of `says` or `not`; a plain text comes from the row's own source."""
        found = self.fields.get(key, [])
        return [(e, self.fields.get("source", "")) if isinstance(e, str) else (e[0], e[1]) for e in found]

    def checks(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """(check, when) of `decides` or `hints`."""
        found = self.fields.get(key, [])
        return [(found, {})] if isinstance(found, str) else [(each["check"], each.get("when", {})) for each in found]


def in_one_line(pattern: str) -> str:
    """A pattern that is written in several lines, without the blanks around each."""
    return "".join(part.strip() for part in pattern.split("\n")) if "\n" in pattern else pattern


def rows(tables: Path = TABLES) -> list[Row]:
    """All rows, file by file; people's words come last: of one line, what a program prints is told first."""
    found = []
    for path in sorted(tables.glob("*.toml"), key=lambda path: (path.name == PEOPLE, path.name)):
        if path.name == TOPICS:
            continue
        text = path.read_text("utf-8")
        lines = {name: number for number, line in enumerate(text.split("\n"), 1) if (name := _header(line))}
        found += [Row(name, fields, path, lines.get(name, 1)) for name, fields in tomllib.loads(text).items()]
    return found


def _header(line: str) -> str:
    found = re.fullmatch(r"\[([\w.-]+)\]\s*", line)
    return found[1] if found else ""


def topics(tables: Path = TABLES) -> dict[str, str]:
    """What readers tell beside the messages, by name, with the meaning."""
    found: dict[str, str] = tomllib.loads((tables / TOPICS).read_text("utf-8"))["topics"]
    return found


def known_checks() -> set[str]:
    """Ids of all checks, and of the causes that only a text can show."""
    from doctor.judge import check_ids
    from doctor.text.cause_pages import cause_ids

    return {*check_ids(), *cause_ids()}


def faults(table: list[Row], names: set[str], checks: set[str]) -> Iterator[str]:
    """`file:line: [id] what is wrong`, for each fault of each row. `names`: of topics; `checks`: ids of all checks."""
    names = names | {row.id for row in table}
    seen: dict[str, Row] = {}
    for row in table:
        wrong = [*shape(row), *references(row, names, checks)]
        if row.id in seen:
            wrong.append(f"a row in {seen[row.id].file.name} has the same name")
        seen.setdefault(row.id, row)
        for what in wrong:
            yield f"{row.file.name}:{_line_of(row, what)}: [{row.id}] {what}"


def _line_of(row: Row, what: str) -> int:
    """The line that holds the word in quotes, or the key; else that of the row's name."""
    lines = row.file.read_text("utf-8").split("\n")[row.line :]
    end = next((n for n, line in enumerate(lines) if _header(line)), len(lines))
    for word in (*re.findall(r"'([^']+)'", what), what.partition(":")[0]):
        for number, line in enumerate(lines[:end]):
            if word in line:
                return row.line + 1 + number
    return row.line


def built(table: list[Row]) -> str:
    """The file's text, as `doctor.text.messages` says."""
    index, bodies = [], []
    for row in table:
        limit, words = row.fields.get("compare", ""), row.fields.get("words", False)
        index.append([row.id, row.fields["find"], row.expression, limit, words])
        body = {key: row.fields[key] for key in BODY if key in row.fields}
        body |= {key: row.checks(key) for key in ("decides", "hints") if key in body}
        bodies.append(body)
    sentences = [row.fields.get(key, "") for key in SENTENCES for row in table]
    return "\n".join([str(len(table)), *map(_json, [*index, *bodies, *sentences])]) + "\n"


def small_tables(folder: Path = SMALL) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(name of the built file, its rows) of each small table; patterns in one line, examples still there."""
    for path in sorted(folder.glob("*.toml")):
        if path.name == GRAMMAR:
            continue
        table = tomllib.loads(path.read_text("utf-8"))["row"]
        for row in table:
            row |= {key: in_one_line(row[key]) for key in ("pattern", "question", "abroad", "unless") if key in row}
        yield f"{path.stem}.json", table


def grammar(path: Path = SMALL / GRAMMAR) -> dict[str, Any]:
    """The words of `doctor/text/grammar/`, by section."""
    found = tomllib.loads(path.read_text("utf-8"))
    for row in found["sentence"]:
        row["pattern"] = in_one_line(row["pattern"])
    return found


def files(table: list[Row]) -> dict[Path, str]:
    """Every file that is built, with its text."""
    found = {WING / FILE: built(table)}
    for name, small in small_tables():
        lines = [_json({key: value for key, value in row.items() if key != "says"}) for row in small]
        found[WING / name] = "[\n" + ",\n".join(lines) + "\n]\n"
    words = grammar()
    words["sentence"] = [{key: value for key, value in row.items() if key != "says"} for row in words["sentence"]]
    sections = [f"{_json(name)}:{_json(section)}" for name, section in words.items()]
    found[WING / "grammar.json"] = "{\n" + ",\n".join(sections) + "\n}\n"
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> int:
    """Check the rows, and write the file or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where something would change")
    given = parser.parse_args()
    table = rows()
    if wrong := list(faults(table, set(topics()), known_checks())):
        print("\n".join(wrong), file=sys.stderr)
        return 1
    for path, text in files(table).items():
        if not given.check:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            print(f"{path.name} is not what {Path(__file__).name} would write: run it", file=sys.stderr)
            return 1
    print(f"{len(table)} messages in {len({row.file for row in table})} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
