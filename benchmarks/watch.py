"""What watching costs: a training loop on the CPU, with and without `gpudoctor watch`, in pairs.

    python benchmarks/watch.py PATIENT [--seconds 120] [--pairs 3] [--interval S]

PATIENT: a virtual environment with torch in it; gpudoctor is the one beside the Python that runs this script. Every run
does the same number of steps, chosen once so that they take `--seconds`. The order within a pair alternates. CPU of
watching is the time of gpudoctor and its children by the kernel (wait4), its start and the report in the end included,
less what the loop says that it used itself; its goal is 2 % of (wall x cores). The wall overhead is that of the loop
itself, pair by pair, and of the whole command (the report included).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

GOAL_PERCENT = 2.0
LOOP = """
import json, sys, time
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(4096, 256)
steps, limit = int(sys.argv[1]), float(sys.argv[2])
began = time.perf_counter()
done = 0
while done < steps and time.perf_counter() - began < limit:
    batch = data[torch.randint(0, len(data), (256,))]
    loss = (model(batch) - batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    done += 1
wall = time.perf_counter() - began
print(json.dumps({"steps": done, "wall_s": wall, "cpu_s": time.process_time()}))
"""


class Run(NamedTuple):
    """One run: seconds of the loop and of the whole command, CPU of the loop's process and of everything else."""

    loop_s: float
    command_s: float
    cpu_s: float
    other_cpu_s: float


def run(command: list[str]) -> tuple[Run, int]:
    """Run a command that ends with the loop's line; its figures and the number of steps."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    said = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} ended with {child.returncode}")
    wall = time.perf_counter() - began
    other = usage.ru_utime + usage.ru_stime - said["cpu_s"]
    return Run(said["wall_s"], wall, said["cpu_s"], other), said["steps"]


def spread(values: list[float]) -> str:
    """`median (least to most)`."""
    return f"{median(values):+.2f} % ({min(values):+.2f} to {max(values):+.2f})"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What gpudoctor watch costs a training loop on the CPU.")
    parser.add_argument("patient", type=Path, help="a virtual environment with torch")
    parser.add_argument("--seconds", type=float, default=120.0, help="of each run; default: 120")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--interval", type=float, help="passed on to watch")
    options = parser.parse_args()
    python = options.patient.absolute() / "bin/python"
    if not python.exists():
        parser.error(f"{options.patient}: no bin/python there")
    gpudoctor = str(Path(sys.executable).with_name("gpudoctor"))
    cores = len(os.sched_getaffinity(0))
    loop = [str(python), "-c", LOOP]
    _, steps = run([*loop, str(10**9), str(options.seconds / 4)])
    plain = [*loop, str(steps * 4), "1e9"]
    interval = ["--interval", str(options.interval)] if options.interval else []
    watched = [gpudoctor, "watch", *interval, "--expect", "any", "-o", os.devnull, "--", *plain]
    pairs: list[tuple[Run, Run]] = []
    for number in range(max(1, options.pairs)):
        commands = {"plain": plain, "watched": watched}
        order = ("plain", "watched") if number % 2 == 0 else ("watched", "plain")
        figures = {name: run(commands[name])[0] for name in order}
        pairs.append((figures["plain"], figures["watched"]))
        a, b = pairs[-1]
        print(
            f"pair {number + 1}: loop {a.loop_s:.2f} s alone, {b.loop_s:.2f} s watched; command {a.command_s:.2f} and "
            f"{b.command_s:.2f} s; CPU of watching {b.other_cpu_s - max(0.0, a.other_cpu_s):.2f} s",
            flush=True,
        )
    shares = [100 * (b.other_cpu_s - max(0.0, a.other_cpu_s)) / (b.command_s * cores) for a, b in pairs]
    print(f"\n{steps * 4} steps a run, {cores} cores, load {os.getloadavg()[0]:.1f} at the end")
    print(f"CPU of watching over (wall x cores): {spread(shares)}; goal: under {GOAL_PERCENT:.0f} %")
    print(f"wall of the loop, watched against alone: {spread([100 * (b.loop_s / a.loop_s - 1) for a, b in pairs])}")
    whole = spread([100 * (b.command_s / a.command_s - 1) for a, b in pairs])
    print(f"wall of the whole command, report included: {whole}")
    return 0 if median(shares) < GOAL_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
