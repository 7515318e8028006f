"""Read a saved report (`--from`): bounded, and every error is one line."""

from __future__ import annotations

from ..judge.saved import MAX_BYTES, Saved, parse_report
from .read import read_bounded


def read_report(path: str) -> Saved:
    """The saved report at `path` (`-`: standard input). Raises Refusal with one line if it is not one."""
    name = "standard input" if path == "-" else path
    return parse_report(read_bounded(path, MAX_BYTES, "is over 64 MiB: too large to be a gpudoctor report"), name)
