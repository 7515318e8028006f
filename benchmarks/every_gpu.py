"""How much longer `prove --quick` takes on several GPUs than on one: the real prover, agents and report.

    python benchmarks/every_gpu.py [--gpus 8] [--import-s 0] [--runs 3]

The driver is the tests' fake, torch the tests' one whose GPUs take time by the wall's clock and none of the CPU; what
Python itself costs is this machine's. Training and single operations, which run on the first GPU alone, are not
simulated: on a real machine they add the same seconds to both times. `--import-s`: how long an import of torch sleeps;
with few cores the imports wait for each other, as they would there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.fakes import build_fakes  # noqa: E402
from tests.proof.proving import environment, report, variables  # noqa: E402


def seconds(fakes: Path, python: Path, folder: Path, count: int, import_s: float) -> float:
    """Wall time of one run on so many GPUs; raises AssertionError where one of them was not measured."""
    shared = folder / "shared"
    shared.mkdir(parents=True)
    told = {"devices": count, "shared": str(shared), "import_s": import_s}
    env = variables(fakes, folder, "h200x8", {"gpus": str(count)}, **told)
    since = time.monotonic()
    found = report(["prove", "--quick", "--python", str(python)], env)
    passed = time.monotonic() - since
    rates = found["snapshot"]["measured"]["rates"]
    for what in ("bf16", "copy", "h2d-pinned"):
        assert len({rate["device"] for rate in rates if rate["what"] == what}) == count, what
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--import-s", type=float, default=0.0)
    parser.add_argument("--runs", type=int, default=3)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fakes, python = build_fakes(folder / "fakes"), environment(folder, "speed")
        best = {}
        for count in (1, flags.gpus):
            runs = [seconds(fakes, python, folder / f"{count}-{n}", count, flags.import_s) for n in range(flags.runs)]
            best[count] = min(runs)
            print(f"{count} GPUs: {', '.join(f'{run:.1f}' for run in runs)} s")
    cores = len(os.sched_getaffinity(0))
    print(f"{best[flags.gpus] / best[1]:.2f} times, on {cores} cores, {flags.import_s:.1f} s an import of torch")


if __name__ == "__main__":
    main()
