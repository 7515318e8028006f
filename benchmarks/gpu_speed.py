"""gpudoctor's figures of a GPU beside the best that triton.testing.do_bench gets from torch at the same sizes.

    python benchmarks/gpu_speed.py [--device cuda:0] [--rounds 3]

For a Python with torch and triton, on a machine with a GPU that nothing else uses. In every round the agent runs as a
child, as `gpudoctor prove` starts it; then do_bench measures, at the sizes that the agent chose, each way in which
torch writes the same work, and the fastest counts: matrix products, and the bandwidth of the device's memory (ours:
the better of copy and triad). Prints a Markdown table of medians; the last column is the median of the rounds' ratios.
Exit 0 where all are within 3 %, 1 where not, 2 where nothing can be measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
AGENT = "doctor.patient.torch_speed"
GOAL_PERCENT = 3.0
WARMUP_MS, REPEAT_MS = 100, 300
AGENT_S = 300
PRODUCTS = ("bf16", "fp16", "fp32")

Work = dict[str, Callable[[], Any]]


class Round(NamedTuple):
    """One figure of one round, ours and the best of torch's, and the way in which torch wrote that."""

    size: str
    unit: str
    ours: float
    theirs: float
    way: str


def why_not(device: str) -> str:
    """Why nothing can be measured here; empty where it can."""
    if importlib.util.find_spec("torch") is None:
        return "this Python has no torch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy is not needed
        import torch

    ordinal = int(device.partition(":")[2] or 0)
    if not torch.cuda.is_available() or ordinal >= torch.cuda.device_count():
        return f"no GPU: torch does not offer {device} here"
    if importlib.util.find_spec("triton") is None:
        return "this Python has no triton"
    return ""


def ours(device: str) -> dict[str, dict[str, Any]]:
    """The agent's rates of matrix products by type, and the best of memory."""
    command = [sys.executable, "-m", AGENT, "--device", device, "--level", "quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=AGENT_S)
    rates = [line["rate"] for line in map(json.loads, done.stdout.splitlines()) if "rate" in line]
    found = {rate["what"]: rate for rate in rates if rate["kind"] == "matmul" and rate["what"] in PRODUCTS}
    memory = [rate for rate in rates if rate["kind"] == "memory"]
    return found | ({"memory": max(memory, key=lambda rate: rate["value"])} if memory else {})


def product(torch: Any, what: str, device: str, detail: dict[str, int]) -> tuple[float, Work]:
    """Teraflop of one product of random matrices, and the ways to write it."""
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[what]
    m, n, k = detail["m"], detail["n"], detail["k"]
    a = torch.randn(m, k, device=device, dtype=kind)
    b = torch.randn(k, n, device=device, dtype=kind)
    weight = torch.randn(n, k, device=device, dtype=kind)
    out = torch.empty(m, n, device=device, dtype=kind)
    return 2.0 * m * n * k / 1e12, {
        "a @ b": lambda: a @ b,
        "torch.mm(a, b, out=c)": lambda: torch.mm(a, b, out=out),
        "torch.mm(a, w.t(), out=c)": lambda: torch.mm(a, weight.t(), out=out),
        "linear(a, w)": lambda: torch.nn.functional.linear(a, weight),
    }


def movement(torch: Any, device: str, detail: dict[str, int]) -> dict[str, tuple[float, Callable[[], Any]]]:
    """Ways to pass over buffers that no cache holds, with the gigabytes that each reads and writes."""
    elements = (detail["mib"] << 20) // 4
    a, b, c = (torch.empty(elements, device=device).uniform_() for _ in range(3))
    size = elements * 4 / 1e9
    return {
        "b.copy_(a)": (2 * size, lambda: b.copy_(a)),
        "torch.mul(a, 3, out=b)": (2 * size, lambda: torch.mul(a, 3.0, out=b)),
        "torch.add(b, c, out=a)": (3 * size, lambda: torch.add(b, c, out=a)),
        "torch.add(b, c, alpha=3, out=a)": (3 * size, lambda: torch.add(b, c, alpha=3.0, out=a)),
    }


def one_round(torch: Any, name: str, rate: dict[str, Any], device: str) -> Round:
    """Our rate beside the best rate that do_bench finds for the same work, in the unit of ours."""
    from triton.testing import do_bench

    detail = rate["detail"]
    if name == "memory":
        size, ways = f"{detail['mib']} MiB", movement(torch, device, detail)
    else:
        size = f"{detail['m']} x {detail['n']} x {detail['k']}"
        amount, works = product(torch, name, device, detail)
        ways = {way: (amount, work) for way, work in works.items()}
    found = []
    for way, (amount, work) in ways.items():
        ms = do_bench(work, warmup=WARMUP_MS, rep=REPEAT_MS, return_mode="median")
        found.append((amount / ms * 1e3, way))
    torch.cuda.empty_cache()
    best, way = max(found)
    return Round(size, rate["unit"], rate["value"], best, way)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda:0", help="cuda:N")
    parser.add_argument("--rounds", type=int, choices=range(1, 21), metavar="1..20", default=3)
    asked = parser.parse_args()
    if not re.fullmatch(r"cuda(:\d{1,3})?", asked.device):
        parser.error(f"--device {asked.device!r}: say cuda:N")
    if reason := why_not(asked.device):
        print(f"gpu_speed.py: {reason}; nothing was measured", file=sys.stderr)
        return 2
    import torch

    torch.cuda.set_device(asked.device)
    torch.set_float32_matmul_precision("highest")
    rounds: dict[str, list[Round]] = {}
    for _ in range(asked.rounds):
        for name, rate in ours(asked.device).items():
            rounds.setdefault(name, []).append(one_round(torch, name, rate, asked.device))
    if not rounds:
        print("gpu_speed.py: the agent gave no rate; nothing was measured", file=sys.stderr)
        return 2
    print(f"{torch.cuda.get_device_name(asked.device)}, torch {torch.__version__}, {asked.rounds} rounds\n")
    print("| work | last size | gpudoctor | do_bench, best of torch | unit | how | ours to theirs |")
    print("| --- | --- | ---: | ---: | --- | --- | ---: |")
    worst = 0.0
    for name, done in rounds.items():
        off = (median(one.ours / one.theirs for one in done) - 1) * 100
        worst = max(worst, abs(off))
        figures = f"{median(one.ours for one in done):.1f} | {median(one.theirs for one in done):.1f}"
        print(f"| {name} | {done[-1].size} | {figures} | {done[-1].unit} | `{done[-1].way}` | {off:+.1f} % |")
    print(f"\nFarthest apart: {worst:.1f} % (goal: {GOAL_PERCENT:g} %).")
    return 0 if worst <= GOAL_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
