"""Whether NVML's sampler keeps its pace on eight GPUs whose every call takes a millisecond.

    python benchmarks/sampler.py [--machine h200x8] [--call-ms 1] [--seconds 10] [--phase 1.0]

Compiles the fake driver of the tests (gcc) and runs the real agent as `prove` and as `watch` does, with and without
GPM. Prints for each: calls of NVML for each GPU and sample (mean and most), the longest time between two samples of one
GPU in intervals, and the fewest samples that any window of `--phase` seconds has of any GPU after its first 0.25 s.
Exit 1 where a goal is missed: six calls, two intervals, five samples (of `prove`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.commands.proving import SAMPLING  # noqa: E402
from doctor.probes.commands import nvml_binding, own_agent  # noqa: E402
from doctor.proof.loads import SETTLE_S  # noqa: E402
from tests.fakes import Machine, build_fakes  # noqa: E402

WATCHING = ("--interval", "0.5", "--share", "0.005", "--watch", "1")
GPM = {"gpu.*.gpm": "90 40 30 100 100 1000 1000"}
BUSY = {"gpu.*.process.0": "compute 4711 61000 python", "gpu.*.busy.0": "4711 93", "gpu.*.pcie.rx": "1000"}


def run(arguments: tuple[str, ...], env: dict[str, str], seconds: float) -> dict[int, list[float]]:
    """Times of the samples, by GPU."""
    found: dict[int, list[float]] = {}
    pipe = subprocess.PIPE
    command = own_agent("nvml_sampler", nvml_binding(), *arguments)
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None and child.stdout is not None
        first = None
        for line in child.stdout:
            sample = json.loads(line).get("sample")
            if sample:
                first = first or time.monotonic()
                found.setdefault(sample["gpu"], []).append(sample["time"])
            if first and time.monotonic() > first + seconds:
                break
        child.stdin.close()
        child.stdout.read()
    return found


def calls(log: Path) -> list[int]:
    """Calls of each sample: a sample begins with the utilisation."""
    counts: list[int] = []
    at: dict[str, int] = {}
    for line in log.read_text().splitlines():
        kind, name, gpu = line.split()[0], line.split()[1], line.split()[-1]
        if kind != "call":
            continue
        if name == "nvmlDeviceGetUtilizationRates":
            at[gpu] = len(counts)
            counts.append(0)
        if gpu in at:
            counts[at[gpu]] += 1
    return counts


def fewest(times: list[float], phase_s: float) -> int:
    """Samples that a phase has at least, wherever it begins."""
    starts = [t + 1e-6 for t in times if t + phase_s < times[-1]]
    return min((sum(s + SETTLE_S <= t <= s + phase_s for t in times) for s in starts), default=0)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="h200x8")
    parser.add_argument("--call-ms", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--phase", type=float, default=1.0)
    chosen = parser.parse_args()
    missed = False
    print("| as | GPM | calls a sample, mean and most | longest gap, intervals | fewest samples in a phase |")
    print("| --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        fakes = build_fakes(Path(folder) / "fakes")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA_", "LD_", "GPUDOCTOR_"))}
        for number, (name, arguments, gpm) in enumerate(
            (("prove", SAMPLING, False), ("watch", WATCHING, True), ("watch", WATCHING, False))
        ):
            machine = Machine.load(chosen.machine)
            scenario = {**machine.scenario, **BUSY, **(GPM if gpm else {}), "call_ms": str(chosen.call_ms)}
            env = {**clean, **Machine("", scenario).install(fakes, Path(folder) / str(number))}
            times = run(arguments, env, chosen.seconds)
            log = Path(folder) / f"calls{number}"
            run(arguments, {**env, "GPUDOCTOR_FAKE_CALLS": str(log)}, min(chosen.seconds, 3 if name == "prove" else 9))
            counted = calls(log)
            interval = float(arguments[1])
            gap = max(b - a for each in times.values() for a, b in pairwise(each)) / interval
            least = min(fewest(each, chosen.phase) for each in times.values())
            missed = missed or max(counted) > 6 or gap > 2 or (name == "prove" and least < 5)
            mean = sum(counted) / len(counted)
            print(
                f"| {name} | {'yes' if gpm else 'no'} | {mean:.1f}, {max(counted)} | {gap:.2f} | {least} |", flush=True
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
