"""Answers of `gpudoctor matrix query` about a library's driver and its machine code: cuDNN and NCCL, and vice versa."""

from __future__ import annotations

import re

from compat_matrix import Matrix
from compat_matrix.drivers import floors
from compat_matrix.packages import RUNS
from compat_matrix.versions import numbers

from .matrix_answer import Found, Query, driver_row, named_capability, unlisted
from .matrix_for_gpu import plain_capabilities

_MAJORS = (11, 12, 13)
"""CUDA major versions that NCCL has wheels for."""


def driver_for_cudnn(m: Matrix, query: Query) -> Found:
    row = m.cudnn(query.value)
    if row is None:
        raise unlisted(f"cuDNN {query.value!r}")
    if row.min_driver and query.os == "linux":
        drivers = re.findall(r"(?<![\d.])\d{3}\.\d+(?:\.\d+)?|(?<=[rR])\d{3}", row.min_driver)
        text = f"cuDNN {row.version}: minimum driver by CUDA version: {row.min_driver}"
        return Found(tuple(dict.fromkeys(drivers)), (text,), (row.source,))
    return _by_major(m, query, f"cuDNN {row.version}", row.cuda_majors, row.source)


def driver_for_nccl(m: Matrix, query: Query) -> Found:
    row = m.nccl(query.value)
    majors = tuple(one for one in _MAJORS if row and getattr(row, f"wheel_cu{one}") == "yes")
    if row is None or not majors:
        raise unlisted(f"the CUDA version for NCCL {query.value!r}")
    return _by_major(m, query, f"NCCL {row.version}", majors, row.source)


def _by_major(m: Matrix, query: Query, name: str, majors: tuple[int, ...], source: str) -> Found:
    """The lowest driver of each CUDA major version that the library is built for."""
    found: dict[str, str] = {}
    keys = {source: 0}
    for major in majors:
        versions = [one for one in m.toolkit_versions() if one[0] == major]
        if versions:
            full, lowest, toolkits = floors(m, versions[0], query.os)
            found[f"{name} for CUDA {major}: driver {lowest or full} or newer"] = lowest or full
            keys[toolkits[0].source] = 0
    if not found:
        raise unlisted(f"the minimum driver version for {name}")
    return Found(tuple(found.values()), tuple(found), tuple(keys))


def cudnn_for_driver(m: Matrix, query: Query) -> Found:
    rows = [(row.version, row.cuda_majors, row.source) for row in m.cudnn_rows if row.confidence != "memory"]
    return _newest_of_each(m, query, "cuDNN", rows)


def nccl_for_driver(m: Matrix, query: Query) -> Found:
    rows = [
        (row.version, tuple(one for one in _MAJORS if getattr(row, f"wheel_cu{one}") == "yes"), row.source)
        for row in m.nccl_rows
    ]
    return _newest_of_each(m, query, "NCCL", rows)


def _newest_of_each(m: Matrix, query: Query, title: str, rows: list[tuple[str, tuple[int, ...], str]]) -> Found:
    """The newest release for each CUDA major version whose programs the driver runs."""
    driver_row(m, query.value, query.os)
    found: dict[str, str] = {}
    keys: dict[str, int] = {}
    for major in sorted({major for _, majors, _ in rows for major in majors}, reverse=True):
        oldest = next((one for one in m.toolkit_versions() if one[0] == major), None)
        cuda = f"{major}.{oldest[1]}" if oldest else ""
        if not oldest or m.driver_for_cuda(query.value, cuda, query.os).grade not in RUNS:
            continue
        version, _, source = max((row for row in rows if major in row[1]), key=lambda row: numbers(row[0]))
        found[f"CUDA {major}: {title} {version} is the newest listed release that driver {query.value} runs"] = version
        keys[source] = 0
    return Found(tuple(dict.fromkeys(found.values())), tuple(found) or (f"no listed {title}",), tuple(keys))


def gpu_for_nccl(m: Matrix, query: Query) -> Found:
    row = m.nccl(query.value)
    if row is None or not (row.wheel_sass or row.makefile_sm):
        raise unlisted(f"GPU support of NCCL {query.value!r}")
    every = [one.cc for one in plain_capabilities(m, tegra="aarch64" in query.wheels)]
    lines: list[str] = []
    values: dict[str, None] = {}
    held = {f"the wheel for CUDA {major} has": sass for major, sass in row.wheel_sass.items()}
    for where, sass in (held or {"its Makefile compiles": row.makefile_sm}).items():
        runs = [cc for cc in every if m.code_for_gpu(cc, sass).kind == "sass"]
        values.update(dict.fromkeys(runs))
        lines.append(f"NCCL {row.version}: {where} machine code for compute capability {', '.join(runs)}")
    return Found(tuple(sorted(values, key=numbers)), tuple(lines), (row.source,))


def nccl_for_gpu(m: Matrix, query: Query) -> Found:
    capability = named_capability(m, query.value)
    found: dict[str, str] = {}
    keys: dict[str, int] = {}
    for major in reversed(_MAJORS):
        good = [row for row in m.nccl_rows if m.nccl_for_gpu(row.version, capability, major).grade == "ok"]
        if good:
            row = max(good, key=lambda one: numbers(one.version))
            found[f"CUDA {major}: NCCL {row.version} is the newest wheel known to have code for {capability}"] = (
                row.version
            )
            keys[row.source] = 0
    if not found:
        raise unlisted(f"an NCCL wheel with code for compute capability {capability}")
    return Found(tuple(dict.fromkeys(found.values())), tuple(found), tuple(keys))
