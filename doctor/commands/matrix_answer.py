"""What the answers of `gpudoctor matrix query` share."""

from __future__ import annotations

from typing import Any

import click

from compat_matrix import Matrix

from .matrix_show import emit_json

Lines = list[str]


def emit(format_: str, data: Any, lines: Lines) -> int:
    """Print an answer as JSON or as its lines; returns 0."""
    if format_ == "json":
        emit_json(data)
    else:
        click.echo("\n".join(lines))
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
