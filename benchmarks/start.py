"""Instructions of gpudoctor's commands beside those of `python -c pass`: a loaded machine counts what an idle one does.

    python benchmarks/start.py [--wall N]

Counts with callgrind (apt-get install valgrind) what the processor executes in the process that the user waits for;
children (readers of files, the driver's agents) run beside it and have a column of their own. gpudoctor is the one
beside the Python that runs this script; its byte code and that of what it imports must be there, so it is compiled
first. `--wall N`: also N pairs of each command and `python -c pass`, turn about, and the median of the ratios.
"""

from __future__ import annotations

import argparse
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from explain import log

HERE = Path(sys.executable).parent
PASS = [sys.executable, "-c", "pass"]
GOAL = 7


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured, by what it is called."""
    text = folder / "log.txt"
    text.write_text(log(200_000), "utf-8")
    gpudoctor = str(HERE / "gpudoctor")
    return {
        "`python -c pass`": PASS,
        "`python -c 'import msgspec'`": [sys.executable, "-c", "import msgspec"],
        "`gpudoctor --version`": [gpudoctor, "--version"],
        "`gpudoctor check --no-import`": [gpudoctor, "check", "--no-import"],
        "`gpudoctor check --no-import --format json`": [gpudoctor, "check", "--no-import", "--format", "json"],
        "`gpudoctor healthcheck`": [gpudoctor, "healthcheck"],
        "`gpudoctor explain` of 200 kB": [gpudoctor, "explain", str(text), "--format", "json"],
    }


def instructions(words: list[str], folder: Path) -> tuple[float, float]:
    """Millions of instructions of the process itself, and of its children."""
    for old in folder.glob("count.*"):
        old.unlink()
    process = subprocess.Popen(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/count.%p", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    process.wait(300)
    own = children = 0
    for file in folder.glob("count.*"):
        found = re.search(r"^(?:summary|totals): (\d+)", file.read_text("utf-8", "replace"), re.M)
        count = int(found[1]) if found else 0
        if file.name == f"count.{process.pid}":
            own = count
        else:
            children += count
    return own / 1e6, children / 1e6


def wall(words: list[str], pairs: int, folder: Path) -> float:
    """Median of the ratios of wall times, a command and `python -c pass` turn about."""

    def once(command: list[str]) -> float:
        started = time.perf_counter()
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
        return time.perf_counter() - started

    return median(once(words) / once(PASS) for _ in range(pairs))


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Instructions of gpudoctor's commands.")
    parser.add_argument("--wall", type=int, default=0, metavar="N", help="also N pairs in wall time")
    pairs = parser.parse_args().wall
    if not shutil.which("valgrind"):
        print("benchmarks/start.py needs valgrind: apt-get install valgrind", file=sys.stderr)
        return 2
    import doctor

    top = Path(doctor.__file__).parent.parent
    for package in ("doctor", "compat_matrix", "gpudoctor"):
        compileall.compile_dir(top / package, quiet=1)
    print("| command | M instructions | times `pass` | in children |" + (" wall, times `pass` |" if pairs else ""))
    print("| --- | ---: | ---: | ---: |" + (" ---: |" if pairs else ""))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        base = 0.0
        for name, words in commands(folder).items():
            own, children = instructions(words, folder)
            base = base or own
            row = f"| {name} | {own:.0f} | {own / base:.1f} | {children:.0f} |"
            print(row + (f" {wall(words, pairs, folder):.1f} |" if pairs else ""), flush=True)
    print(f"\nGoal of a check: {GOAL} times.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
