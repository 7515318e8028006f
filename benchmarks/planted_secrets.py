"""Secrets planted in texts that people paste: how many come through `gpudoctor explain`.

    python benchmarks/planted_secrets.py [--seed N] [--count N] [--door] [--show]

Then the other way round, what must not be masked and is: see overmasking.py.

Each text goes through the real command in three formats, and whole through the one door that masks (a report shows only
some lines of a text; the door sees all); a secret, or ten characters in a row of the second half of a long one, that
stands in any output is a leak. --door leaves the command out: seconds instead of minutes,
and each structure (`planted/structures.json`: pairs, commands, printed lines and columns in eight languages) stands in
all five positions instead of one. --show prints each leak with
its text.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from overmasking import overmasked
from planted.draw import Planted, leaks, planted
from planted.structures import structured

from doctor.snapshot.redact import redact

_OUTPUTS = (["--format", "json"], ["-vv"], ["--format", "markdown"])


def outputs(one: Planted) -> str:
    """All that the command writes of one text."""
    said = []
    for options in _OUTPUTS:
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "explain", "-", *options], input=one.text, capture_output=True, text=True
        )
        said.append(done.stdout + done.stderr)
    return "\n".join(said)


def main() -> int:
    """Prints the table; 1 where something leaked."""
    parser = argparse.ArgumentParser(description="Secrets that come through explain.")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--door", action="store_true")
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    tried, leaked = Counter[str](), Counter[str]()
    every = [*planted(chosen.seed, chosen.count), *structured(chosen.seed, 0 if chosen.door else 1)]
    for one in every:
        tried[one.place] += 1
        found = leaks(one.secrets, redact(one.text) + ("" if chosen.door else outputs(one)))
        if found:
            leaked[one.place] += 1
            if chosen.show:
                print(f"{one.kind} ({one.place}): {found}\n  " + one.text.replace("\n", "\n  "))
    print(f"seed {chosen.seed}: {sum(leaked.values())} of {sum(tried.values())} leaked, {len(tried)} surroundings")
    for place, number in tried.most_common():
        print(f"  {leaked[place]:3d} of {number:3d}  {place}")
    return 1 if overmasked(chosen.seed, 300, chosen.show) or leaked else 0


if __name__ == "__main__":
    sys.exit(main())
