"""Files of cases: JSON Lines, one case per line, sorted by id; and the command that changes one case.

    python benchmarks/case_file.py FILE show ID...    print cases, indented
    python benchmarks/case_file.py FILE put [CASES]   add a case, or replace the one with its id
    python benchmarks/case_file.py FILE drop ID...    delete cases

CASES is a file with one JSON object, or several behind each other ('-', the default: stdin). What `show` prints can be
edited and `put` again. `git diff --word-diff` shows what changed inside a line.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]


def read(path: Path) -> dict[str, Case]:
    """Id to case, in the order of the file.

    Raises:
        ValueError: a line is no JSON object with an id, or not behind the id of the line before it.
    """
    found: dict[str, Case] = {}
    last = ""
    text = path.read_text("utf-8").removesuffix("\n")
    for number, line in enumerate(text.split("\n") if text else (), 1):  # splitlines() also splits at U+2028
        try:
            case = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: not JSON: {error}") from None
        name = _id(case, f"{path}:{number}")
        if name <= last:
            raise ValueError(f"{path}:{number}: {name} comes after {last}: sort by id, each id once")
        found[name] = case
        last = name
    return found


def write(path: Path, cases: Iterable[Case]) -> None:
    """Write the file: sorted, one line per case."""
    lines = (json.dumps(case, ensure_ascii=False) for case in sorted(cases, key=lambda case: str(case["id"])))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def objects(text: str, name: str) -> Iterator[Case]:
    """The JSON objects of a text, one behind the other.

    Raises:
        ValueError: something else is in it.
    """
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        try:
            case, end = decoder.raw_decode(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{name}: not JSON: {error}") from None
        _id(case, name)
        yield case
        text = text[end:].lstrip()


def _id(case: Any, place: str) -> str:
    if not isinstance(case, dict) or not isinstance(case.get("id"), str) or not case["id"]:
        raise ValueError(f"{place}: not a JSON object with an id")
    return str(case["id"])


def change(given: argparse.Namespace) -> None:
    """Carry out the command line."""
    cases: dict[str, Case] = read(given.file)
    if given.action != "put" and (unknown := [name for name in given.ids if name not in cases]):
        raise ValueError(f"{given.file}: no case {', '.join(unknown)}")
    if given.action == "show":
        for name in given.ids:
            print(json.dumps(cases[name], indent=1, ensure_ascii=False))
        return
    if given.action == "drop":
        for name in given.ids:
            del cases[name]
            print(f"dropped {name}")
    else:
        text = sys.stdin.read() if given.cases == "-" else Path(given.cases).read_text("utf-8")
        for case in [*objects(text, given.cases)]:
            print(f"{'changed' if case['id'] in cases else 'added'} {case['id']}")
            cases[case["id"]] = case
    write(given.file, cases.values())


def main() -> int:
    """Run the command; 2 and one line where the file or a case cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="such as benchmarks/cases/public.jsonl")
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("show", "drop"):
        actions.add_parser(name).add_argument("ids", nargs="+", metavar="ID")
    actions.add_parser("put").add_argument("cases", nargs="?", default="-", metavar="CASES")
    try:
        change(parser.parse_args())
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
