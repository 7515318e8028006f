"""How well `gpudoctor explain - --format json` finds confirmed root causes in texts that people pasted.

    python benchmarks/cases.py [--cases SET] [--lines] [--log] [--process] [--wrong] [--sound] [--only TEXT]

SET (else the public cases) is a file with one case per line (facts, error_text, collect_env, root_cause, decidable,
also, healthy), or a folder with one JSON file per case. A `render.py` next to them turns a case into text, else that of
the public cases. Each text goes through the real command: in this process, or with --process in one of its own. Prints
figures in all (intervals are Wilson's, 95 %) and for each root cause, what was taken for what, and with --wrong each
case that is wrong.
--lines: only what a machine printed (error_text, collect_env), of the cases that have such lines. --log: the text in
the midst of 40 kB of a real training log.
--sound also applies each failing finding's first fix to the facts: it must go away, and no new failure may come.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import case_file
from doctor.findings.renamed import current

CASES = Path(__file__).parent / "cases" / "public.jsonl"
"""The public cases."""


class Answer(NamedTuple):
    """What the command said of one case."""

    case: str
    slug: str
    also: tuple[str, ...]
    decidable: bool
    healthy: bool
    findings: tuple[tuple[str, str], ...]
    """(id, status), in the order of the report."""
    needs: int
    possible: tuple[str, ...]
    likely: bool
    """A warning calls a cause likely."""
    nothing: bool
    """Nothing points at the environment: no failure, no warning, and no cause likelier than none."""

    @property
    def right(self) -> tuple[str, ...]:
        return (self.slug, *self.also)

    @property
    def failing(self) -> list[str]:
        return [name for name, status in self.findings if status == "fail"]

    @property
    def first(self) -> str:
        """Id of the first finding where it is one that says something: fail or warn."""
        return self.findings[0][0] if self.findings and self.findings[0][1] in ("fail", "warn") else ""

    @property
    def named(self) -> str:
        """Id of the first finding, proven or called likely; where there is none, of the likeliest possible cause."""
        return self.first or (self.possible[0] if self.possible else "")

    @property
    def three(self) -> list[str]:
        """The first three that are named: findings that say something, then possible causes."""
        found = [name for name, status in self.findings if status in ("fail", "warn")]
        return [*dict.fromkeys([*found, *self.possible])][:3]


def load_cases(where: Path = CASES) -> list[dict[str, Any]]:
    """The cases of a set, sorted by id: a file of JSON Lines, or a folder with one JSON file per case."""
    if where.is_dir():
        found = [json.loads(path.read_text("utf-8")) for path in sorted(where.glob("*.json"))]
    else:
        found = [*case_file.read(where).values()]
    return [_of_today(case) for case in found]


def _of_today(case: dict[str, Any]) -> dict[str, Any]:
    """The case with the ids that its causes have today."""
    cause = {**case["root_cause"], "slug": current(case["root_cause"]["slug"])}
    return {**case, "root_cause": cause, "also": [*map(current, case.get("also") or ())]}


def renderer(where: Path = CASES) -> Callable[[dict[str, Any]], str]:
    """`render` of the set's own render.py, else of the public cases'."""
    own = (where if where.is_dir() else where.parent) / "render.py"
    spec = importlib.util.spec_from_file_location("render_cases", own if own.exists() else CASES.with_name("render.py"))
    if spec is None or spec.loader is None:
        raise SystemExit(f"{where} has no render.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    render: Callable[[dict[str, Any]], str] = module.render
    return render


def ask_here(text: str) -> dict[str, Any]:
    """The command in this process: the same code behind a file in place of a pipe."""
    from doctor.commands.flags import EXPLAIN, read_flags
    from doctor.commands.run_explain import explain_text

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "report.json")
        flags = read_flags(EXPLAIN, ["--format", "json", "--output", str(out)])
        assert flags is not None
        explain_text(text.encode(), "-", flags)
        report: dict[str, Any] = json.loads(out.read_bytes())
        return report


def ask_process(text: str) -> dict[str, Any]:
    """The command as people run it."""
    words = [sys.executable, "-m", "doctor", "explain", "-", "--format", "json"]
    done = subprocess.run(words, input=text.encode(), capture_output=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"exit {done.returncode}: {done.stderr.decode()}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def answer(case: dict[str, Any], report: dict[str, Any]) -> Answer:
    """A case beside its report."""
    found = tuple((f["id"], f["status"]) for f in report["findings"])
    return Answer(
        case["id"],
        case["root_cause"]["slug"],
        tuple(case.get("also") or ()),
        case["decidable"] == "yes",
        bool(case["healthy"]),
        found,
        len(report["needs"]),
        tuple(report["possible"]),
        bool(report["likely"]),
        not found or (found[0][1] == "unknown" and not report["possible"]),
    )


def printed(case: dict[str, Any]) -> dict[str, Any]:
    """The case with what a machine printed alone."""
    return {**case, "facts": {}}


def unsound(report: dict[str, Any]) -> str:
    """Why a first fix of this report is not sound; empty where all are."""
    from doctor.judge.saved import parse_report
    from tests.soundness.sound import assert_fixes_are_sound

    saved = parse_report(json.dumps(report).encode(), "a case")
    try:
        assert_fixes_are_sound(saved.snapshot, saved.policy)
    except AssertionError as error:
        return str(error)
    return ""


def percent(part: int, whole: int) -> str:
    """`571 of 803 (71 %, 68 to 74)`."""
    if not whole:
        return "0 of 0"
    rate, z = part / whole, 1.96
    middle = (rate + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * sqrt(rate * (1 - rate) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return f"{part} of {whole} ({100 * rate:.0f} %, {100 * max(0.0, middle - half):.0f} to {100 * (middle + half):.0f})"


def print_figures(answers: Sequence[Answer]) -> None:
    """The goals' figures."""
    sick = [a for a in answers if a.decidable and not a.healthy]
    undecided = [a for a in answers if not a.decidable]
    healthy = [a for a in answers if a.healthy]
    first = sum(a.first in a.right for a in sick)
    likely = sum(a.named in a.right for a in sick)
    among = sum(any(name in a.right for name, status in a.findings if status != "unknown") for a in sick)
    wrong = [a for a in sick if a.first and a.first not in a.right]
    unknown = [a for a in sick if not a.first]
    sure = [a for a in undecided if a.first not in ("", *a.right) and (a.failing or a.likely)]
    honest = [a for a in undecided if not a.failing]
    named = sum(any(name in a.right for name in a.possible) or a.first in a.right for a in undecided)
    late = [a for a in answers if a.findings and a.findings[0][1] == "unknown" and a.failing]
    for words, part, whole in (
        ("decidable: first finding right", first, sick),
        ("decidable: first finding right, or the likeliest possible cause", likely, sick),
        ("decidable: right in the first three named", sum(bool({*a.three} & {*a.right}) for a in sick), sick),
        ("decidable: among the findings", among, sick),
        ("decidable: confident and wrong", len(wrong), sick),
        ("decidable: honest unknown", len(unknown), sick),
        ("undecidable: confident other cause", len(sure), undecided),
        ("undecidable: honest unknown", len(honest), undecided),
        ("undecidable: right cause proven or possible", named, undecided),
        ("healthy: false failures", sum(bool(a.failing) for a in healthy), healthy),
        ("healthy: a cause called likely", sum(a.likely for a in healthy), healthy),
        ("healthy: no cause named at all", sum(a.nothing for a in healthy), healthy),
    ):
        print(f"{words}: {percent(part, len(whole))}")
    print(f"unknown before a proven failure: {len(late)}")


def print_slugs(answers: Sequence[Answer]) -> None:
    """One row for each root cause."""
    print("\n| root cause | cases | first right | any right | confident, wrong | unknown |")
    print("| --- | --- | --- | --- | --- | --- |")
    for slug in sorted({a.slug for a in answers}):
        rows = [a for a in answers if a.slug == slug]
        first = sum(a.first in a.right for a in rows)
        any_right = sum(any(name in a.right for name, status in a.findings if status != "unknown") for a in rows)
        wrong = sum(bool(a.first) and a.first not in a.right for a in rows)
        print(f"| {slug} | {len(rows)} | {first} | {any_right} | {wrong} | {sum(not a.first for a in rows)} |")
    taken = Counter((a.slug, a.first) for a in answers if a.first and a.first not in a.right)
    for (slug, other), count in taken.most_common():
        print(f"{slug} taken for {other}: {count}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES, help="default: the public ones")
    parser.add_argument("--lines", action="store_true", help="only what a machine printed")
    parser.add_argument("--log", action="store_true", help="in the midst of 40 kB of a training log")
    parser.add_argument("--process", action="store_true", help="one process for each case, as people run it")
    parser.add_argument("--wrong", action="store_true", help="list each case that is wrong")
    parser.add_argument("--sound", action="store_true", help="apply the first fix of each failure to the facts")
    parser.add_argument("--only", default="", help="only cases whose id or root cause holds this text")
    given = parser.parse_args()
    render, ask = renderer(given.cases), ask_process if given.process else ask_here
    log = Path(__file__).with_name("training_log.txt").read_text("utf-8").splitlines() if given.log else []
    half = len(log) // 2
    answers, broken = [], []
    for case in load_cases(given.cases):
        if given.lines:
            case = printed(case)
            if not (case.get("error_text") or case.get("collect_env")):
                continue
        if given.only in case["id"] or given.only in case["root_cause"]["slug"]:
            text = render(case)
            report = ask("\n".join([*log[:half], text.rstrip("\n"), *log[half:]]) + "\n" if log else text)
            answers.append(answer(case, report))
            broken += [(case["id"], why) for why in ([unsound(report)] if given.sound else []) if why]
    print_figures(answers)
    if given.sound:
        print(f"first fixes sound: {percent(len(answers) - len(broken), len(answers))}")
        for name, why in broken:
            print(f"{name}: {why}")
    print_slugs(answers)
    if given.wrong:
        for a in answers:
            sure = bool(a.failing) and a.failing[0] not in a.right
            if bool(a.failing) if a.healthy else (a.first not in a.right if a.decidable else sure):
                kind = "" if a.decidable else ", undecidable"
                print(f"{a.case} [{a.slug}{kind}]: {list(a.findings)[:4]} possible {list(a.possible)[:3]}")


if __name__ == "__main__":
    main()
