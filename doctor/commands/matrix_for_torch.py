"""Answers of `gpudoctor matrix query` about published torch builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from compat_matrix import Matrix
from compat_matrix.drivers import floors
from compat_matrix.packages import bundled
from compat_matrix.rows_torch import TorchBuild
from compat_matrix.torchs import usable
from compat_matrix.versions import minor, numbers, tag_cuda

from .matrix_answer import Found, Query, listed_cuda, named_capability, release_of, unlisted

_MOST = 8
"""Releases in one line of text; JSON has them all."""


def _cuda_of(build: TorchBuild) -> tuple[int, int]:
    return minor(tag_cuda(build.tag) or "") or (0, 0)


def _builds(m: Matrix, query: Query) -> list[TorchBuild]:
    """Published CUDA builds of the platform, newest torch and CUDA first."""
    rows = [b for b in m.builds if b.platform == query.wheels and usable(b) and tag_cuda(b.tag)]
    return sorted(rows, key=lambda b: (numbers(b.torch), _cuda_of(b)), reverse=True)


def _tags(m: Matrix, query: Query) -> list[TorchBuild]:
    release = release_of(m, query.value)
    builds = [b for b in _builds(m, query) if b.torch == release]
    if not builds:
        raise unlisted(f"a CUDA build of torch {release} for {query.wheels}")
    return builds


def driver_for_torch(m: Matrix, query: Query) -> Found:
    lines, values, keys = [], [], {}
    for build in _tags(m, query):
        cuda = _cuda_of(build)
        full, lowest, toolkits = floors(m, cuda, query.os)
        values.append(lowest or full)
        text = f"torch {build.torch} {build.tag}: driver {lowest or full} or newer"
        lines.append(
            text + (f", {full} or newer for all features of CUDA {cuda[0]}.{cuda[1]}" if full != lowest else "")
        )
        keys.update(dict.fromkeys(row.source for row in toolkits[:1]))
    return Found(tuple(values), tuple(lines), tuple(keys))


def cuda_for_torch(m: Matrix, query: Query) -> Found:
    builds = _tags(m, query)
    default = m.pypi_tag(builds[0].torch, query.wheels)
    tags = tuple(build.tag for build in builds)
    return Found(tags, (f"torch {builds[0].torch}: {', '.join(tags)}; from PyPI: {default}",), (builds[0].source,))


def _listed(builds: Sequence[TorchBuild], what: str) -> Found:
    """Newest torch first, each with its tags."""
    tags: dict[str, list[str]] = {}
    for build in builds:
        tags.setdefault(build.torch, []).append(build.tag)
    if not tags:
        return Found((), (f"no published torch build {what}",))
    lines = [f"torch {torch}: {', '.join(found)}" for torch, found in list(tags.items())[:_MOST]]
    more = [f"and {len(tags) - _MOST} older releases (--format json lists them)"] if len(tags) > _MOST else []
    values = tuple(f"{torch}+{tag}" for torch, found in tags.items() for tag in found)
    return Found(values, (f"builds {what}:", *lines, *more), tuple(dict.fromkeys(b.source for b in builds))[:3])


def torch_for_cuda(m: Matrix, query: Query) -> Found:
    versions = listed_cuda(m, query.value)
    return _listed([b for b in _builds(m, query) if _cuda_of(b) in versions], f"with CUDA {query.value}")


def torch_for_driver(m: Matrix, query: Query) -> Found:
    if m.driver_branch(query.value, query.os).status == "unknown":
        raise unlisted(f"driver {query.value!r}")

    def runs(build: TorchBuild) -> bool:
        return m.driver_for_cuda(query.value, tag_cuda(build.tag) or "", query.os).grade in ("native", "minor-version")

    return _listed([b for b in _builds(m, query) if runs(b)], f"that driver {query.value} supports")


def torch_for_gpu(m: Matrix, query: Query) -> Found:
    capability = named_capability(m, query.value)
    builds = [b for b in m.torch_for(capability, query.wheels) if tag_cuda(b.tag)]
    builds.sort(key=lambda b: (numbers(b.torch), _cuda_of(b)), reverse=True)
    return _listed(builds, f"with machine code for {query.value} ({capability})")


def torch_for_python(m: Matrix, query: Query) -> Found:
    releases = m.torch_for_python(query.value, query.wheels)
    if not releases:
        raise unlisted(f"a torch release for Python {query.value!r}")
    rows = [r.torch for r in releases]
    text = (
        f"Python {query.value}: torch {rows[-1]} to {rows[0]}"
        if len(rows) > 1
        else f"Python {query.value}: torch {rows[0]}"
    )
    return Found(tuple(rows), (text,), (releases[0].source,))


def python_for_torch(m: Matrix, query: Query) -> Found:
    row = m.torch_release(release_of(m, query.value)).release
    pythons = cast("tuple[str, ...]", getattr(row, f"pythons_{query.wheels}"))
    return Found(
        pythons, (f"torch {query.value}: Python {', '.join(pythons) or 'none'}",), (row.source,) if row else ()
    )


def pinned(package: str, title: str) -> Callable[[Matrix, Query], Found]:
    def question(m: Matrix, query: Query) -> Found:
        row = m.torch_release(release_of(m, query.value)).release
        assert row is not None
        values = bundled(row, package)
        if not values:
            raise unlisted(f"the {title} of torch {row.torch}")
        lines = tuple(f"torch {row.torch} {tag}: {title} {value}" for tag, value in sorted(values.items()))
        return Found(tuple(dict.fromkeys(values.values())), lines, (row.source,))

    return question
