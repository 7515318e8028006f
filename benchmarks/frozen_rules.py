"""What the rules said of cases before anybody had seen those: the code before a batch of cases was added judges it.

    python benchmarks/frozen_rules.py

For each commit of BATCHES, whose cases were used to repair the rules in that same commit, its parent is checked out
into a scratch folder and explains the cases that the commit added and that are still there, as today's `render.py`
writes them. Writes
benchmarks/frozen_rules.jsonl: case, commit of the rules, first finding, its status, and the causes called possible.
`training/ranker.py` sets from it where a cause may be called likely. Needs the repository's history, and this Python's
packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path("benchmarks", "cases")
OUT = Path(__file__).with_suffix(".jsonl")
BATCHES = (
    "662f673", "2887b06", "7088555", "5c94902", "80f3feb", "c9f8277", "245e224", "066f912", "39394b0", "72b3c77",
    "0b0f359", "c522ad4", "d7f2060", "b76a038", "c962552", "0c43d72", "a1885ef", "ab454d8",
    "c5adc32",
)  # fmt: skip
_ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from benchmarks.cases import ask_here
for line in sys.stdin:
    name, text = json.loads(line)
    said = ask_here(text)
    first = said["findings"][0] if said["findings"] else {"id": "", "status": ""}
    row = [name, first["id"], first["status"], said["verdict"], list(said["possible"])]
    print("said", json.dumps(row), flush=True)
"""


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout


def added(commit: str) -> list[tuple[str, str]]:
    """(id, text) of the cases that a commit added, as they are today."""
    from benchmarks.cases import load_cases, renderer

    render, new = renderer(), _ids(commit) - _ids(f"{commit}^")
    return [(case["id"], render(case)) for case in load_cases() if case["id"] in new]


def _ids(commit: str) -> set[str]:
    """The cases of a commit: one file each, later one line each."""
    names = {Path(name) for name in _git("ls-tree", "--name-only", commit, f"{FOLDER}/").split()}
    lines = _git("show", f"{commit}:{FOLDER}/public.jsonl").split("\n") if FOLDER / "public.jsonl" in names else ()
    return {name.stem for name in names if name.suffix == ".json"} | {json.loads(row)["id"] for row in lines if row}


def judged(commit: str) -> list[list[object]]:
    """Rows of the cases that a commit added, by the code of its parent."""
    asked = "".join(json.dumps(row) + "\n" for row in added(commit))
    with tempfile.TemporaryDirectory() as scratch:
        old = Path(scratch, "old")
        _git("worktree", "add", "--detach", str(old), f"{commit}^")
        try:
            command = [sys.executable, "-c", _ASK, str(old)]
            done = subprocess.run(command, input=asked, cwd=old, check=True, capture_output=True, text=True)
        finally:
            _git("worktree", "remove", "--force", str(old))
    return [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("said ")]


def main() -> None:
    """Write the file."""
    names = ("case", "first", "status", "verdict", "possible")
    rows = [
        {"rules": f"{commit}^", **dict(zip(names, row, strict=True))} for commit in BATCHES for row in judged(commit)
    ]
    OUT.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    print(f"{len(rows)} cases")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
