"""What `gpudoctor explain` says of every text that we know, kept on one line each, and what has become different.

    python benchmarks/verdicts.py --write FILE
    python benchmarks/verdicts.py --compare FILE [--list 5]

The texts: the public cases, those of ../shared/cases where that is there, and the samples of the tests. A line holds
the verdict, the exit code, the checks that are not skipped, the findings in order, the possible causes, and the
commands of the first fix. `--compare` counts the differences by kind, names the first texts of each, and exits 1 where
there is any.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "tests" / "text"
REMOTE = HERE.parents[1] / "shared" / "cases"


def texts() -> Iterator[tuple[str, str]]:
    """(name, text) of every text: cases as their `render.py` writes them, samples as they are."""
    from benchmarks.cases import CASES, load_cases, renderer

    for where, name in ((CASES, "benchmarks"), (REMOTE, "shared")):
        if where.exists():
            render = renderer(where)
            yield from ((f"{name}/{case['id']}", render(case)) for case in load_cases(where))
    for name in ("samples", "tool_lines"):
        for number, row in enumerate(json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))):
            yield f"{name}/{number}", row["text"]
    for path in sorted((SAMPLES / "texts").glob("*.txt")):
        yield f"texts/{path.stem}", path.read_text("utf-8")


def verdict(text: str, folder: Path) -> dict[str, Any]:
    """What the command says of a text, in what must stay the same."""
    from doctor.commands.flags import EXPLAIN, read_flags
    from doctor.commands.run_explain import explain_text

    out = folder / "report.json"
    flags = read_flags(EXPLAIN, ["--format", "json", "--output", str(out)])
    assert flags is not None
    code = explain_text(text.encode(), "-", flags)
    report = json.loads(out.read_bytes())
    findings = report["findings"]
    fix = findings[0]["fixes"][0] if findings and findings[0]["fixes"] else None
    return {
        "verdict": report["verdict"],
        "exit": code,
        "checks": {c["id"]: c["status"] for c in report["checks"] if c["status"] != "skipped"},
        "findings": [f"{f['id']} {f['status']}" for f in findings],
        "possible": report["possible"],
        "commands": [step["command"] for step in fix["steps"]] if fix else [],
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """The kinds of what is different between two verdicts of one text."""
    for name in ("verdict", "exit"):
        if old[name] != new[name]:
            yield f"{name}: {old[name]} -> {new[name]}"
    for name in sorted({*old["checks"], *new["checks"]}):
        was, now = (side["checks"].get(name, "skipped") for side in (old, new))
        if was != now:
            yield f"check {name}: {was} -> {now}"
    if old["findings"] != new["findings"]:
        lost, more = ([f for f in a["findings"] if f not in b["findings"]] for a, b in ((old, new), (new, old)))
        yield f"findings: {', '.join(lost) or '-'} -> {', '.join(more) or '-'}" if lost or more else "findings: order"
    if old["findings"][:1] != new["findings"][:1]:
        yield f"first finding: {old['findings'][:1]} -> {new['findings'][:1]}"
    if old["possible"] != new["possible"]:
        yield "possible causes"
    if old["commands"] != new["commands"] and old["findings"][:1] == new["findings"][:1]:
        yield f"first fix of {(*new['findings'], '-')[0]}"


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description="What explain says of every known text, and what became different.")
    parser.add_argument("--write", type=Path, help="write the verdicts, one JSON line a text")
    parser.add_argument("--compare", type=Path, help="compare with such a file")
    parser.add_argument("--list", type=int, default=5, help="texts that are named for each difference")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        now = {name: verdict(text, Path(folder)) for name, text in texts()}
    if given.write:
        given.write.write_text("".join(json.dumps({"name": n, **v}) + "\n" for n, v in now.items()), "utf-8")
        print(f"{len(now)} texts")
    if not given.compare:
        return 0
    before = {row.pop("name"): row for row in map(json.loads, given.compare.read_text("utf-8").splitlines())}
    kinds: dict[str, list[str]] = defaultdict(list)
    for name, new in now.items():
        for kind in differences(before[name], new) if name in before else ("a new text",):
            kinds[kind].append(name)
    for name in before.keys() - now.keys():
        kinds["a text that is no longer there"].append(name)
    for kind, names in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} {kind}: {', '.join(names[: given.list])}")
    print(f"{len({n for names in kinds.values() for n in names})} of {len(now)} texts differ")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    sys.exit(main())
