"""Answers of `gpudoctor matrix query` about GPUs: which driver supports one, and which GPUs work with what."""

from __future__ import annotations

from collections.abc import Callable

import click

from compat_matrix import Matrix
from compat_matrix.branches import branch_ended, drives
from compat_matrix.rows_code import Capability
from compat_matrix.versions import minor, numbers, tag_cuda

from .matrix_answer import (
    Found,
    Query,
    driver_row,
    listed_cuda,
    named_capabilities,
    named_capability,
    release_of,
    unlisted,
)

Question = Callable[[Matrix, Query], Found]


def of_each_chip(question: Question) -> Question:
    """The question, asked for each capability that boards with this name have: a GT 730 is Fermi or Kepler."""

    def for_each(m: Matrix, query: Query) -> Found:
        several = named_capabilities(m, query.value)
        if len(several) == 1:
            return question(m, query)
        values: list[str] = []
        lines: list[str] = []
        keys: list[str] = []
        for cc, name in several.items():
            try:
                found = question(m, Query(cc, query.os, query.wheels))
            except click.ClickException as unlisted:
                lines.append(f"{name} ({cc}): {unlisted.message}")
                continue
            values += found.values
            lines += [f"{name} ({cc}):", *(f"  {line}" for line in found.lines)]
            keys += found.sources
        return Found(tuple(dict.fromkeys(values)), tuple(lines), tuple(dict.fromkeys(keys)))

    return for_each


def driver_for_gpu(m: Matrix, query: Query) -> Found:
    row = m.compute_capability(named_capability(m, query.value))
    assert row is not None  # named_capability answers with listed ones
    name = f"{row.architecture} (compute capability {row.cc})"
    if row.tegra:
        return Found((), (f"{name}: the driver is part of the board's JetPack release",), (row.source,))
    first, last = row.first_driver, row.last_driver
    if first:
        words = f"branch {first} or newer" + (f"; the last is {last}" if last else "")
    else:
        words = f"any listed branch up to {last}" if last else "any branch in the matrix"
    lines = [f"{name}: {words}"]
    lines.append(f"open kernel module: {row.open_module}")
    best = m.branch_to_install([row.cc], platform=query.os)
    if best is None:
        lines.append("no driver branch that still gets updates supports it")
    best = best or next(reversed(m.branches_for([row.cc], query.os)), None)
    day = m.version.replace(".", "-")
    if best:
        newest = f", newest version seen {best.latest_seen}" if best.latest_seen else ""
        end = f", ended {best.end_of_life}" if branch_ended(m, best, day) else ""
        cuda = m.toolkit_of_driver(best.cuda)
        lines.append(f"to install: branch {best.branch} ({best.type}, CUDA {cuda}{newest}{end})")
    return Found((str(best.branch),) if best else (), tuple(lines), (row.source, *((best.source,) if best else ())))


def cuda_for_gpu(m: Matrix, query: Query) -> Found:
    row = m.compute_capability(named_capability(m, query.value))
    assert row is not None
    last = (
        f"{row.last_toolkit} is the last version that can"
        if row.last_toolkit
        else "the newest listed version still can"
    )
    first = f"CUDA {row.first_toolkit} or newer" if row.first_toolkit else "even the oldest listed CUDA version"
    line = f"{row.architecture} (compute capability {row.cc}): {first} can compile for it; {last}"
    return Found(tuple(v for v in (row.first_toolkit, row.last_toolkit) if v), (line,), (row.source,))


def cudnn_for_gpu(m: Matrix, query: Query) -> Found:
    capability = named_capability(m, query.value)
    values, lines, keys = [], [], []
    for major in sorted({major for row in m.cudnn_rows for major in row.cuda_majors}, reverse=True):
        rows = [row for row in m.cudnn_rows if major in row.cuda_majors and row.confidence != "memory"]
        ok = [row for row in rows if m.cudnn_for_gpu(row.version, capability, major).grade == "ok"]
        if ok:
            newest = max(ok, key=lambda row: numbers(row.version))
            values.append(newest.version)
            lines.append(
                f"CUDA {major}: cuDNN {newest.version} is the newest listed release that supports compute capability "
                f"{capability}"
            )
            keys.append(newest.source)
    if not values:
        raise unlisted(f"a cuDNN release for compute capability {capability}")
    return Found(tuple(dict.fromkeys(values)), tuple(lines), tuple(dict.fromkeys(keys)))


def gpu_for_driver(m: Matrix, query: Query) -> Found:
    row = driver_row(m, query.value, query.os)
    return _capabilities(
        m, f"driver branch {row.branch}", [one for one in plain_capabilities(m) if drives(row, one)], row.source
    )


def gpu_for_cuda(m: Matrix, query: Query) -> Found:
    versions = listed_cuda(m, query.value)

    def compiles(one: Capability) -> bool:
        first, last = minor(one.first_toolkit) or (0, 0), minor(one.last_toolkit) or versions[-1]
        return any(first <= version <= last for version in versions)

    rows = [one for one in plain_capabilities(m, tegra=True) if compiles(one)]
    return _capabilities(m, f"CUDA {query.value} compiles", rows, rows[0].source if rows else "")


def gpu_for_torch(m: Matrix, query: Query) -> Found:
    release = release_of(m, query.value)
    builds = [b for b in m.torch_builds(release, query.wheels) if tag_cuda(b.tag) and b.published == "yes"]
    if not builds:
        raise unlisted(f"a CUDA build of torch {release} for {query.wheels}")
    values: dict[str, None] = {}
    lines = []
    for build in builds:
        held = [
            one.cc
            for one in plain_capabilities(m, tegra="aarch64" in query.wheels)
            if m.code_for_gpu(one.cc, build.sass, (), build_cuda=tag_cuda(build.tag)).kind == "sass"
        ]
        values.update(dict.fromkeys(held))
        lines.append(f"torch {release} {build.tag}: machine code for compute capability {', '.join(held)}")
    return Found(tuple(sorted(values, key=numbers)), tuple(lines), tuple(dict.fromkeys(b.source for b in builds)))


def plain_capabilities(m: Matrix, tegra: bool = False) -> list[Capability]:
    """Capabilities without chip- or family-specific variants, oldest first; Jetson ones only if asked for."""
    rows = [row for row in m.capabilities if row.cc[-1].isdigit() and (tegra or not row.tegra)]
    return sorted(rows, key=lambda row: numbers(row.cc))


def _capabilities(m: Matrix, what: str, rows: list[Capability], source: str) -> Found:
    lines = [f"{what}: compute capability {', '.join(row.cc for row in rows)}"]
    for row in rows:
        names = row.examples or ", ".join(gpu.name.removeprefix("NVIDIA ") for gpu in m.gpu_by_capability(row.cc)[:4])
        lines.append(f"  {row.cc:<5} {row.architecture}" + (f": {names}" if names else ""))
    return Found(tuple(row.cc for row in rows), tuple(lines), (source,) if source else ())
