"""`gpudoctor fit` against memory that was measured, and its own time. `python -m benchmarks.fit [PYTHON_WITH_TORCH]`

`python -m benchmarks.fit models` prints weights and KV caches of published models alone (`fit_models.jsonl`).

Published points: the middle of the range that `fit` prints, with attention, context and batch as they were published.
With a Python that has torch: the pass on the meta device for 10 billion parameters, and three trainings on the CPU
(tests/fit/trainings.py), by the live memory events of torch's profiler; beside them the process's own peak less that of
a run with batch 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.fit_models import models, shown
from doctor.fit.memory import GIB, MIB, estimate, kv_bytes
from doctor.fit.work import Work
from tests.fit.test_published_numbers import BERT_LARGE
from tests.fit.test_published_trainings import OPT_13B, OPT_66B, OPT_175B

TRAININGS = Path(__file__).parents[1] / "tests" / "fit" / "trainings.py"
BERT = (
    ("fp32", 4, False, "adamw", 14949), ("fp32", 1, False, "adamw", 8681), ("fp32", 1, True, "adamw", 6775),
    ("mixed", 4, False, "adamw", 13939), ("mixed", 1, True, "adamw", 7275), ("fp32", 4, False, "adamw-8bit", 13085),
    ("mixed", 1, True, "adamw-8bit", 5363),
)  # fmt: skip
"""huggingface.co/docs/transformers: efficient training on a single GPU. BERT-large, 512 tokens, V100; by nvidia-smi."""
VLLM = ((OPT_13B, 12, 15.7), (OPT_66B, 21, 9.7), (OPT_175B, 264, 60.1))
"""arxiv.org/abs/2309.06180 table 1: GB for the KV cache, thousands of tokens in it."""
SAMPLES = 11


def command(*words: str) -> tuple[dict[str, object], float]:
    """The answer in JSON, and the seconds that it took."""
    begun = time.perf_counter()
    argv = [sys.executable, "-m", "doctor", "fit", *words, "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return json.loads(done.stdout), time.perf_counter() - begun


def published() -> None:
    """A row for each point."""
    for dtype, batch, checkpointing, optimizer, mib in BERT:
        rule = "hugging-face" if dtype == "mixed" else ""
        work = Work(dtype=dtype, batch=batch, checkpointing=checkpointing, optimizer=optimizer, sequence=512,
                    attention="eager", context=1343 * MIB, rule=rule)  # fmt: skip
        held = estimate(BERT_LARGE, 335_141_888, work)
        middle = (held.low + held.high) / 2 / MIB
        spare = ", checkpointing" if checkpointing else ""
        print(f"| BERT-large, {dtype}, {optimizer}, batch {batch}{spare} | {mib} MB | {held.low / MIB:.0f} to "
              f"{held.high / MIB:.0f} | {100 * (middle / mib - 1):+.1f} % |")  # fmt: skip
    for shape, gib, thousands in VLLM:
        slots = gib * GIB / kv_bytes(shape, "fp16") / 1000
        print(f"| OPT, {shape.layers} layers: tokens in {gib} GB of KV cache | {thousands} k | {slots:.1f} k | "
              f"{100 * (slots / thousands - 1):+.1f} % |")  # fmt: skip


def trained(python: str) -> None:
    """Three trainings on the CPU."""
    for name in ("Encoder", "Decoder", "Convolutions"):
        runs = [
            json.loads(subprocess.run([python, TRAININGS, name, n], capture_output=True, text=True, check=True).stdout)
            for n in ("8", "0")
        ]
        words = ("--dtype", "fp32", "--batch", "8", "--seq", "256", "--gpus", "T4", "--python", python)
        found, _ = command("--model", f"{TRAININGS}:{name}", *words)
        parts = {part["name"]: part["low"] for part in found["memory"]["parts"]}  # type: ignore[index]
        held = sum(parts[n] for n in ("weights", "gradients", "optimizer", "activations"))
        held -= min(parts["gradients"], parts["activations"])
        peak = runs[0]["peak"]
        rss = (runs[0]["rss"] - runs[1]["rss"]) / MIB
        row = f"{peak / MIB:.1f} MiB; the process {rss:.0f} MiB | {held / MIB:.1f} | {100 * (held / peak - 1):+.1f} %"
        print(f"| {name} on the CPU, batch 8 x 256 | {row} |")


def main() -> None:
    """Print the table, then the times."""
    if sys.argv[1:2] == ["models"]:
        print("\n".join(shown(models(*sys.argv[2:3]))))
        return
    print("| what | measured | `fit` | off |\n| --- | --- | --- | --- |")
    published()
    if sys.argv[1:]:
        trained(sys.argv[1])
    words = ("--params", "10e9", "--gpus", "8xA100-40GB")
    print(f"\nby formula: {1000 * median(command(*words)[1] for _ in range(SAMPLES)):.0f} ms")
    if sys.argv[1:]:
        print(f"on the meta device: {command(*words, '--meta-device', '--python', sys.argv[1])[1]:.1f} s")


if __name__ == "__main__":
    main()
