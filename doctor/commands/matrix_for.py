"""`gpudoctor matrix query WANTED for KIND VALUE`: which version of one thing works with another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from compat_matrix import Matrix
from compat_matrix.branches import branch_ended
from compat_matrix.drivers import Platform, floors
from compat_matrix.packages import package_names, package_rows
from compat_matrix.versions import minor, numbers

from .matrix_answer import Found, Query, driver_row, listed_cuda, windows_only
from .matrix_for_code import (
    cudnn_for_driver,
    driver_for_cudnn,
    driver_for_nccl,
    gpu_for_nccl,
    nccl_for_driver,
    nccl_for_gpu,
)
from .matrix_for_gpu import (
    cuda_for_gpu,
    cudnn_for_gpu,
    driver_for_gpu,
    gpu_for_cuda,
    gpu_for_driver,
    gpu_for_torch,
    of_each_chip,
)
from .matrix_for_library import (
    cuda_for_cudnn,
    cuda_for_nccl,
    cudnn_for_cuda,
    gpu_for_cudnn,
    nccl_for_cuda,
    torch_for_cudnn,
    torch_for_nccl,
)
from .matrix_for_package import KINDS, OF_A_RELEASE, brings_cudnn, of_package, package_named, through_torch, which
from .matrix_for_torch import (
    cuda_for_torch,
    driver_for_torch,
    pinned,
    python_for_torch,
    torch_for_cuda,
    torch_for_driver,
    torch_for_gpu,
    torch_for_python,
)
from .matrix_line import of_each_release

Question = Callable[[Matrix, Query], Found]
_NEWEST, _MOST = 8, 4
"""How many values are answered if the question has none, and how many are listed for each."""


def answer_for(m: Matrix, wanted: str, words: Sequence[str], options: Mapping[str, Any]) -> Found:
    """What works with it. Raises ClickException and UsageError with one line."""
    kind, value = (words[0], " ".join(words[1:])) if words else ("", "")
    question = _question(m, wanted, kind)
    if question is None and _question(m, wanted, "gpu") and m.gpus_like(" ".join(words)).rows:
        kind, value = "gpu", " ".join(words)  # 'driver for RTX 5090'
        question = _question(m, wanted, kind)
    if question and not value and kind == "gpu":
        raise click.UsageError(f"matrix query {wanted} for gpu: name the GPU, such as 'RTX 4090', or its capability")
    if question is None:
        kinds = [one for one in _KINDS if _question(m, wanted, one)]
        if not kinds:
            raise click.UsageError(f"matrix query cannot say which {wanted!r} works with {kind!r}")
        raise click.UsageError(f"matrix query {wanted} for KIND VALUE: KIND is one of {', '.join(kinds)}, or a package")
    windows = options["os_"] != "linux"
    wheels = "windows" if options["os_"] == "windows" else f"linux_{options['arch']}"
    system: Platform = "windows" if windows else "linux"
    note = windows_only(m, value) if kind == "driver" and not windows else ""
    if note:
        found = question(m, Query(value, "windows", "windows"))
        return Found(found.values, (note, *found.lines), found.sources)
    if value:
        return of_each_release(kind, question)(m, Query(value, system, wheels))
    return _of_the_newest(m, wanted, kind, lambda one: question(m, Query(one, system, wheels)))


def _question(m: Matrix, wanted: str, kind: str) -> Question | None:
    """How it is answered; None if no table has both."""
    found = _QUESTIONS.get((wanted, kind))
    if found:
        return of_each_chip(found) if kind == "gpu" else found
    package, other = package_named(m, wanted), package_named(m, kind)
    if package and kind in KINDS:
        own = which(package, kind)
        return of_each_chip(own) if kind == "gpu" else own
    if other and wanted in OF_A_RELEASE and (wanted != "cudnn" or brings_cudnn(m, other)):
        return of_package(wanted, other)
    if other and package != other:
        inner = _QUESTIONS.get((wanted, "torch")) or (which(package, "torch") if package else None)
        return through_torch(wanted, other, inner) if inner else None
    return None


def _of_the_newest(m: Matrix, wanted: str, kind: str, ask: Callable[[str], Found]) -> Found:
    """One line for each of the newest values: `torchaudio for torch`."""
    values, lines, keys = [], [], {}
    for one in _newest(m, kind):
        try:
            found = ask(one)
        except click.ClickException:
            continue
        if found.values:
            values.append(found.values[0])
            short = ", ".join(dict.fromkeys(found.values[:_MOST]))
            lines.append(found.lines[0] if wanted in ("driver", "gpu") else f"{kind} {one}: {wanted} {short}")
            keys.update(dict.fromkeys(found.sources))
    if not lines:
        raise click.ClickException(
            f"this matrix lists no {wanted} for the newest {kind} versions: name a version of {kind}"
        )
    return Found(tuple(dict.fromkeys(values)), tuple(lines), tuple(keys)[:3])


def _newest(m: Matrix, kind: str) -> list[str]:
    every = {
        "torch": lambda: [row.torch for row in m.releases],
        "cuda": lambda: [f"{major}.{small}" for major, small in m.toolkit_versions()],
        "driver": lambda: [str(row.branch) for row in m.drivers],
        "python": lambda: [one for row in m.releases for one in row.pythons_linux_x86_64 if "t" not in one],
        "cudnn": lambda: [row.version for row in m.cudnn_rows],
        "nccl": lambda: [row.version for row in m.nccl_rows],
    }.get(kind, lambda: [row.version for row in package_rows(m, kind)])()
    return sorted(dict.fromkeys(every), key=numbers, reverse=True)[:_NEWEST]


def _driver_for_cuda(m: Matrix, query: Query) -> Found:
    versions = listed_cuda(m, query.value)
    if len(versions) > 1:
        return _driver_for_major(m, query, versions)
    version = versions[0]
    cuda = f"{version[0]}.{version[1]}"
    full, lowest, toolkits = floors(m, version, query.os)
    lines = [f"CUDA {cuda} with all its features: driver {full} or newer"] if full else []
    if lowest and lowest != full:
        lines.append(
            f"programs built with CUDA {cuda}, through minor-version compatibility: driver {lowest} or newer "
            "(machine code only: PTX that is newer than the driver is not compiled)"
        )
    today = m.version.replace(".", "-")
    rows = [r for r in m.drivers if (minor(r.cuda) or (0, 0)) >= version and not branch_ended(m, r, today)]
    rows = [r for r in rows if query.os == "linux" or r.windows_last]
    if rows:
        lines.append(f"supported driver branches that report it: {', '.join(str(r.branch) for r in rows)}")
    major = [row.source for row in m.cuda_majors if row.major == version[0]]
    return Found(
        tuple(v for v in (full, lowest) if v), tuple(lines), tuple({toolkits[0].source: 0, **dict.fromkeys(major)})
    )


def _driver_for_major(m: Matrix, query: Query, versions: tuple[tuple[int, int], ...]) -> Found:
    """For any program of a CUDA major version, and for all features of each of its minors, newest first."""
    lowest = floors(m, versions[0], query.os)[1]
    lines = [f"any program built with CUDA {versions[0][0]}: driver {lowest} or newer"] if lowest else []
    values, keys = [lowest] if lowest else [], {}
    for version in reversed(versions):
        full, _, toolkits = floors(m, version, query.os)
        if full:
            values.append(full)
            lines.append(f"CUDA {version[0]}.{version[1]} with all its features: driver {full} or newer")
            keys[toolkits[0].source] = 0
    return Found(tuple(dict.fromkeys(values)), tuple(lines), tuple(keys))


def _cuda_for_driver(m: Matrix, query: Query) -> Found:
    row = driver_row(m, query.value, query.os)
    have = m.toolkit_of_driver(row.cuda)
    lines = [f"branch {row.branch}: CUDA {have} and older, with all features"]
    newer = []
    for toolkit in m.toolkit_versions():
        if toolkit <= (minor(row.cuda) or (0, 0)):
            continue
        text = f"{toolkit[0]}.{toolkit[1]}"
        if m.driver_for_cuda(query.value, text, query.os).grade == "minor-version":
            newer.append(text)
    if newer:
        lines.append(
            f"through minor-version compatibility (machine code only), also programs built with {', '.join(newer)}"
        )
    return Found((have, *newer), tuple(lines), (row.source,))


_QUESTIONS: dict[tuple[str, str], Question] = {
    ("driver", "cuda"): _driver_for_cuda, ("driver", "gpu"): driver_for_gpu, ("driver", "torch"): driver_for_torch,
    ("cuda", "torch"): cuda_for_torch, ("cuda", "driver"): _cuda_for_driver, ("cuda", "gpu"): cuda_for_gpu,
    ("cuda", "cudnn"): cuda_for_cudnn, ("cuda", "nccl"): cuda_for_nccl,
    ("torch", "cuda"): torch_for_cuda, ("torch", "driver"): torch_for_driver, ("torch", "gpu"): torch_for_gpu,
    ("torch", "python"): torch_for_python, ("torch", "cudnn"): torch_for_cudnn, ("torch", "nccl"): torch_for_nccl,
    ("python", "torch"): python_for_torch,
    ("gpu", "driver"): gpu_for_driver, ("gpu", "cuda"): gpu_for_cuda, ("gpu", "torch"): gpu_for_torch,
    ("gpu", "cudnn"): gpu_for_cudnn,
    ("driver", "cudnn"): driver_for_cudnn, ("cudnn", "driver"): cudnn_for_driver, ("driver", "nccl"): driver_for_nccl,
    ("nccl", "driver"): nccl_for_driver, ("gpu", "nccl"): gpu_for_nccl, ("nccl", "gpu"): nccl_for_gpu,
    ("cudnn", "torch"): pinned("cudnn", "cuDNN"), ("cudnn", "cuda"): cudnn_for_cuda, ("cudnn", "gpu"): cudnn_for_gpu,
    ("nccl", "torch"): pinned("nccl", "NCCL"), ("nccl", "cuda"): nccl_for_cuda,
    ("triton", "torch"): pinned("triton", "triton"),
}  # fmt: skip
_KINDS = ("cuda", "driver", "gpu", "python", "torch", "cudnn", "nccl")


def things(m: Matrix) -> tuple[str, ...]:
    """Everything a question may be about."""
    return tuple(dict.fromkeys((*_KINDS, *package_names(m))))
