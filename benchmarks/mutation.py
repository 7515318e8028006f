"""Would a test notice? `python -m benchmarks.mutation [FOLDER or FILE ...] [--changed-since REV] [--seed 1]`.

One change at a time is planted in a copy of the checkout, and the tests that run its line are run until one fails.
Prints how many changes were caught in each room and every one that was not. `--collect` comes first, once: it notes
which tests run which line, in `.mutation`. Needs the packages of the extra `mutation`.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import NamedTuple

from .mutants.checkout import ROOT, copy_checkout
from .mutants.covering import Covering, collect, product_files
from .mutants.kinds import Mutant, changes
from .mutants.rows import TABLES
from .mutants.trial import Outcome, Trial

MINUTES = 5.0
"""For a change that somebody is at work on."""


class Result(NamedTuple):
    mutant: Mutant
    outcome: Outcome


def main() -> int:
    flags = _options().parse_args()
    if flags.collect:
        print(f"{collect(flags.workers, flags.paths)} tests followed, in .mutation")
        return 0
    try:
        covering = Covering()
    except OSError:
        print("nothing is known of the tests yet: python -m benchmarks.mutation --collect", file=sys.stderr)
        return 2
    chance = random.Random(flags.seed)
    lines = changed_lines(flags.changed_since) if flags.changed_since else None
    known = [*product_files(), *(name for name in TABLES if (ROOT / name).exists())]
    files = [name for name in known if (lines is None or name in lines) and _is_in(name, flags.paths)]
    if not files:
        print("no file of the product is meant", file=sys.stderr)
        return 2
    if lines is None:
        chosen = sample(files, flags.count, chance)
    else:
        chosen = list(on_lines({name: lines[name] for name in files}, flags.count, chance))
    begun, minutes = perf_counter(), flags.minutes or (MINUTES if lines is not None else 0)
    results = run(chosen, covering, flags.workers, flags.seconds, flags.whole, minutes)
    head = f"{date.today()}, commit {_commit()}, seed {flags.seed}, {_in_words(flags.paths)}"
    if lines is not None:
        head += f", changed since {flags.changed_since}"
    text = table(results, f"{head}: {perf_counter() - begun:.0f} s")
    if len(results) < len(chosen):
        text += f"\n{len(chosen) - len(results)} more were not tried in {minutes:g} minutes"
    print(text)
    if flags.write:
        with open(flags.write, "a", encoding="utf-8") as file:
            file.write(f"{text}\n\n")
    return 0


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.mutation", description=(__doc__ or "").partition("\n")[0]
    )
    options.add_argument(
        "paths", nargs="*", help="folders or files (default: all); with --collect, arguments of pytest"
    )
    options.add_argument("--changed-since", metavar="REV", help="only lines that differ from this commit")
    options.add_argument("--count", type=int, default=60, help="changes to try (default: 60)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=40, help="of covering tests, for each change (default: 40)")
    options.add_argument("--minutes", type=float, help="start no change after these (with --changed-since: 5)")
    options.add_argument("--whole", action="store_true", help="run all quick tests on what survives")
    options.add_argument("--workers", type=int, default=1, help="changes tried at the same time (default: 1)")
    options.add_argument("--write", metavar="FILE", help="append the table to this file")
    options.add_argument("--collect", action="store_true", help="note which tests run which line")
    return options


def room(path: str) -> str:
    """The room of a file: `doctor/fit`, `compat_matrix`; the tables of the matrix are one of their own."""
    parts = path.split("/")
    deep = len(parts) > 2 and (parts[0] == "doctor" or path in TABLES)
    return "/".join(parts[:2]) if deep else parts[0]


def sample(files: list[str], count: int, chance: random.Random) -> list[Mutant]:
    """Changes spread over the rooms by their size, three at least in each, and over the kinds of change evenly."""
    sizes = {name: (ROOT / name).read_bytes().count(b"\n") for name in files}
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in files:
        rooms[room(name)].append(name)
    total = sum(sizes.values()) or 1
    found: list[Mutant] = []
    for _, names in sorted(rooms.items()):
        weights = [sizes[name] for name in names]
        wanted = max(3, round(count * sum(weights) / total)) if sum(weights) else 0
        of_room: dict[tuple[object, ...], Mutant] = {}
        for _ in range(wanted * 10):
            if len(of_room) == wanted:
                break
            name = chance.choices(names, weights)[0]
            one = _any_of(name, chance)
            if one:
                of_room[one[:-1]] = one
        found += of_room.values()
    return found


def on_lines(lines: dict[str, set[int]], count: int, chance: random.Random) -> Iterator[Mutant]:
    """Changes of these lines of each file, in a drawn order."""
    found = [one for name in lines for one in changes(name, (ROOT / name).read_text("utf-8"))]
    found = [one for one in found if lines[one.path] & set(range(one.line, one.last_line + 1))]
    for one in chance.sample(found, min(count, len(found))):
        if made := one.make():
            yield made


def _any_of(name: str, chance: random.Random) -> Mutant | None:
    by_kind = defaultdict(list)
    for one in changes(name, (ROOT / name).read_text("utf-8")):
        by_kind[one.kind].append(one)
    return chance.choice(by_kind[chance.choice(sorted(by_kind))]).make() if by_kind else None


def changed_lines(revision: str) -> dict[str, set[int]]:
    """File to the numbers of its lines that differ from the commit. Raises SystemExit where there is no such commit."""
    command = ["git", "-C", str(ROOT), "diff", "-U0", "--no-color", "--no-ext-diff", "--relative", revision, "--"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{revision}: {done.stderr.strip().partition(chr(10))[0]}")
    found: dict[str, set[int]] = defaultdict(set)
    name = ""
    for line in done.stdout.splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif block := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, many = int(block[1]), int(block[2] or 1)
            found[name] |= set(range(first, first + many))
    return found


def run(
    chosen: list[Mutant], covering: Covering, workers: int, seconds: float, whole: bool, minutes: float
) -> list[Result]:
    """Try each change in one of `workers` copies."""
    results, end = [], perf_counter() + minutes * 60
    with tempfile.TemporaryDirectory(prefix="gpudoctor-mutation-") as scratch:
        copies: SimpleQueue[Trial] = SimpleQueue()
        for number in range(workers):
            copies.put(Trial(copy_checkout(Path(scratch) / f"copy{number}"), covering))

        def attempt(one: Mutant) -> Result | None:
            if minutes and perf_counter() > end:
                return None
            trial = copies.get()
            try:
                return Result(one, trial.outcome(one, seconds, whole))
            finally:
                copies.put(trial)

        with ThreadPoolExecutor(workers) as pool:
            for done in as_completed([pool.submit(attempt, one) for one in chosen]):
                if result := done.result():
                    results.append(result)
                    print(_line(result), file=sys.stderr, flush=True)
    return results


def table(results: Iterable[Result], head: str) -> str:
    """Counts of each room, and each change that no test noticed."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    results = sorted(results, key=lambda one: (one.mutant.path, one.mutant.line))
    for one in results:
        for name in (room(one.mutant.path), "all"):
            counts[name][one.outcome.name] += 1
    lines = [head, f"{'room':<24} {'caught':>7} {'survived':>9} {'timed out':>10} {'no test':>8}"]
    for name in [*sorted(counts.keys() - {"all"}), *(["all"] if results else [])]:
        row = counts[name]
        share = (row["caught"] + row["timed out"]) / (sum(row.values()) or 1)
        figures = f"{row['caught']:>7} {row['survived']:>9} {row['timed out']:>10} {row['no test']:>8}"
        lines.append(f"{name:<24} {figures}   {share:.1%}")
    return "\n".join([*lines, *(_line(one) for one in results if one.outcome.name in ("survived", "no test"))])


def _line(result: Result) -> str:
    one, (name, ran, by) = result
    shown = " -> ".join(text if len(text) <= 90 else f"{text[:87]}..." for text in (one.before, one.after))
    end = f"  [{by}]" if by else f"  [{ran} tests]"
    return f"{name}: {one.path}:{one.line}:{one.column} {one.kind}: {shown}{end}"


def _in_words(paths: list[str]) -> str:
    return (
        " ".join(
            paths if len(paths) < 9 else dict.fromkeys(room(path) if path.endswith(".py") else path for path in paths)
        )
        or "all"
    )


def _is_in(name: str, paths: list[str]) -> bool:
    asked = [str(Path(path)) for path in paths]
    return not asked or any(name == path or name.startswith(f"{path}/") for path in asked)


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty=, with changes"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
