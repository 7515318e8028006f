"""Attacks on the real command in real processes: how many were tried, and how many it survived.

    python benchmarks/attacks.py [--only CLASS ...] [--sample N] [--seed N] [--workers N] [--verbose]

Classes: files, paths, reports, recordings, roots, working, signals, outputs, limits, drivers, load, imports,
expansion, deadlines, secrets, fixing, far (the other end of --target). Survived means: an exit code
that the README documents (0 to 3; 0 or 1 and one line of a healthcheck), a report or one clear line on stderr, no
traceback, nothing hidden from the reader's eyes, no process of ours two seconds later, an end before the deadline,
nothing executed of what was planted, no old file lost. What is drawn at random follows the printed seed. Needs the
tests' parts (and gcc for fake drivers; some attacks need root). Prints a Markdown table and what did not survive; exit
1 where something did not.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from attack.engine import Attack, carry_out  # noqa: E402
from attack.ground import prepare  # noqa: E402

CLASSES = (
    "files",
    "paths",
    "reports",
    "recordings",
    "roots",
    "working",
    "signals",
    "outputs",
    "limits",
    "drivers",
    "load",
    "imports",
    "expansion",
    "deadlines",
    "far",
    "secrets",
    "fixing",
)


def main() -> int:
    """Run the classes, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=CLASSES, help="this class; repeatable")
    parser.add_argument("--sample", type=int, default=0, help="so many attacks of each class, drawn by the seed")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--workers", type=int, default=3, help="attacks at a time")
    parser.add_argument("--verbose", action="store_true", help="each attack as it ends, with its seconds")
    flags = parser.parse_args()
    # A shell's background job ignores the first two, one of nohup the third, and so would their children.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    print(f"seed {flags.seed}, commit {commit()}\n")
    lost, table = [], []
    with tempfile.TemporaryDirectory(prefix="gpudoctor-attacks-", ignore_cleanup_errors=True) as scratch:
        ground = prepare(Path(scratch), flags.seed)
        for name in flags.only or CLASSES:
            attacks: list[Attack] = import_module(f"attack.{name}").attacks(ground)
            if flags.sample:
                attacks = random.Random(f"{flags.seed} {name}").sample(attacks, min(flags.sample, len(attacks)))
            began = time.monotonic()
            failed = run(attacks, ground.scratch, flags.workers, flags.verbose)
            table.append(f"| {name} | {len(attacks)} | {len(attacks) - len(failed)} | {time.monotonic() - began:.0f} |")
            lost += [f"{name}: {attack.name}: {'; '.join(faults)}" for attack, faults in failed]
    print("\n".join(["| class | tried | survived | seconds |", "| --- | ---: | ---: | ---: |", *table]))
    for line in lost:
        print("".join(c if c.isprintable() else "?" for c in line)[:1500])
    return bool(lost)


_NUMBERS = count()


def run(attacks: list[Attack], scratch: Path, workers: int, verbose: bool) -> list[tuple[Attack, list[str]]]:
    """Carry them out, several at a time; those that did not survive, with the reasons."""

    def one(attack: Attack) -> list[str]:
        began = time.monotonic()
        faults = carry_out(attack, scratch, next(_NUMBERS))
        if verbose:
            print(f"{time.monotonic() - began:6.1f} s  {attack.name!r:.120}  {'; '.join(faults)!r:.300}", flush=True)
        return faults

    with ThreadPoolExecutor(workers) as pool:
        done = list(zip(attacks, pool.map(one, attacks), strict=True))
    return [(attack, faults) for attack, faults in done if faults]


def commit() -> str:
    """The commit that is attacked, with a + where files differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
        changed = subprocess.run([*git, "status", "--porcelain", "doctor"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changed.stdout else "")


if __name__ == "__main__":
    sys.exit(main())
