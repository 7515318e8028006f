"""`gpudoctor topo`: how the GPUs are connected, and what that costs each way of splitting training."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags


@click.command(cls=Command)
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--from", "from_", metavar="REPORT", help="A saved JSON report ('-': stdin), or a recording's folder.")
@click.option("--gpu", metavar="NAME", help="GPU model, if the pasted table does not show it: 'RTX 3090'.")
@click.option("--params", default="7B", metavar="N", help="Parameter count of the example model. Default: 7B.")
@click.option(
    "--seq",
    type=click.IntRange(1, 10_000_000),
    default=2048,
    help="Tokens per step of the example model. Default: 2048.",
)
@options(report_flags("text", "json", "markdown", "html", "svg"))
@click.option("--matrix", metavar="PATH", help="Look up rates in this matrix (see matrix export).")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    help="Time limit for examining this machine, in seconds. Default: 20.",
)
def topo(**flags: Any) -> int:
    """Show how the GPUs are connected, and how the links slow each way of splitting training.

    \b
    gpudoctor topo                                             this machine
    gpudoctor topo --from report.json                          a saved report, or a recording's folder
    nvidia-smi topo -m | gpudoctor topo - --gpu 'RTX 3090'     a pasted table

    Exit codes: 0 everything is known, 2 wrong usage or a truncated table, 3 a fact is missing (and is named).
    """
    from .run_topo import run_topo

    return run_topo(flags)
