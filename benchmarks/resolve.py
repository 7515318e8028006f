"""How long `gpudoctor resolve` takes for one machine, and the engine for the whole grid.

    python benchmarks/resolve.py [--runs 11] [--seconds 60]

One machine: wall time of the command, the median of several runs. The grid: every compute capability and driver branch
of the matrix, on Linux x86_64, aarch64 and Windows, against every build. An answer is one GPU model, driver branch,
build and platform: models of one capability share the work.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compat_matrix import Matrix
from compat_matrix.resolver import Candidate, Question, fit

COMMAND = ["resolve", "--gpu", "GTX 1080", "--driver", "535.183.01", "--python", "3.11"]


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=60)
    flags = parser.parse_args()
    program = Path(sys.executable).with_name("gpudoctor")
    walls = []
    for _ in range(flags.runs):
        begun = time.perf_counter()
        subprocess.run([str(program), *COMMAND], stdout=subprocess.DEVNULL, check=True)
        walls.append(time.perf_counter() - begun)
    print(f"one machine: {statistics.median(walls) * 1e3:.0f} ms wall (median of {flags.runs})")
    m = Matrix.load()
    models = Counter(row.cc for row in m.gpus if row.cc)
    drivers = [row.latest_seen or f"{row.branch}.0" for row in m.drivers]
    answers = fits = 0
    begun = time.perf_counter()
    for os_, arch in (("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64")):
        platform = "windows" if os_ == "windows" else f"linux_{arch}"
        builds = [build for build in m.builds if build.platform == platform]
        for driver in drivers:
            for capability, count in models.items():
                q = Question(gpus=(capability,), driver=driver, os=os_, arch=arch)
                for build in builds:
                    fits += count * isinstance(fit(m, q, build), Candidate)
                    answers += count
        if time.perf_counter() - begun > flags.seconds:
            print("the time is over: not the whole grid")
            break
    took = time.perf_counter() - begun
    print(f"grid: {answers:,} answers ({fits:,} fit) in {took:.1f} s on one core")


if __name__ == "__main__":
    main()
