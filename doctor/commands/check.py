"""`gpudoctor check`: gather (or read), judge, print."""

from __future__ import annotations

from typing import Any

import click

FORMATS = ("text", "json", "markdown")


@click.command(context_settings={"show_default": False})
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", help="Default: text.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to this file instead of stdout.")
@click.option("-v", "--verbose", count=True, help="Open every group; -vv: all facts with their witnesses.")
@click.option("--ascii", "ascii_", is_flag=True, help="No characters beyond ASCII.")
@click.option("--no-color", is_flag=True, help="No colour (also: the variable NO_COLOR).")
@click.option("--no-import", is_flag=True, help="Read torch's files only, do not import it.")
@click.option("--python", "python_", metavar="PATH", help="Diagnose this Python interpreter or environment.")
@click.option("--root", metavar="DIR", help="Look at a root folder (an unpacked image) instead of this machine.")
@click.option("--from", "from_", metavar="REPORT", help="Judge a saved JSON report again ('-': stdin).")
@click.option("--replay", metavar="DIR", help="Judge what `gpudoctor record` saved.")
@click.option("--expect", metavar="WHAT", help="gpu (default), any, none, 8, H100 or 8xH100.")
@click.option("--require", metavar="PKG", multiple=True, help="This package must be installed and fit. Repeatable.")
@click.option("--only", metavar="ID", multiple=True, help="Run only this check. Repeatable.")
@click.option("--skip", metavar="ID", multiple=True, help="Leave this check out. Repeatable.")
@click.option(
    "--fail-on", type=click.Choice(("fail", "unknown", "warn")), help="Lowest status that exits 1. Default: fail."
)
@click.option("--building", is_flag=True, help="CUDA extensions are going to be compiled here.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), help="Deadline of the probes in seconds. Default: 20.")
@click.option("--no-redact", is_flag=True, help="Keep user names, paths, addresses and UUIDs as they are.")
def check(**flags: Any) -> int:
    """Diagnose this machine, and print the root cause with its fix.

    Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, 3 something required is
    unknown.
    """
    from .run_check import run_check

    return run_check(flags)
