"""`gpudoctor explain ARG`: a manual page, or the diagnosis of a pasted text."""

from __future__ import annotations

import os
from typing import Any

import click

from .click_flags import Command, options
from .flags import EXPLAIN


@click.command(cls=Command)
@click.argument("what", metavar="ID|FILE|-|TEXT...", nargs=-1, required=True)
@options(EXPLAIN)
def explain(what: tuple[str, ...], **flags: Any) -> int:
    """Print the manual page of a check or error, or diagnose pasted text.

    ID: a check's id, a CUDA or NVML error (804, cudaErrorNoKernelImageForDevice), a message in the catalog, or
    'power' for power and cooling.
    FILE or '-': text to read (collect_env, nvidia-smi, a stack trace, a log). TEXT: anything else,
    including a question, with or without quotes.

    Exit codes: same as for `check`; 3 if nothing in the text can be judged.
    """
    from .run_explain import run_explain

    files = [word for word in what if word == "-" or os.path.lexists(word)]
    if len(what) > 1 and files:
        raise click.UsageError(
            f"explain reads one text at a time: give {files[0]} alone, or use cat FILE FILE | gpudoctor explain -"
        )
    return run_explain(" ".join(what), flags)
