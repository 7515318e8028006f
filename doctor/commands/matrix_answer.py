"""What the answers of `gpudoctor matrix query` share."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from compat_matrix import Matrix
from compat_matrix.drivers import Platform
from compat_matrix.versions import minor

from .matrix_show import emit_json
from .write import echo

Lines = list[str]


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


def emit(format_: str, data: Any, lines: Lines) -> int:
    """Print an answer as JSON or as its lines; returns 0."""
    if format_ == "json":
        emit_json(data)
    else:
        echo("\n".join(lines))
    return 0


def unlisted(what: str, newer: bool = False) -> click.ClickException:
    """The refusal for what the matrix does not know."""
    return click.ClickException(f"{what} is {'newer than' if newer else 'not listed in'} this matrix")


def cited(m: Matrix, sources: tuple[str, ...]) -> Lines:
    """A line for each source."""
    return [f"source: {m.source(key)}" for key in sources]


def named_capability(m: Matrix, text: str) -> str:
    """A compute capability, or that of a GPU name. Raises ClickException when neither is listed."""
    if m.compute_capability(text):
        return text
    found = m.gpu(name=text)
    if not found.capability:
        raise unlisted(f"GPU {text!r}")
    return found.capability


def listed_cuda(m: Matrix, text: str) -> tuple[int, int]:
    """The version, where a toolkit of it is listed. Raises ClickException where none is."""
    version = minor(text)
    if version is None or not any(minor(row.cuda) == version for row in m.toolkits):
        newer = version is not None and version > max(minor(row.cuda) or (0, 0) for row in m.toolkits)
        raise unlisted(f"CUDA {text!r}", newer)
    return version
