"""The README's quick test command, several times in a row beside a given load: is any test flaky?

    .venv/bin/python benchmarks/quick_ten.py [--times 10] [--load 4]

Prints a Markdown table: when each run began, the commit, its seconds, what pytest said, the load average at its end;
below it, each test that failed, with how often. Exit code 1 if one did. The environment must be there already.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUSY = "while True: pass"


def test_command() -> str:
    """The part of the README's line that runs the tests."""
    block = (ROOT / "README.md").read_text("utf-8").partition("<!-- run: test -->")[2]
    return block.split("```")[1].removeprefix("sh").rpartition("&&")[2].strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--load", type=int, default=4, help="how many processes compute beside the tests")
    options = parser.parse_args()
    git = ["git", "describe", "--always", "--abbrev=12", "--dirty=, with changes"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    failed: collections.Counter[str] = collections.Counter()
    bad = 0
    print("| began | commit | seconds | pytest | load |\n| --- | --- | ---: | --- | ---: |", flush=True)
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.load)]
    try:
        for _ in range(options.times):
            began, start = datetime.now().strftime("%Y-%m-%d %H:%M"), time.monotonic()
            command = ["bash", "-euc", test_command()]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
            took, load = time.monotonic() - start, os.getloadavg()[0]
            found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
            failed.update(found)
            bad += done.returncode != 0
            said = re.findall(r"^=* ?(\d+ (?:passed|failed|error|skipped).*?)(?: in [\d.]+s.*)?$", done.stdout, re.M)
            words = said[-1] if said else f"{len(found)} failed" if found else f"exit code {done.returncode}"
            print(f"| {began} | {commit} | {took:.0f} | {words} | {load:.1f} |", flush=True)
    finally:
        for process in busy:
            process.kill()
    for test, times in failed.most_common():
        print(f"\n{test}: {times} of {options.times}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
