"""What a shell offers after a flag: check ids, GPUs from the matrix, files; used by click's own completion."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

VARIABLE = "_GPUDOCTOR_COMPLETE"
_IDS = ("--only", "--skip")
_GPUS = ("--gpu", "--gpus")
_OF_FILES = ("FILE", "REPORT", "PATH", "FOLDER|FILE", "TEXT|-", "DIR", "OLD", "[NEW]")

Offer = Callable[[str], list[CompletionItem]]


def offer(command: click.Command) -> click.Command:
    """The command, with completions for its flags and arguments chosen by their names and metavars."""
    for param in command.params:
        found = _offers(param)
        if found is not None:
            param.shell_complete = partial(_completed, found)  # type: ignore[method-assign]
    return command


def _offers(param: click.Parameter) -> Offer | None:
    shown = param.metavar or ""
    if param.name in ("check_id",) or set(param.opts) & set(_IDS):
        return _ids
    if shown.startswith("ID|"):
        return lambda start: [CompletionItem(start, type="file"), *_ids(start)]
    if set(param.opts) & set(_GPUS):
        return _gpus
    if any(word in shown for word in _OF_FILES):
        kind = "dir" if shown == "DIR" else "file"
        return lambda start: [CompletionItem(start, type=kind)]
    return None


def _completed(found: Offer, _context: Any, incomplete: str) -> list[CompletionItem]:
    return found(incomplete)


def _ids(start: str) -> list[CompletionItem]:
    from .assess import known_ids

    return [CompletionItem(name) for name in known_ids() if name.startswith(start)]


def _gpus(start: str) -> list[CompletionItem]:
    """Names with - instead of spaces, so that they need no quotes; the matrix accepts both."""
    from compat_matrix import Matrix

    short = (row.name.removeprefix("NVIDIA ").removeprefix("GeForce ").replace(" ", "-") for row in Matrix.load().gpus)
    return [CompletionItem(name) for name in sorted(set(short)) if name.lower().startswith(start.lower())]
