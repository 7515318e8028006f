"""What `fleet run` adds to the checks themselves, in a real scheduler on this machine: seconds from start to report.

    python benchmarks/fleet_engines.py --on ray [--runs 5]
    python benchmarks/fleet_engines.py --on slurm [--runs 5]

Ray: a head and two nodes (`ray.cluster_utils.Cluster`). Slurm: slurmctld and eight slurmd (as root). Each node answers
with the recording of an H100, so that the probe itself takes little. The overhead is the time of the whole command less
that of the probe alone on this machine. The goal for both is 3 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from doctor.commands.fleet_run import probe
from tests.fleet.canned import H100, canned_python, recorded

COMMAND = Path(sys.executable).with_name("gpudoctor")
PROLOG = "#!/bin/sh\necho export PATH={folder}/canned:$PATH\n"
"""Slurm's TaskProlog: what it prints is the task's environment."""


def timed(run: Callable[[], object]) -> float:
    """Seconds."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def alone(canned: Path) -> None:
    """The probe, without anything that brings it to a node."""
    asked = probe(120.0)
    env = {**os.environ, "PATH": f"{canned}:{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-c", asked.command], input=asked.script, env=env, capture_output=True, check=True)


@contextmanager
def ray() -> Iterator[tuple[Path, dict[str, str], list[str]]]:
    from tests.ray.cluster import ray_cluster

    with ray_cluster("head", "gpu-1", "gpu-2") as cluster:
        yield cluster.folder / "canned", cluster.env, ["--address", cluster.address]


@contextmanager
def slurm() -> Iterator[tuple[Path, dict[str, str], list[str]]]:
    from tests.slurm.cluster import slurm as start

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        canned_python(folder / "canned", recorded(H100, time.time()))
        (folder / "task_prolog.sh").write_text(PROLOG.format(folder=folder))
        (folder / "task_prolog.sh").chmod(0o755)
        names = tuple(f"n{number}" for number in range(1, 9))
        with start(folder, "#!/bin/sh\nexit 0\n", names, f"TaskProlog={folder}/task_prolog.sh\n") as cluster:
            yield folder / "canned", cluster.env, []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=("ray", "slurm"), required=True)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    engine, count = {"ray": (ray, 3), "slurm": (slurm, 8)}[args.on]
    whole: list[float] = []
    with engine() as (canned, env, words), tempfile.TemporaryDirectory() as made:
        line = [COMMAND, "fleet", "run", "--on", args.on, *words, "-o", f"{made}/now.db"]

        def run() -> None:
            done = subprocess.run(line, env=env, capture_output=True, text=True, check=True)
            assert f"{count} nodes in {args.on.capitalize()}, all answered" in done.stdout, done.stdout

        run()
        probe_s = statistics.median(timed(lambda: alone(canned)) for _ in range(args.runs))
        whole = [timed(run) for _ in range(args.runs)]
    print("| on | nodes | probe alone | whole command, median | overhead, median | best |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    middle, best = statistics.median(whole), min(whole)
    cells = f"{probe_s:.2f} s | {middle:.2f} s | {middle - probe_s:.2f} s | {best - probe_s:.2f} s"
    print(f"| {args.on} | {count} | {cells} |")


if __name__ == "__main__":
    main()
