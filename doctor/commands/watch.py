"""`gpudoctor watch -- CMD ARGS...`: run the user's command, then report what it did with the GPU."""

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
    Flag(("--python",), "python_", "text", "Diagnose this Python. Default: the watched program's.", "PATH"),
    *(flag for flag in CHECK if flag.dest in _LIKE_CHECK),
)


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.option("--pid", type=click.IntRange(min=1), metavar="PID", help="Watch this running process.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 60),
    metavar="S",
    help="Seconds between samples. Default: 0.5; longer after ten minutes or with very many threads.",
)
@options(WATCH)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] CMD [ARGS]...")
def watch(**flags: Any) -> int:
    """Run a command and report what it did with the GPU and what it waited for.

    The command runs as it would without gpudoctor: its input and output are untouched. When it exits, the report goes
    to stderr, or to a file with -o. Signals are passed on to the command; even if one stops it, you get the report.
    With --pid, a running process is watched until it exits or you press Ctrl-C.

    \b
    gpudoctor watch -- python train.py --epochs 3
    gpudoctor watch -o report.json --format json -- torchrun --nproc_per_node 2 train.py
    gpudoctor watch --pid 4711

    Exit code: the command's own (128 + N if signal N killed it), whatever the verdict; 127 if there is no such
    command, 126 if it cannot be run, 2 wrong usage. With --pid: 0.
    """
    from .run_watch import run_watch

    return run_watch(flags)
