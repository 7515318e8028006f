"""Is the matrix sound? Problems of the data files, one line each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from .tables import TABLES, MatrixError, decode, row_type
from .versions import arch, minor, numbers, tag_cuda

if TYPE_CHECKING:
    from .matrix import Matrix

CONFIDENCE = ("measured", "documented", "derived", "memory")
# What makes a row of a table unique.
KEYS = {
    "drivers": ("branch",), "toolkits": ("version",), "cuda_majors": ("major",), "forward_compat": ("cuda",),
    "forward_compat_rules": ("rule",), "compat_notes": ("libcuda",), "compute_capability": ("cc",),
    "ptx_portability": ("target",), "binary_rules": ("device", "code", "rule"), "torch_releases": ("torch",),
    "torch_builds": ("torch", "tag", "platform"), "index_urls": ("tag",), "gpus": ("id",), "gpu_specs": ("id",),
    "companions": ("torch", "package", "version"), "cudnn": ("version",), "nccl": ("version",),
    "extensions": ("package", "version"), "rocm": ("torch", "rocm"), "pcie": ("gen",),
}  # fmt: skip


def lint(m: Matrix) -> list[str]:
    """Problems found; empty when sound. A file that cannot be read is a problem, not an exception."""
    problems: list[str] = []
    sources: dict[str, str] = {}
    try:
        sources = decode(m.directory, "sources", dict[str, str])
    except MatrixError as error:
        problems.append(str(error))
    used: set[str] = set()
    readable = True
    for table in TABLES:
        try:
            raw: list[dict[str, Any]] = decode(m.directory, table, list[dict[str, Any]])
            m.rows(table)
        except MatrixError as error:
            problems.append(str(error))
            readable = False
            continue
        problems += _shape(table, raw, sources, used)
    problems += [f"sources: {key} is used by no row" for key in sorted(set(sources) - used)]
    if readable:
        for rule in (_drivers, _floors, _capabilities, _torch, _gpus):
            problems += rule(m)
    return problems


def _shape(table: str, raw: list[dict[str, Any]], sources: dict[str, str], used: set[str]) -> list[str]:
    problems, seen = [], set()
    fields = {field.encode_name for field in msgspec.structs.fields(row_type(table))}
    for number, row in enumerate(raw, 1):
        place = f"{table} row {number}"
        problems += [f"{place}: unknown field {name}" for name in row if name not in fields]
        if row.get("source") not in sources:
            problems.append(f"{place}: source {row.get('source')!r} is not in sources")
        used.add(str(row.get("source")))
        if row.get("confidence") not in CONFIDENCE:
            problems.append(f"{place}: confidence {row.get('confidence')!r}")
        key = tuple(str(row.get(name)) for name in KEYS.get(table, ()))
        if key and key in seen:
            problems.append(f"{place}: duplicate of {' '.join(key)}")
        seen.add(key)
    return problems


def _drivers(m: Matrix) -> list[str]:
    problems = []
    rows = sorted(m.drivers, key=lambda row: row.branch)
    for row in rows:
        if minor(row.cuda) is None or arch(row.min_compute_capability) is None:
            problems.append(f"drivers {row.branch}: CUDA or compute capability unreadable")
        problems += [
            f"drivers {row.branch}: {text} is not of this branch"
            for text in (row.first_release, row.latest_seen) if text and numbers(text)[:1] != (row.branch,)
        ]  # fmt: skip
    for older, newer in pairwise(rows):
        if (minor(older.cuda) or ()) > (minor(newer.cuda) or ()):
            problems.append(f"drivers {newer.branch}: reports an older CUDA than {older.branch}")
    for package in m.compat_packages:
        branches = {row.branch for row in rows}
        hosts = [*map(int, package.hosts), *package.image_hosts, package.from_branch]
        problems += [f"forward_compat {package.cuda}: branch {b} is not in drivers" for b in hosts if b not in branches]
    return problems


def _floors(m: Matrix) -> list[str]:
    problems = []
    majors = {row.major: row for row in m.cuda_majors}
    for field in ("min_driver_linux", "min_driver_windows"):
        last: tuple[str, tuple[int, ...]] = ("", ())
        for row in sorted(m.toolkits, key=lambda row: numbers(row.version)):
            floor = numbers(getattr(row, field))
            if not floor:
                continue
            if floor < last[1]:
                problems.append(f"toolkits {row.version}: {field} is below that of {last[0]}")
            last = (row.version, floor)
            major = majors.get(numbers(row.version)[0])
            low = numbers(getattr(major, field)) if major else ()
            # CUDA 11.0 came out on earlier 450 drivers than the floor of 11.x.
            if low and floor < low and minor(row.cuda) != (11, 0):
                problems.append(f"toolkits {row.version}: {field} is below the floor of CUDA {low}")
    return problems


def _capabilities(m: Matrix) -> list[str]:
    problems = []
    listed = {row.cc for row in m.capabilities}
    branches = {row.branch for row in m.drivers}
    for row in m.capabilities:
        if arch(row.cc) is None:
            problems.append(f"compute_capability {row.cc}: unreadable")
        for branch in (row.first_driver, row.last_driver):
            if branch is not None and branch not in branches:
                problems.append(f"compute_capability {row.cc}: branch {branch} is not in drivers")
    targets = {cc for row in m.toolkits for cc in row.sm_targets}
    targets |= {cc for row in m.ptx_targets for cc in (row.target, *row.runs_on)}
    targets |= {cc for row in m.binary_rules for cc in (row.device, *row.code)}
    targets |= {cc for build in m.builds for cc in (*build.sass, *build.ptx)}
    return problems + [f"compute_capability: {cc} is used but not listed" for cc in sorted(targets - listed)]


def _torch(m: Matrix) -> list[str]:
    problems = []
    releases = {row.torch: row for row in m.releases}
    indexes = {row.tag: row for row in m.index_urls}
    for build in m.builds:
        place = f"torch_builds {build.torch} {build.tag} {build.platform}"
        if build.torch not in releases:
            problems.append(f"{place}: release not listed")
        if tag_cuda(build.tag) is None:
            problems.append(f"{place}: tag unreadable")
        if build.platform != "linux_x86_64_conda" and build.published != "dropped":
            index = indexes.get(build.tag)
            if index is None:
                problems.append(f"{place}: no index row")
            elif build.published == "yes" and build.torch not in index.torch:
                problems.append(f"{place}: not among the releases of its index")
        if build.published not in ("yes", "unverified", "dropped"):
            problems.append(f"{place}: published {build.published!r}")
        if build.pypi_default and getattr(releases.get(build.torch), f"pypi_{build.platform}", None) != build.tag:
            problems.append(f"{place}: the release names another PyPI default")
    for row in m.releases:
        for platform in ("linux_x86_64", "linux_aarch64"):
            tag = getattr(row, f"pypi_{platform}")
            if tag not in ("cpu", "none") and m.torch_build(row.torch, tag, platform) is None:
                problems.append(f"torch_releases {row.torch}: default {tag} of {platform} has no build row")
    for pair in m.companion_rows:
        bases = {numbers(text)[: len(numbers(pair.torch))] for text in releases}
        if pair.torch != "*" and numbers(pair.torch) not in bases:
            problems.append(f"companions {pair.package} {pair.version}: torch {pair.torch} is not listed")
    return problems


def _gpus(m: Matrix) -> list[str]:
    problems = []
    specs = {row.id for row in m.gpu_specs}
    for row in m.gpus:
        if row.id not in specs:
            problems.append(f"gpus {row.id}: no gpu_specs row")
        if row.cc and m.compute_capability(row.cc) is None:
            problems.append(f"gpus {row.id}: compute capability {row.cc} is not listed")
    return problems + [f"gpu_specs {key}: no gpus row" for key in sorted(specs - {row.id for row in m.gpus})]
