"""`gpudoctor matrix query WANTED for KIND VALUE`: which of one thing goes with another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import click
import msgspec

from compat_matrix import Matrix
from compat_matrix.drivers import Platform, branch_ended, floors
from compat_matrix.rows_torch import TorchBuild
from compat_matrix.torchs import usable
from compat_matrix.versions import minor, numbers, tag_cuda

from .matrix_answer import cited, emit, named_capability, unlisted

_MOST = 8
"""Releases in a line of text; JSON has them all."""


class Found(msgspec.Struct, frozen=True):
    """An answer: what goes with it, the sentences that say how, and keys of sources."""

    values: tuple[str, ...]
    lines: tuple[str, ...]
    sources: tuple[str, ...] = ()


class Query(msgspec.Struct, frozen=True):
    """The question: the value, and the system that it is about."""

    value: str
    os: Platform
    wheels: str
    """Platform of wheels: linux_x86_64, linux_aarch64 or windows."""


def answer_for(m: Matrix, wanted: str, words: Sequence[str], format_: str, options: Mapping[str, Any]) -> int:
    """Print the answer; returns 0. Raises ClickException and UsageError with one line."""
    kind, value = (words[0], " ".join(words[1:])) if words else ("", "")
    question = _QUESTIONS.get((wanted, kind))
    if question is None and (wanted, "gpu") in _QUESTIONS and m.gpus_like(" ".join(words)).rows:
        kind, value = "gpu", " ".join(words)  # 'driver for RTX 5090'
        question = _QUESTIONS[wanted, kind]
    if question is None or not value:
        known = sorted({w for w, _ in _QUESTIONS}), sorted({k for _, k in _QUESTIONS})
        if wanted in known[0] and (kind not in known[1] or not value):
            kinds = ", ".join(k for w, k in _QUESTIONS if w == wanted)
            raise click.UsageError(f"matrix query {wanted} for KIND VALUE: KIND is one of {kinds}")
        raise click.UsageError(f"matrix query cannot say which {wanted!r} goes with {kind!r}")
    windows = options["os_"] != "linux"
    wheels = "windows" if options["os_"] == "windows" else f"linux_{options['arch']}"
    found = question(m, Query(value, "windows" if windows else "linux", wheels))
    return emit(format_, found, [*found.lines, *cited(m, found.sources)])


def _cuda(m: Matrix, text: str) -> tuple[int, int]:
    version = minor(text)
    if version is None or not any(minor(row.cuda) == version for row in m.toolkits):
        newer = version is not None and version > max(minor(row.cuda) or (0, 0) for row in m.toolkits)
        raise unlisted(f"CUDA {text!r}", newer)
    return version


def _driver_for_cuda(m: Matrix, query: Query) -> Found:
    version = _cuda(m, query.value)
    cuda = f"{version[0]}.{version[1]}"
    full, lowest, toolkits = floors(m, version, query.os)
    lines = [f"CUDA {cuda} with all its features: driver {full} or newer"] if full else []
    if lowest and lowest != full:
        lines.append(
            f"programs built with CUDA {cuda}, by minor-version compatibility: driver {lowest} or newer "
            "(machine code only: PTX that is newer than the driver is not compiled)"
        )
    today = m.version.replace(".", "-")
    rows = [r for r in m.drivers if (minor(r.cuda) or (0, 0)) >= version and not branch_ended(r, today)]
    rows = [r for r in rows if query.os == "linux" or r.windows_last]
    if rows:
        lines.append(f"branches that report it and have not ended: {', '.join(str(r.branch) for r in rows)}")
    major = [row.source for row in m.cuda_majors if row.major == version[0]]
    return Found(
        tuple(v for v in (full, lowest) if v), tuple(lines), tuple({toolkits[0].source: 0, **dict.fromkeys(major)})
    )


def _driver_for_gpu(m: Matrix, query: Query) -> Found:
    row = m.compute_capability(named_capability(m, query.value))
    assert row is not None  # named_capability answers with listed ones
    name = f"{row.architecture} (compute capability {row.cc})"
    if row.tegra:
        return Found((), (f"{name}: the driver comes with the board's own JetPack release",), (row.source,))
    first = f"branch {row.first_driver} or newer" if row.first_driver else "any branch of the matrix"
    lines = [f"{name}: {first}" + (f", and {row.last_driver} is the last" if row.last_driver else "")]
    lines.append(f"open kernel module: {row.open_module}")
    best = m.branch_to_install([row.cc], platform=query.os)
    if best:
        newest = f", newest seen {best.latest_seen}" if best.latest_seen else ""
        lines.append(f"to install: branch {best.branch} ({best.type}, CUDA {best.cuda}{newest})")
    else:
        lines.append("no branch that still gets updates drives it")
    return Found((str(best.branch),) if best else (), tuple(lines), (row.source, *((best.source,) if best else ())))


def _cuda_of(build: TorchBuild) -> tuple[int, int]:
    return minor(tag_cuda(build.tag) or "") or (0, 0)


def _builds(m: Matrix, query: Query) -> list[TorchBuild]:
    """Published CUDA builds of the platform, newest torch and CUDA first."""
    rows = [b for b in m.builds if b.platform == query.wheels and usable(b) and tag_cuda(b.tag)]
    return sorted(rows, key=lambda b: (numbers(b.torch), _cuda_of(b)), reverse=True)


def _release(m: Matrix, text: str) -> str:
    found = m.torch_release(text)
    if found.release is None:
        raise unlisted(f"torch {text!r}", found.status == "newer-than-matrix")
    return found.release.torch


def _tags(m: Matrix, query: Query) -> list[TorchBuild]:
    release = _release(m, query.value)
    builds = [b for b in _builds(m, query) if b.torch == release]
    if not builds:
        raise unlisted(f"a CUDA build of torch {release} for {query.wheels}")
    return builds


def _driver_for_torch(m: Matrix, query: Query) -> Found:
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


def _cuda_for_torch(m: Matrix, query: Query) -> Found:
    builds = _tags(m, query)
    default = m.pypi_tag(builds[0].torch, query.wheels)
    tags = tuple(build.tag for build in builds)
    return Found(tags, (f"torch {builds[0].torch}: {', '.join(tags)}; from PyPI: {default}",), (builds[0].source,))


def _cuda_for_driver(m: Matrix, query: Query) -> Found:
    branch = m.driver_branch(query.value, query.os)
    if branch.row is None:
        raise unlisted(f"driver {query.value!r}", branch.status == "newer-than-matrix")
    row = branch.row
    lines = [f"branch {row.branch}: CUDA {row.cuda} and older, with all features"]
    version = query.value if "." in query.value else row.latest_seen or f"{row.branch}.0"
    newer = []
    for toolkit in sorted({c for t in m.toolkits if (c := minor(t.cuda)) and c > (minor(row.cuda) or (0, 0))}):
        text = f"{toolkit[0]}.{toolkit[1]}"
        if m.driver_for_cuda(version, text, query.os).grade == "minor-version":
            newer.append(text)
    if newer:
        lines.append(f"by minor-version compatibility (machine code only) also programs built with {', '.join(newer)}")
    return Found((row.cuda, *newer), tuple(lines), (row.source,))


def _cuda_for_gpu(m: Matrix, query: Query) -> Found:
    row = m.compute_capability(named_capability(m, query.value))
    assert row is not None
    last = f"{row.last_toolkit} is the last" if row.last_toolkit else "the newest supports it too"
    first = f"CUDA {row.first_toolkit} or newer" if row.first_toolkit else "every CUDA of the matrix from the oldest on"
    line = f"{row.architecture} (compute capability {row.cc}): {first} compiles for it; {last}"
    return Found(tuple(v for v in (row.first_toolkit, row.last_toolkit) if v), (line,), (row.source,))


def _listed(builds: Sequence[TorchBuild], what: str) -> Found:
    """Newest torch first, with the tags of each."""
    tags: dict[str, list[str]] = {}
    for build in builds:
        tags.setdefault(build.torch, []).append(build.tag)
    if not tags:
        return Found((), (f"no published torch build {what}",))
    lines = [f"torch {torch}: {', '.join(found)}" for torch, found in list(tags.items())[:_MOST]]
    more = [f"and {len(tags) - _MOST} older releases (--format json lists them)"] if len(tags) > _MOST else []
    values = tuple(f"{torch}+{tag}" for torch, found in tags.items() for tag in found)
    return Found(values, (f"builds {what}:", *lines, *more), tuple(dict.fromkeys(b.source for b in builds))[:3])


def _torch_for_cuda(m: Matrix, query: Query) -> Found:
    version = _cuda(m, query.value)
    return _listed([b for b in _builds(m, query) if _cuda_of(b) == version], f"with CUDA {query.value}")


def _torch_for_driver(m: Matrix, query: Query) -> Found:
    if m.driver_branch(query.value, query.os).status == "unknown":
        raise unlisted(f"driver {query.value!r}")

    def runs(build: TorchBuild) -> bool:
        return m.driver_for_cuda(query.value, tag_cuda(build.tag) or "", query.os).grade in ("native", "minor-version")

    return _listed([b for b in _builds(m, query) if runs(b)], f"that driver {query.value} runs")


def _torch_for_gpu(m: Matrix, query: Query) -> Found:
    capability = named_capability(m, query.value)
    builds = [b for b in m.torch_for(capability, query.wheels) if tag_cuda(b.tag)]
    builds.sort(key=lambda b: (numbers(b.torch), _cuda_of(b)), reverse=True)
    return _listed(builds, f"with machine code for {query.value} ({capability})")


def _torch_for_python(m: Matrix, query: Query) -> Found:
    releases = m.torch_for_python(query.value, query.wheels)
    if not releases:
        raise unlisted(f"a torch for Python {query.value!r}")
    rows = [r.torch for r in releases]
    text = (
        f"Python {query.value}: torch {rows[-1]} to {rows[0]}"
        if len(rows) > 1
        else f"Python {query.value}: torch {rows[0]}"
    )
    return Found(tuple(rows), (text,), (releases[0].source,))


def _python_for_torch(m: Matrix, query: Query) -> Found:
    row = m.torch_release(_release(m, query.value)).release
    pythons = cast("tuple[str, ...]", getattr(row, f"pythons_{query.wheels}"))
    return Found(
        pythons, (f"torch {query.value}: Python {', '.join(pythons) or 'none'}",), (row.source,) if row else ()
    )


def _pinned(package: str, title: str) -> Callable[[Matrix, Query], Found]:
    def question(m: Matrix, query: Query) -> Found:
        row = m.torch_release(_release(m, query.value)).release
        assert row is not None
        values = dict(row.cudnn_per_build) if package == "cudnn" else {}
        default = cast("str", getattr(row, package))
        if default:
            values.setdefault(row.pypi_linux_x86_64, default)
        if not values:
            raise unlisted(f"the {title} of torch {row.torch}")
        lines = tuple(f"torch {row.torch} {tag}: {title} {value}" for tag, value in sorted(values.items()))
        return Found(tuple(dict.fromkeys(values.values())), lines, (row.source,))

    return question


_QUESTIONS: dict[tuple[str, str], Callable[[Matrix, Query], Found]] = {
    ("driver", "cuda"): _driver_for_cuda, ("driver", "gpu"): _driver_for_gpu, ("driver", "torch"): _driver_for_torch,
    ("cuda", "torch"): _cuda_for_torch, ("cuda", "driver"): _cuda_for_driver, ("cuda", "gpu"): _cuda_for_gpu,
    ("torch", "cuda"): _torch_for_cuda, ("torch", "driver"): _torch_for_driver, ("torch", "gpu"): _torch_for_gpu,
    ("torch", "python"): _torch_for_python, ("python", "torch"): _python_for_torch,
    ("cudnn", "torch"): _pinned("cudnn", "cuDNN"), ("nccl", "torch"): _pinned("nccl", "NCCL"),
    ("triton", "torch"): _pinned("triton", "triton"),
}  # fmt: skip
