"""Which changes a table of the matrix allows: a row that is gone, or one field that says something near."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

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
    "preloads": "torch libraries",
    "gpus": "architecture cc device_ids segment forward_compat open_module memory_gib",
    "cudnn": "version until cuda_majors min_cc",
    "nccl": "version wheel_sass wheel_cu12 wheel_cu13",
    "extensions": "package version torch cuda",
    "cuda_errors": "code driver_name runtime_name",
    "nvml_errors": "code name",
}
"""Tables and fields that checks, fixes or commands answer with; prose, dates, sizes and speeds are left out."""
FOLDER = "compat_matrix/data/"
TABLES = tuple(f"{FOLDER}{name}.json" for name in FIELDS)


def changes(path: str, source: str) -> Iterator[tuple[int, str, str, str, str]]:
    """(line, kind, before, after, the whole text with it) of each change; a row is one line."""
    lines = source.splitlines()
    rows = {number: json.loads(line.rstrip(",")) for number, line in enumerate(lines) if line.startswith("{")}
    for number, row in rows.items():
        title = " ".join(str(value) for value in list(row.values())[:3])
        rest = [text for at, text in enumerate(lines) if at != number]
        yield number + 1, "row dropped", title, "", _whole(rest)
        for field in FIELDS[path.removeprefix(FOLDER).removesuffix(".json")].split():
            if field in row:
                others = [other[field] for other in rows.values() if field in other and other[field] != row[field]]
                new = {**row, field: moved(copy.deepcopy(row[field]), others, random.Random(f"{path}{title}{field}"))}
                before, after = json.dumps(row[field]), json.dumps(new[field])
                comma = "," if lines[number].endswith(",") else ""
                text = _whole([*lines[:number], json.dumps(new, ensure_ascii=False) + comma, *lines[number + 1 :]])
                yield number + 1, "field", f"{title}: {field} {before}", after, text


def _whole(lines: list[str]) -> str:
    """The file again; the last row has no comma."""
    last = max(number for number, line in enumerate(lines) if line.startswith("{"))
    return "\n".join([*lines[:last], lines[last].rstrip(","), *lines[last + 1 :]]) + "\n"


def moved(old: Any, others: list[Any], chance: random.Random) -> Any:
    """A version one step on, a number one more, a list without one of its items, else what another row says."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return old + 1
    if isinstance(old, float):
        return old * 1.5
    if isinstance(old, list) and old:
        at = chance.randrange(len(old))
        return old[:at] + old[at + 1 :]
    if isinstance(old, dict) and old:
        key = chance.choice(sorted(old))
        values = [value for other in others for value in other.values() if value != old[key]]
        return {**old, key: moved(old[key], values, chance)}
    if isinstance(old, str) and re.fullmatch(r"[<>=~ ]*\d+(\.\d+)+", old):
        head, _, last = old.rpartition(".")
        return f"{head}.{int(last) + 1}"
    return chance.choice(others) if others else f"{old}x"
