"""Check the matrix: problems in the data files, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .tables import KEYS, TABLES, MatrixError, row_type

if TYPE_CHECKING:
    from .store import Store

CONFIDENCE = ("measured", "documented", "derived", "memory")


# Fields with a fixed set of values.
VALUES: dict[str, dict[str, tuple[str, ...]]] = {
    "drivers": {
        "type": ("lts", "production", "new-feature", "long-lived", "short-lived", "unknown"),
        "open_module": ("none", "alpha", "beta", "default", "only-turing-up"),
    },
    "cuda_majors": {"limits": ("none", "sass-only")},
    "compute_capability": {"open_module": ("unsupported", "supported", "required", "tegra")},
    "binary_rules": {"rule": ("own-code-only", "also-runs", "never", "unverified", "from-build-cuda", "misnamed")},
    "torch_builds": {
        "published": ("yes", "unverified", "dropped"),
        "platform": ("linux_x86_64", "linux_aarch64", "windows", "linux_x86_64_conda"),
    },
    "conda": {"platform": ("linux_x86_64", "linux_aarch64", "windows")},
    "companions": {"relation": ("==", ">=", "~=", "any", "built-for")},
    "gpus": {
        "segment": ("datacenter", "workstation", "consumer", "embedded"),
        "open_module": ("unsupported", "supported", "required", "tegra"),
        "forward_compat": ("yes", "no", "selected", "jetson", "unknown"),
    },
}


def lint(m: Store, laws: bool = True) -> list[str]:
    """Problems found; empty if there are none. A file that cannot be read is a problem, not an exception.

    laws: also check how publishers have numbered things so far, which the next release may change.
    """
    problems: list[str] = []
    sources: dict[str, str] = {}
    try:
        sources = m.file("sources", dict[str, str])
    except MatrixError as error:
        problems.append(str(error))
    used: set[str] = set()
    readable = True
    for table in TABLES:
        try:
            raw: list[dict[str, Any]] = m.file(table, list[dict[str, Any]])
            m.rows(table)
        except MatrixError as error:
            problems.append(str(error))
            readable = False
            continue
        problems += _shape(table, raw, sources, used)
    problems += [f"sources: {key} is not used by any row" for key in sorted(set(sources) - used)]
    if readable:
        from .lint_laws import LAWS
        from .lint_rates import RATES
        from .lint_reach import REACH
        from .lint_rules import RULES

        for rule in (*(LAWS if laws else ()), *RULES, *RATES, *REACH):
            problems += rule(m)
    return problems


def _shape(table: str, raw: list[dict[str, Any]], sources: dict[str, str], used: set[str]) -> list[str]:
    problems, seen = [], set()
    fields = {field.encode_name for field in msgspec.structs.fields(row_type(table))}
    for number, row in enumerate(raw, 1):
        where = f"{table} row {number}"
        problems += [f"{where}: unknown field {name}" for name in row if name not in fields]
        if row.get("source") not in sources:
            problems.append(f"{where}: source {row.get('source')!r} is not in sources")
        used.add(str(row.get("source")))
        if row.get("confidence") not in CONFIDENCE:
            problems.append(f"{where}: confidence {row.get('confidence')!r}")
        problems += [
            f"{where}: {field} {row.get(field)!r}"
            for field, allowed in VALUES.get(table, {}).items()
            if row.get(field) not in allowed
        ]
        key = tuple(str(row.get(name)) for name in KEYS.get(table, ()))
        if key and key in seen:
            problems.append(f"{where}: duplicate of {' '.join(key)}")
        seen.add(key)
    return problems
