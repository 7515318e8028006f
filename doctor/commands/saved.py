"""Reading a saved report (`--from`): bounded, and every way to be wrong is one line."""

from __future__ import annotations

from ..judge.saved import MAX_BYTES, Saved, parse_report
from .read import read_bounded


def read_report(path: str) -> Saved:
    """The saved report at `path` (`-`: standard input). Raises Refusal with one line where it is none."""
    name = "standard input" if path == "-" else path
    return parse_report(read_bounded(path, MAX_BYTES, "is over 64 MiB: not a gpudoctor report"), name)
