"""Wall time and peak memory of the commands that people wait for, beside python itself and torch's collect_env.

    python benchmarks/check.py PATIENT [--runs 15] [--rivals] [--when-idle]

PATIENT: a virtual environment with torch in it; gpudoctor is the one beside the Python that runs this script.
All commands take turns, so that a busy moment hits them alike. CPU is user plus system time of all processes of a
command, memory the peak resident set of the largest one (wait4 of the kernel). `--rivals` installs env-doctor and
cuda-doctor with pip into a temporary environment. `--when-idle` waits before each run until nothing else is at work
(95 % of the cores idle for 60 ms by /proc/stat, for at most 20 s). Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

RIVALS = {"env-doctor": ("env-doctor", "check"), "cuda-doctor": ("cuda-doctor", "diagnose")}
"""Distribution to its command."""


class Command(NamedTuple):
    """A row of the table; the goals are empty where there is none."""

    name: str
    words: Sequence[str]
    goal_ms: float = 0.0
    goal_mib: float = 0.0


class Figures(NamedTuple):
    """Over all runs: medians, the best wall time, the highest peak, and the exit code of the last."""

    median_ms: float
    best_ms: float
    cpu_ms: float
    peak_mib: float
    exit_code: int


class Run(NamedTuple):
    """One run of a command."""

    wall_ms: float
    cpu_ms: float
    peak_mib: float
    exit_code: int


def once(words: Sequence[str], env: Mapping[str, str]) -> Run:
    """Run it with its output thrown away."""
    began = time.perf_counter()
    nowhere = subprocess.DEVNULL
    child = subprocess.Popen(words, env=env, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    _, status, usage = os.wait4(child.pid, 0)
    wall_ms = (time.perf_counter() - began) * 1e3
    child.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall_ms, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024, child.returncode)


def wait_until_idle() -> None:
    """Until the cores had nothing to do for a moment, or 20 seconds have gone by."""

    def ticks() -> tuple[int, int]:
        values = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(values), values[3] + values[4]

    for _ in range(333):
        (all_before, idle_before), _, (all_now, idle_now) = ticks(), time.sleep(0.06), ticks()
        if idle_now - idle_before >= 0.95 * (all_now - all_before):
            return


def measure(
    commands: Sequence[Command], env: Mapping[str, str], runs: int, when_idle: bool = False
) -> dict[str, Figures]:
    """Run all commands in turns; the first round warms the page cache and does not count."""
    seen: dict[str, list[Run]] = {command.name: [] for command in commands}
    for turn in range(runs + 1):
        for command in commands:
            if when_idle:
                wait_until_idle()
            result = once(command.words, env)
            if turn:
                seen[command.name].append(result)
    return {
        name: Figures(
            median(run.wall_ms for run in all_runs),
            min(run.wall_ms for run in all_runs),
            median(run.cpu_ms for run in all_runs),
            max(run.peak_mib for run in all_runs),
            all_runs[-1].exit_code,
        )
        for name, all_runs in seen.items()
    }


def commands(patient: Path) -> list[Command]:
    """The rows; `--version` has its goal relative to `python -c pass`."""
    python, gpudoctor = sys.executable, str(Path(sys.executable).with_name("gpudoctor"))
    check = [gpudoctor, "check", "--no-import"]
    return [
        Command("python -c pass", [python, "-c", "pass"]),
        Command("gpudoctor --version", [gpudoctor, "--version"]),
        Command("gpudoctor healthcheck", [gpudoctor, "healthcheck"], 120, 60),
        Command("gpudoctor check --no-import --format json", [*check, "--format", "json"], 120, 60),
        Command("gpudoctor check --no-import", check, 150, 60),
        Command("gpudoctor check", [gpudoctor, "check"]),
        Command("python -m torch.utils.collect_env", [str(patient / "bin/python"), "-m", "torch.utils.collect_env"]),
    ]


def rivals(folder: str) -> list[Command]:
    """Install the rivals; one that cannot be had is left out with a word."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    rows = []
    for name, words in RIVALS.items():
        pip = [f"{folder}/bin/pip", "install", "-qq", "--only-binary=:all:", name]
        if subprocess.run(pip, check=False, timeout=300).returncode == 0 and Path(f"{folder}/bin/{words[0]}").exists():
            rows.append(Command(" ".join(words), [f"{folder}/bin/{words[0]}", *words[1:]]))
        else:
            print(f"{name}: not installed", file=sys.stderr)
    return rows


def table(rows: Sequence[Command], figures: Mapping[str, Figures]) -> str:
    """The Markdown table, then the two ratios."""
    lines = [
        "| command | median ms | best ms | CPU ms | peak MiB | exit | goal |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        f = figures[row.name]
        goal = f"{row.goal_ms:.0f} ms, {row.goal_mib:.0f} MiB" if row.goal_ms else ""
        cells = [f"`{row.name}`", *(f"{value:.0f}" for value in f), goal]
        lines.append(f"| {' | '.join(cells)} |")
    version = figures["gpudoctor --version"].median_ms / figures["python -c pass"].median_ms
    faster = (
        figures["python -m torch.utils.collect_env"].median_ms
        / figures["gpudoctor check --no-import --format json"].median_ms
    )
    lines += ["", f"`--version` takes {version:.1f} times as long as `python -c pass` (goal: at most 3)."]
    lines += [f"`check --no-import --format json` is {faster:.1f} times as fast as collect_env (goal: at least 10)."]
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Wall time and peak memory of gpudoctor's commands.")
    parser.add_argument("patient", type=Path, help="a virtual environment with torch")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--rivals", action="store_true", help="install and measure env-doctor and cuda-doctor too")
    parser.add_argument("--when-idle", action="store_true", help="wait for an idle machine before each run")
    options = parser.parse_args()
    patient = options.patient.absolute()
    if not (patient / "bin/python").exists():
        parser.error(f"{patient}: no bin/python there")
    env = {**os.environ, "VIRTUAL_ENV": str(patient), "PATH": f"{patient}/bin:{os.environ['PATH']}"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # the first round leaves compiled files, as an installed package has
    with tempfile.TemporaryDirectory() as folder:
        rows = commands(patient) + (rivals(folder) if options.rivals else [])
        print(table(rows, measure(rows, env, max(1, options.runs), options.when_idle)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
