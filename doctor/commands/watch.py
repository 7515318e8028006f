"""`gpudoctor watch -- CMD ARGS...`: run the user's command, and say in the end what it did with the GPU."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import CHECK, Flag

_LIKE_CHECK = (
    "format_", "json_", "quiet", "verbose", "ascii_", "no_color", "expect", "only", "skip", "config", "no_config",
    "matrix", "no_redact",
)  # fmt: skip
WATCH = (
    Flag(
        ("-o", "--output"), "output", "text", "Write the report to this file ('-': stdout) instead of stderr.", "FILE"
    ),
    Flag(("--python",), "python_", "text", "Diagnose this Python; default: the watched program's own.", "PATH"),
    *(flag for flag in CHECK if flag.dest in _LIKE_CHECK),
)


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.option("--pid", type=click.IntRange(min=1), metavar="PID", help="Watch this process, which runs already.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 60),
    metavar="S",
    help="Seconds between two looks. Default: 0.5, and less often after ten minutes or with very many threads.",
)
@options(WATCH)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] CMD [ARGS]...")
def watch(**flags: Any) -> int:
    """Run a command, and report what it did with the GPU and what it waited for.

    The command runs as without gpudoctor: its input and output are untouched, and the report follows on stderr when it
    has ended, or to a file with -o. Signals reach it; stopped by one, the report still comes. With --pid a running
    process is watched until it ends or Ctrl-C.

    \b
    gpudoctor watch -- python train.py --epochs 3
    gpudoctor watch -o report.json --format json -- torchrun --nproc_per_node 2 train.py
    gpudoctor watch --pid 4711

    Exit code: the command's own (128 + N where signal N ended it), whatever the verdict; 127 where there is no such
    command, 126 where it cannot be run, 2 wrong usage. With --pid: 0.
    """
    from .run_watch import run_watch

    return run_watch(flags)
