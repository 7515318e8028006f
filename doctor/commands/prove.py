"""`gpudoctor prove`: measure on the GPU, judge, print."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import PROVE


@click.command(cls=Command)
@options(PROVE)
def prove(**flags: Any) -> int:
    """Show that the GPU is really used, how fast it is, and what limits training.

    This also covers everything that `check` examines. Takes about a minute; --quick half that, --full several minutes.

    Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 something required is
    unknown, 130 interrupted (results so far are printed).
    """
    from .run_prove import run_prove

    return run_prove(flags)
