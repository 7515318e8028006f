"""`gpudoctor check`: gather (or read), judge, print."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import CHECK


@click.command(cls=Command)
@options(CHECK)
def check(**flags: Any) -> int:
    """Diagnose this machine and print the root cause with its fix.

    Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 something required is
    unknown.
    """
    from .run_check import run_check

    return run_check(flags)
