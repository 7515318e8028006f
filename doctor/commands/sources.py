"""Where the facts of a run come from: a saved report, a recording, a root folder or this machine."""

from __future__ import annotations

from typing import Any

import click

from ..findings import Policy
from ..snapshot import Snapshot


def read(flags: dict[str, Any]) -> tuple[Snapshot, Policy]:
    """Snapshot and Policy of the report that `--from` names."""
    from .saved import read_report

    saved = read_report(flags["from_"])
    return saved.snapshot, saved.policy


def gather(flags: dict[str, Any]) -> Snapshot:
    """The facts of this machine, a root folder or a recording."""
    raise click.UsageError("give --from REPORT")
