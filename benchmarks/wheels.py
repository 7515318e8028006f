"""The fat binary walker against the real wheels: torch's own list, cuobjdump and the matrix.

``python benchmarks/wheels.py [--scratch DIR] [--keep DIR] [--only WORD] [--table]``

Takes every torch version of the default index from 1.8.0 on, the libraries that they require and the wheels of other
GPU packages, one wheel at a time: downloaded with pip, its libraries unpacked one by one, read, deleted. A line per
wheel is appended to ``wheels.jsonl``, and a wheel that has a line is not fetched again. Its headers become a skeleton
in ``tests/fixtures/wheels``: ``wheels.txt`` is made from these (--table: only that), and the tests build libraries. All
that was read goes to a file per wheel in --keep, so that a change of the walker needs no download. The scratch folder
needs 8 GB.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.wheel_reading import Tools, Wanted, download, read_wheel
from benchmarks.wheel_skeletons import write
from benchmarks.wheel_table import table

HERE = Path(__file__).resolve().parent
LINES = HERE / "wheels.jsonl"
TABLE = HERE / "wheels.txt"
SKELETONS = HERE.parent / "tests" / "fixtures" / "wheels"
MATRIX = HERE.parent / "compat_matrix" / "data" / "torch_builds.json"
FIRST = ("2.6.0", "2.5.1")
"""Those that were declared broken on an H100; then from the newest to the oldest."""
OLDEST = (1, 8, 0)
ARM_VERSIONS = 7
OTHERS = (
    ("bitsandbytes", ""), ("bitsandbytes", "0.43.3"), ("triton", ""), ("xformers", ""), ("xformers", "0.0.28.post3"),
    ("vllm", ""), ("onnxruntime-gpu", ""), ("cupy-cuda11x", ""), ("cupy-cuda12x", ""), ("cupy-cuda13x", ""),
    ("jax-cuda12-plugin", ""), ("jax-cuda12-pjrt", ""), ("jax-cuda13-plugin", ""), ("jax-cuda13-pjrt", ""),
)  # fmt: skip


TOOLKIT = ("nvidia-cublas", "nvidia-cufft", "nvidia-curand", "nvidia-cusolver", "nvidia-cusparse")
"""Of what cuda-toolkit's extras name: those with GPU code that torch asks for."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def torch_wheels() -> list[Wanted]:
    """The default builds of the matrix, in the order in which they are taken."""
    rows = [row for row in json.loads(MATRIX.read_text()) if row.get("pypi_default")]
    found = []
    for machine, most in (("x86_64", 1000), ("aarch64", ARM_VERSIONS)):
        versions = {row["torch"] for row in rows if row["platform"] == "linux_" + machine}
        newest = sorted((v for v in versions if numbers(v) >= OLDEST), key=numbers, reverse=True)[:most]
        ordered = [v for v in FIRST if v in newest] + [v for v in newest if v not in FIRST]
        found += [Wanted("torch", version, machine) for version in ordered]
    return found


def required(lines: list[dict[str, Any]]) -> list[Wanted]:
    """The CUDA libraries that torch for x86_64 requires, by cuda-toolkit too; each once, the newest torch's first."""
    tools = {line["asked"]: line["requires"] for line in lines if line["name"] == "cuda-toolkit"}
    torches = [line for line in lines if line["name"] == "torch" and line["machine"] == "x86_64"]
    found: dict[Wanted, None] = {}
    for line in sorted(torches, key=lambda line: numbers(line["version"]), reverse=True):
        for name, version in line["requires"].items():
            if name.startswith("nvidia-") or name == "cuda-toolkit":
                found[Wanted(name, version, "x86_64")] = None
            if name == "cuda-toolkit":
                pins = tools.get(version, {})
                found.update({Wanted(part, pins[part], "x86_64"): None for part in TOOLKIT if part in pins})
    return list(found)


def lines_read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.is_file() else []


def wanted(only: str) -> Iterator[Wanted]:
    """What has no line yet; the requirements become known while torch is read."""
    done = {(line["name"], line["asked"], line["machine"]) for line in lines_read()}
    others = [Wanted(name, version, "x86_64") for name, version in OTHERS]
    for make in (torch_wheels, lambda: others, _required_now, _required_now):  # the second knows the toolkits' parts
        for one in make():
            if (one.name, one.version, one.machine) not in done and only in f"{one.name}=={one.version}":
                done.add((one.name, one.version, one.machine))
                yield one


def _required_now() -> list[Wanted]:
    return required(lines_read())


def collect(scratch: Path, keep: Path, only: str) -> None:
    """Read what is wanted and has no line."""
    keep.mkdir(parents=True, exist_ok=True)
    tools = Tools(scratch)
    for one in wanted(only):
        start = time.monotonic()
        try:
            wheel = download(one, scratch / "wheel")
        except LookupError as error:
            line: dict[str, Any] = {"name": one.name, "asked": one.version, "machine": one.machine}
            line |= {"version": one.version, "requires": {}, "absent": str(error)}
        else:
            fetched = time.monotonic()
            line, kept = read_wheel(one, wheel, scratch, keep, tools)
            write(kept, SKELETONS)
            line["download_s"] = round(fetched - start, 1)
            line["read_s"] = round(time.monotonic() - fetched, 1)
            wheel.unlink()
        with LINES.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(one, f"{time.monotonic() - start:.0f} s", line.get("absent", ""), flush=True)


def main() -> int:
    """Collect, then compare; 1 where something disagrees and no rule explains it."""
    parser = argparse.ArgumentParser(description="the walker against real wheels")
    parser.add_argument("--scratch", type=Path, help="work here (default: a temporary folder)")
    parser.add_argument("--keep", type=Path, help="all headers of each wheel (default: below the scratch folder)")
    parser.add_argument("--only", default="", help="only wheels with this text in NAME==VERSION")
    parser.add_argument("--table", action="store_true", help="only compare what was read")
    arguments = parser.parse_args()
    if not arguments.table:
        with tempfile.TemporaryDirectory() as temporary:
            scratch = arguments.scratch or Path(temporary)
            scratch.mkdir(parents=True, exist_ok=True)
            collect(scratch, arguments.keep or scratch / "keep", arguments.only)
    text, disagreements = table(lines_read())
    TABLE.write_text(text)
    print(text.partition("\n\n")[0])
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
