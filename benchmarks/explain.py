"""Wall time, processor time and peak memory of `gpudoctor explain FILE --format json` on long logs.

    python benchmarks/explain.py [--runs 7] [--sizes 200,10000] [--keep DIR]

The logs are made here, the same each time: lines of a training (progress, losses, warnings, NCCL, Kubernetes, key: value
settings), a few facts of a machine among them, a traceback at the end. gpudoctor is the one beside the Python that runs
this script. CPU is user plus system time, memory the peak resident set (wait4 of the kernel). Prints a Markdown table
and fails where the report does not name the cause that the log tells.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

CAUSE = "driver-too-old-for-cuda-build"
FACTS = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 470.182.03
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/opt/app/train.py", line 214, in <module>
    main()
  File "/opt/app/train.py", line 187, in main
    model = build(config).to("cuda")
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1343, in to
    return self._apply(convert)
  File "/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 319, in _lazy_init
    torch._C._cuda_init()
RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver.
"""
GOALS = {200: (150, None), 10_000: (2000, 80)}
"""kB of text: milliseconds, MiB."""


class Run(NamedTuple):
    wall_ms: float
    cpu_ms: float
    peak_mib: float


def rows(random: Random) -> Iterator[str]:
    """Lines of a log without end."""
    step = 0
    while True:
        step += 1
        clock = f"2026-11-20 {step // 3600 % 24:02}:{step // 60 % 60:02}:{step % 60:02},{random.randrange(1000):03}"
        loss, rate = random.uniform(0.1, 9), random.uniform(1e-6, 1e-3)
        kind = random.randrange(20)
        if kind < 8:
            yield f"{clock} | INFO | train | epoch 3 step {step}/90000 loss={loss:.4f} lr={rate:.2e} tokens/s={random.randrange(9000)}"
        elif kind < 11:
            yield f"[rank{random.randrange(8)}]: step {step}: grad_norm {loss:.3f}, data {rate:.5f} s, memory {random.randrange(80)}.{step % 10} GiB"
        elif kind < 13:
            yield f" {step % 100:3}%|{'#' * (step % 10):10}| {step % 5000}/5000 [{step % 60:02}:{step % 59:02}<00:41, {loss * 9:.2f}it/s]"
        elif kind == 13:
            yield f"node-{step % 16:02}:{random.randrange(99999)}:{random.randrange(99999)} [{step % 8}] NCCL INFO Channel {step % 24:02}/0 : {step % 8}[{step % 8}] -> {(step + 1) % 8}[{(step + 1) % 8}] via P2P/IPC"
        elif kind == 14:
            yield f'{{"time": "{clock}", "level": "info", "logger": "loader", "message": "opened shard {step:06}.tar", "seconds": {rate:.6f}}}'
        elif kind == 15:
            yield f"{clock} WARNING /opt/app/data/loader.py:{step % 400}: sample {random.randrange(10**7)} skipped: size (3, {step % 999}, 224)"
        elif kind == 16:
            yield f"config.model.layer_{step % 96}.hidden_size: {random.randrange(64) * 128}"
        elif kind == 17:
            yield f'I1120 {clock[11:19]}.{step % 10**6:06} {step % 9999} scheduler.go:{step % 700}] "Successfully bound pod" pod="jobs/train-{step:05}" node="gpu-{step % 64}"'
        elif kind == 18:
            yield f"saving checkpoint to /mnt/checkpoints/run-17/step_{step:08}/model-{step % 8:05}-of-00008.safetensors ({random.randrange(9000)} MB)"
        else:
            yield f"eval: accuracy = {loss / 9:.4f}, perplexity = {loss * 3:.3f}, samples = {random.randrange(100000)}"


def log(size: int) -> str:
    """A log of about `size` bytes; the facts stand at a third of it, the traceback at its end."""
    made, total, facts = [], len(TRACEBACK) + len(FACTS), False
    for row in rows(Random(7)):
        made.append(row)
        total += len(row) + 1
        if not facts and total > size // 3:
            facts = True
            made.append(FACTS.rstrip())
        if total >= size:
            return "\n".join(made) + "\n" + TRACEBACK
    raise AssertionError


def once(words: list[str], report: Path) -> Run:
    """Run the command with its report in a file."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with report.open("wb") as out:
        began = time.perf_counter()
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, env=env)
        _, status, usage = os.wait4(child.pid, 0)
        wall_ms = (time.perf_counter() - began) * 1e3
    child.returncode = os.waitstatus_to_exitcode(status)
    first = json.loads(report.read_bytes())["findings"][0]["id"] if child.returncode == 1 else ""
    if first != CAUSE:
        raise SystemExit(f"exit {child.returncode}, first finding {first!r}: the log tells {CAUSE}")
    return Run(wall_ms, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time and memory of `gpudoctor explain` on long logs.")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--sizes", default="200,10000", help="kB of the logs (default: 200,10000)")
    parser.add_argument("--keep", type=Path, help="leave the logs in this folder")
    given = parser.parse_args()
    print("| log | median ms | best ms | CPU ms, median | CPU ms, best | peak MiB | goal |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        for size in (int(word) for word in given.sizes.split(",")):
            path = folder / f"log-{size}-kb.txt"
            path.write_text(log(size * 1000), "utf-8")
            command = [str(Path(sys.executable).with_name("gpudoctor")), "explain", str(path), "--format", "json"]
            found = [once(command, Path(temporary, "report.json")) for _ in range(given.runs + 1)][1:]
            wall, cpu = [run.wall_ms for run in found], [run.cpu_ms for run in found]
            goal_ms, goal_mib = GOALS.get(size, (None, None))
            goal = ", ".join([f"{goal_ms} ms"] * bool(goal_ms) + [f"{goal_mib} MiB"] * bool(goal_mib))
            cells = (median(wall), min(wall), median(cpu), min(cpu), max(run.peak_mib for run in found))
            print(f"| {size} kB | {' | '.join(f'{cell:.0f}' for cell in cells)} | {goal} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
