"""What gpudoctor says of damaged libraries of a real CUDA wheel, without importing torch.

    python benchmarks/broken_files.py ENVIRONMENT [--pairs N] [--before TREE] > benchmarks/broken_files.txt

ENVIRONMENT: a virtual environment with a CUDA build of torch and its nvidia-* wheels (no GPU is needed). It is not
changed: each case damages a copy whose files are hard links. `--pairs N --before TREE`: also N pairs of `check
--no-import` from the checkout TREE and from this one, turn about, and the median of the ratios of their processor time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]
MIB = 1 << 20
CASES = (
    ("as installed", "", "whole"),
    ("libtorch_cpu.so deleted", "torch/lib/libtorch_cpu.so", "missing"),
    ("libtorch_cuda.so cut at 100 MiB", "torch/lib/libtorch_cuda.so", "cut 100"),
    ("libc10.so is a git-lfs pointer", "torch/lib/libc10.so", "pointer"),
    ("libcublas empty", "nvidia/**/libcublas.so.*", "cut 0"),
    ("libnccl cut at 1 MiB", "nvidia/**/libnccl.so.2", "cut 1"),
    ("libcudnn_cnn deleted", "nvidia/**/libcudnn_cnn.so.9", "missing"),
    ("libcudnn_ops all zeros", "nvidia/**/libcudnn_ops.so.9", "zeros"),
    ("healthy: libtorch_cuda_linalg.so stripped", "torch/lib/libtorch_cuda_linalg.so", "strip"),
    ("healthy: a test's library deleted", "torch/lib/libjitbackend_test.so", "missing"),
)


def damage(file: Path, kind: str) -> None:
    """Write the damaged file in place of the hard link."""
    word, _, mib = kind.partition(" ")
    size = file.stat().st_size
    if word == "strip":
        stripped = file.with_suffix(".stripped")
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, file], check=True)
        stripped.replace(file)
        return
    data = file.read_bytes()[: int(mib) * MIB] if word == "cut" else bytes(size) if word == "zeros" else b""
    file.unlink()
    if word == "pointer":
        data = f"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize {size}\n".encode()
    if word != "missing":
        file.write_bytes(data)


def run(command: str, environment: Path) -> tuple[int, str]:
    """Exit code and first finding's line of a command."""
    words = [sys.executable, "-m", "doctor", command, "--expect", "none", "--python", str(environment)]
    words += ["--no-import"] if command == "check" else []
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=HERE)
    rows = [
        row
        for row in done.stdout.splitlines()
        if "FAIL  " in row or "WARN  " in row or row.startswith(("PASS", "FAIL", "OK"))
    ]
    return done.returncode, rows[0].strip("✗▲ ") if rows else done.stderr.strip()


def seconds(tree: Path, environment: Path) -> float:
    """Processor time of `check --no-import` from a checkout, children too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "doctor", "check", "--no-import", "--expect", "none", "--python", str(environment)]
    subprocess.run(words, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pairs(before: Path, environment: Path, count: int) -> str:
    """The line with the median of the ratios."""
    trees = (before, HERE)
    for tree in trees:
        seconds(tree, environment)
    times: dict[Path, list[float]] = {tree: [] for tree in trees}
    for number in range(count):
        for tree in trees[:: 1 if number % 2 else -1]:
            times[tree].append(seconds(tree, environment))
    ratio = median(new / old for old, new in zip(times[before], times[HERE], strict=True))
    milliseconds = [f"{1000 * median(times[tree]):.0f} ms" for tree in trees]
    return (
        f"check --no-import, {count} pairs: {milliseconds[0]} before, {milliseconds[1]} after, median ratio {ratio:.3f}"
    )


def main() -> None:
    """Print a row for each case, then the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--before", type=Path)
    asked = parser.parse_args()
    names = sorted(
        p.name.removesuffix(".dist-info") for p in asked.environment.glob("lib/python3*/site-packages/torch-*")
    )
    print(f"# {', '.join(names)}\n")
    for title, pattern, kind in CASES:
        with tempfile.TemporaryDirectory(dir=asked.environment.parent) as folder:
            copy = Path(folder) / "env"
            shutil.copytree(asked.environment, copy, symlinks=True, copy_function=os.link)
            site = next(copy.glob("lib/python3*/site-packages"))
            found = sorted(site.glob(pattern)) if pattern else []
            if pattern and not found:
                print(f"{title}: this wheel has no {pattern}")
                continue
            for file in found:
                damage(file, kind)
            for command in ("check", "healthcheck"):
                code, words = run(command, copy)
                print(f"{title} | {command} | exit {code} | {words}")
    if asked.pairs and asked.before:
        print(f"\n{pairs(asked.before, asked.environment, asked.pairs)}")


if __name__ == "__main__":
    main()
