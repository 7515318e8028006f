"""`gpudoctor healthcheck`: one line, exit 0 or 1."""

from __future__ import annotations

import sys
from typing import Any

import click

from .click_flags import Command, options
from .flags import HEALTHCHECK


@click.command(cls=Command)
@options(HEALTHCHECK)
def healthcheck(**flags: Any) -> int:
    """Print one line of at most 80 characters and exit 0 (OK, UNKNOWN) or 1 (FAIL). torch is not imported."""
    from .watchdog import in_time

    with in_time(flags["timeout"], flags["prove"], sys.argv[1:]):
        from .run_healthcheck import run_healthcheck

        return run_healthcheck(flags)
