"""What the look at NVML costs: calls and time of the agent on the fake driver with eight GPUs.

    python benchmarks/nvml.py [--runs 15] [--machine h200x8]

Compiles the fake driver of the tests (gcc), runs the real agent against it with nvidia-ml-py, and times it from the
answer of nvmlInit to the last line. The same with a driver that lists no GPU is what Python and the binding need before
that. The calls are counted in a run of its own, as writing the log takes longer than the calls. On a real driver a call
takes 10 us to 1 ms more: the number of calls is what carries over. If a GPU's error counters are not 0, the agent reads
them again 100 ms after the first look, which is then in its time. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.probes.commands import nvml_binding, own_agent  # noqa: E402
from tests.fakes import Machine, build_fakes  # noqa: E402


def look(env: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from the answer of nvmlInit to the end, and from the start to the end."""
    command = own_agent("nvml", nvml_binding())
    began = time.perf_counter()
    ready = began
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(b'{"field":"init"'):
                ready = time.perf_counter()
    ended = time.perf_counter()
    return (ended - ready) * 1000, (ended - began) * 1000


def calls(env: dict[str, str], log: Path) -> tuple[int, int]:
    """Calls, and field values that they asked for."""
    look({**env, "GPUDOCTOR_FAKE_CALLS": str(log)})
    lines = log.read_text().splitlines()
    return sum(line.startswith("call ") for line in lines), sum(line.startswith("field ") for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--machine", default="h200x8")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fakes = build_fakes(Path(folder) / "fakes")
        machine = Machine.load(chosen.machine)
        rows = {
            f"`{chosen.machine}`, healthy": machine,
            "the same, one GPU's counters not 0": machine.with_(gpu__3__pcie__replays="7"),
            "the same driver, no GPU": machine.with_(gpus="0"),
        }
        print("| machine | calls | field values | all calls, median ms | best ms | whole agent, median ms |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA_", "LD_", "GPUDOCTOR_"))}
        for number, (name, one) in enumerate(rows.items()):
            env = {**clean, **one.install(fakes, Path(folder) / str(number))}
            count, fields = calls(env, Path(folder) / f"calls{number}")
            times = [look(env) for _ in range(chosen.runs)]
            inside, whole = [t[0] for t in times], [t[1] for t in times]
            print(f"| {name} | {count} | {fields} | {median(inside):.0f} | {min(inside):.0f} | {median(whole):.0f} |")


if __name__ == "__main__":
    main()
