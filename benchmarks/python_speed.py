"""How fast Pythons are on one core: the figures of doctor/findings/python_speed.py.

    python benchmarks/python_speed.py PYTHON... [--runs 3]

Runs the agent's own loop of `single_core_mops` under each interpreter, a method call that makes a small object, and
MD5 of 64 KiB (the same machine code for all: how much the core itself changed meanwhile). Best of short runs, median
of `--runs`; the order goes round. Prints a Markdown table; factors are against 3.11 where it is among them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import hashlib, json, sys, time
sys.path.append(sys.argv[1])
import agent_boot
agent_boot.parts_in(sys.argv[1])
from gpudoctor_agents.training_cpu import single_core
class Small:
    def __init__(self, value):
        self.value = value
    def plus(self, other):
        return Small(self.value + other.value)
def calls(turns):
    first, second = Small(1), Small(2)
    for _ in range(turns):
        first.plus(second)
def best(work, runs=40):
    least = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - started)
    return least
block = bytes(range(256)) * 256
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "mops": single_core(),
    "call_ns": 1e9 * best(lambda: calls(20000)) / 20000,
    "md5_mb_s": len(block) / best(lambda: hashlib.md5(block).digest()) / 1e6,
}))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(chosen.runs):
        for python in chosen.pythons:
            command = [python, "-I", "-S", "-c", CODE, str(ROOT / "doctor" / "patient")]
            row = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            found.setdefault(f"{row.pop('version')} {python}", []).append(row)
    rows = {name: {key: median(row[key] for row in several) for key in several[0]} for name, several in found.items()}
    base = next((row for name, row in rows.items() if name.startswith("3.11.")), None)
    print("| Python | million operations/s | of 3.11's | call, ns | of 3.11's | MD5, MB/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, row in rows.items():
        loop, call = (row["mops"] / base["mops"], row["call_ns"] / base["call_ns"]) if base else (1.0, 1.0)
        print(
            f"| {name.split()[0]} | {row['mops']:.0f} | {loop:.2f} | {row['call_ns']:.0f} | {call:.2f} "
            f"| {row['md5_mb_s']:.0f} |"
        )


if __name__ == "__main__":
    sys.exit(main())
