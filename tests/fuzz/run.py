"""Fuzz the parsers: `python tests/fuzz/run.py [--count 100000] [--target NAME] [--seed N]`.

Without --target every target runs, each in a process of its own. What goes wrong is written to tests/fuzz/corpus/NAME/
(it stays there as a test once the parser is repaired) and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.fuzz.fuzz import fuzz
from tests.fuzz.targets import CORPUS, TARGETS

HEAD = f"{'target':<16} {'inputs':>8} {'seconds':>8} {'slowest ms':>11} {'grown MiB':>10} {'steps':>6} {'kept':>5} {'found':>6}"
ADDRESS_SPACE = 2 << 30
"""Bytes beyond which a target's process gets no memory: MemoryError is then what is found."""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--count", type=int, default=100_000, help="inputs for each target (default: 100000)")
    options.add_argument("--target", choices=sorted(TARGETS), action="append", help="only this target; repeatable")
    options.add_argument("--seed", type=int, default=1, help="other numbers, other inputs (default: 1)")
    flags = options.parse_args()
    if flags.target and len(flags.target) == 1:
        return one(flags.target[0], flags.count, flags.seed)
    print(HEAD, flush=True)
    worst = 0
    for name in flags.target or TARGETS:
        command = [sys.executable, __file__, "--target", name, "--count", str(flags.count), "--seed", str(flags.seed)]
        worst = max(worst, abs(subprocess.run(command, check=False).returncode))
    return min(worst, 1)


def one(name: str, count: int, seed: int) -> int:
    """Fuzz one target in this process."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    result = fuzz(name, TARGETS[name], count, seed)
    print(
        f"{name:<16} {result.inputs:>8} {result.seconds:>8.1f} {result.slowest_ms:>11.2f} {result.grown_mib:>10.1f} "
        f"{result.steps:>6} {result.kept:>5} {len(result.found):>6}",
        flush=True,
    )
    for found in result.found:
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.blake2s(found.data, digest_size=6).hexdigest()
        path.write_bytes(found.data)
        print(f"  {found.what} -> {path.name} ({len(found.data)} bytes)", flush=True)
    return 1 if result.found else 0


if __name__ == "__main__":
    sys.exit(main())
