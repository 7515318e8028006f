"""How long masking a pasted text of 200 kB takes, in processor time of one thread.

    python benchmarks/masking.py [--runs N]

A training log, and the public cases one after the other (no two lines alike: many words, many names); then texts made
to be slow. The best and the median of the runs, for other programs disturb the rest.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time

from overmasking import texts

from doctor.snapshot.redact import LocalNames, Redactor

SIZE = 200_000


def made() -> dict[str, str]:
    """The texts by name."""
    draw = random.Random(1)
    log = (
        f"2026-11-22 10:{n // 60 % 60:02d}:{n % 60:02d},{draw.randint(0, 999):03d} INFO [trainer.py:{n % 900}] "
        f"step {n} loss {draw.random():.6f} lr {draw.random() * 1e-4:.3e} tokens/s {draw.randint(1000, 9000)}"
        for n in range(3000)
    )
    layers = {f"layer{n}": {"name": f"model.layers.{n}.self_attn.q_proj", "norm": draw.random()} for n in range(2500)}
    return {
        "log of a training": "\n".join(log),
        "public cases": "\n".join(texts().values()),
        "one line of JSON": json.dumps(layers),
        "hashes": "\n".join(f"{draw.getrandbits(256):064x}" for _ in range(3100)),
        "a name and value on each line": "\n".join(
            f"{draw.choice(('token', 'key', 'user', 'host'))}_{n}: v{draw.randint(0, 99999)}x" for n in range(9000)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time to mask 200 kB.")
    parser.add_argument("--runs", type=int, default=25)
    runs = parser.parse_args().runs
    for name, text in made().items():
        text, taken = text[:SIZE], []
        for _ in range(runs):
            began = time.process_time()
            Redactor(LocalNames("zaphod", "heartofgold", "/home/zaphod")).pasted(text)
            taken.append((time.process_time() - began) * 1000)
        print(f"{min(taken):6.1f} ms best, {statistics.median(taken):6.1f} ms median  {name}, {len(text) // 1000} kB")


if __name__ == "__main__":
    main()
