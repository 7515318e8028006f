"""How many slips in the matrix do its tests notice? `python benchmarks/matrix_mutation.py [--count 200] [--seed 1]`.

Each time one row of a copy of the data is dropped, or one field of it that verdicts rest on is shifted, and
tests/matrix runs on the copy until its first failure. Prints a table and the slips that nobody noticed.
Needs fork and pytest.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from compat_matrix.tables import DATA  # noqa: E402

FIELDS = {
    "drivers": "cuda type end_of_life min_compute_capability open_module windows_first windows_last",
    "toolkits": "cuda min_driver_linux min_driver_windows sm_targets ptx_isa host_gcc_max_major",
    "cuda_majors": "min_driver_linux min_driver_windows minor_version_compatibility limits",
    "forward_compat": "cuda from_branch hosts image_hosts",
    "compute_capability": "architecture first_toolkit last_toolkit first_driver last_driver open_module tegra",
    "ptx_portability": "target runs_on",
    "binary_rules": "rule device code min_build_cuda",
    "torch_releases": "pythons_linux_x86_64 pythons_linux_aarch64 pythons_windows pypi_linux_x86_64 cudnn_per_build",
    "torch_builds": "tag platform sass ptx published pypi_default",
    "index_urls": "tag url torch platforms min_driver_linux",
    "companions": "torch package version relation",
    "gpus": "architecture cc device_ids segment forward_compat open_module memory_gib",
    "cudnn": "version until cuda_majors min_cc",
    "nccl": "version wheel_sass wheel_cu12 wheel_cu13",
    "extensions": "package version torch cuda",
    "cuda_errors": "code driver_name runtime_name",
    "nvml_errors": "code name",
}
"""Tables and fields that checks, fixes or commands answer with; prose, dates, sizes and speeds are left out."""
Rows = list[dict[str, Any]]


class Slip(NamedTuple):
    """One change: `field` is empty where the whole row was dropped."""

    table: str
    index: int
    field: str
    words: str


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--count", type=int, default=200, help="slips to try (default: 200)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--table", choices=FIELDS, help="only this table")
    flags = options.parse_args()
    tables = {name: json.loads((Path(DATA) / f"{name}.json").read_bytes()) for name in FIELDS}
    chosen = sample(tables, flags.count, flags.seed, flags.table)
    begun, noticed = perf_counter(), {name: [0, 0] for name in FIELDS}
    missed: list[Slip] = []
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "data"
        shutil.copytree(DATA, copied)
        if run_tests(copied):
            print("the matrix tests fail on the data as it is")
            return 2
        for slip, rows in chosen:
            path = copied / f"{slip.table}.json"
            before = path.read_bytes()
            path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
            seen = run_tests(copied)
            path.write_bytes(before)
            noticed[slip.table][0] += seen
            noticed[slip.table][1] += 1
            if not seen:
                missed.append(slip)
    print(f"{'table':<20} {'noticed':>8} {'slips':>6} {'rows':>6}")
    for name, (seen, tried) in noticed.items():
        if tried:
            print(f"{name:<20} {seen:>8} {tried:>6} {len(tables[name]):>6}")
    total = sum(seen for seen, _ in noticed.values())
    seconds = perf_counter() - begun
    print(f"{'all':<20} {total:>8} {len(chosen):>6}   {total / len(chosen):.1%}, {seconds:.0f} s, seed {flags.seed}")
    for slip in missed:
        print(f"missed: {slip.table} {slip.words}")
    return 0


def sample(tables: dict[str, Rows], count: int, seed: int, only: str | None) -> list[tuple[Slip, Rows]]:
    """Slips spread over the tables by their size, four at least in each; every third drops its row."""
    random = Random(seed)
    names = [only] if only else list(FIELDS)
    total = sum(len(tables[name]) for name in names)
    chosen = []
    for name in names:
        rows = tables[name]
        wanted = min(len(rows), max(4, round(count * len(rows) / total)))
        for number, index in enumerate(sorted(random.sample(range(len(rows)), wanted))):
            chosen.append(drop(name, rows, index) if number % 3 == 2 else shift(name, rows, index, random))
    return chosen


def drop(name: str, rows: Rows, index: int) -> tuple[Slip, Rows]:
    return Slip(name, index, "", f"{title(rows[index])}: dropped"), rows[:index] + rows[index + 1 :]


def shift(name: str, rows: Rows, index: int, random: Random) -> tuple[Slip, Rows]:
    """One field of the row says something near to what it said."""
    row = copy.deepcopy(rows[index])
    field = random.choice([key for key in FIELDS[name].split() if key in row])
    old = copy.deepcopy(row[field])
    others = [other[field] for other in rows if field in other and other[field] != old]
    row[field] = moved(old, others, random)
    words = f"{title(rows[index])}: {field} {json.dumps(old)[:80]} -> {json.dumps(row[field])[:80]}"
    return Slip(name, index, field, words), [*rows[:index], row, *rows[index + 1 :]]


def moved(old: Any, others: list[Any], random: Random) -> Any:
    """A version one step on, a number one more, a list without one of its items, else what another row says."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return old + 1
    if isinstance(old, float):
        return old * 1.5
    if isinstance(old, list) and old:
        at = random.randrange(len(old))
        return old[:at] + old[at + 1 :]
    if isinstance(old, dict) and old:
        key = random.choice(sorted(old))
        return {**old, key: moved(old[key], [v for other in others for v in other.values() if v != old[key]], random)}
    if isinstance(old, str) and re.fullmatch(r"[<>=~ ]*\d+(\.\d+)+", old):
        head, _, last = old.rpartition(".")
        return f"{head}.{int(last) + 1}"
    return random.choice(others) if others else f"{old}x"


def title(row: dict[str, Any]) -> str:
    """The first words of a row."""
    return " ".join(str(value) for value in list(row.values())[:3])


def run_tests(data: Path) -> int:
    """1 where a test of tests/matrix fails on this copy, in a child that has everything imported already."""
    import pytest

    import compat_matrix.lint  # noqa: F401

    child = os.fork()
    if not child:
        os.environ["GPUDOCTOR_TEST_MATRIX"] = str(data)
        code = 3
        with contextlib.suppress(BaseException), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "matrix")]))
        os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        raise SystemExit(f"pytest ended with {code}")
    return code


if __name__ == "__main__":
    sys.exit(main())
