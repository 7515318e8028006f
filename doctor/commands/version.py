"""`gpudoctor version`: like --version, plus the matrix."""

from __future__ import annotations

import click

from .click_flags import Command
from .write import echo


@click.command(cls=Command)
def version() -> int:
    """Print the versions of gpudoctor and its matrix."""
    from compat_matrix import Matrix

    from .. import __version__

    echo(f"gpudoctor {__version__}, matrix {Matrix.load().version}")
    return 0
