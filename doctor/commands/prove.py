"""`gpudoctor prove`: measure on the GPU, judge, print."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import PROVE


@click.command(cls=Command)
@options(PROVE)
def prove(**flags: Any) -> int:
    """Show that the GPU path is really used, how fast it is, and what limits a training.

    Everything that `check` looks at is judged too. It takes about a minute; --quick half of it, --full some minutes.

    Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 something required is
    unknown, 130 interrupted: what was measured by then is told.
    """
    from .run_prove import run_prove

    return run_prove(flags)
