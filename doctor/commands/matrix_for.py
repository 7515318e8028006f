"""`gpudoctor matrix query WANTED for KIND VALUE`: which of one thing goes with another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from compat_matrix import Matrix
from compat_matrix.drivers import branch_ended, floors
from compat_matrix.versions import minor

from .matrix_answer import Found, Query, cited, emit, listed_cuda, named_capability, unlisted
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


def _driver_for_cuda(m: Matrix, query: Query) -> Found:
    version = listed_cuda(m, query.value)
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


_QUESTIONS: dict[tuple[str, str], Callable[[Matrix, Query], Found]] = {
    ("driver", "cuda"): _driver_for_cuda, ("driver", "gpu"): _driver_for_gpu, ("driver", "torch"): driver_for_torch,
    ("cuda", "torch"): cuda_for_torch, ("cuda", "driver"): _cuda_for_driver, ("cuda", "gpu"): _cuda_for_gpu,
    ("torch", "cuda"): torch_for_cuda, ("torch", "driver"): torch_for_driver, ("torch", "gpu"): torch_for_gpu,
    ("torch", "python"): torch_for_python, ("python", "torch"): python_for_torch,
    ("cudnn", "torch"): pinned("cudnn", "cuDNN"), ("nccl", "torch"): pinned("nccl", "NCCL"),
    ("triton", "torch"): pinned("triton", "triton"),
}  # fmt: skip
