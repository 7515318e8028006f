"""`gpudoctor resolve`: what to install on this machine, or on one you describe."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import GPU_FORMS, MATRIX, report_flags

FORMATS = ("text", "json", "markdown", "html", "requirements", "pyproject", "dockerfile", "environment-yml", "edited")


@click.command(cls=Command)
@click.argument("wishes", nargs=-1, metavar="[PACKAGE]...")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help=f"GPU: {GPU_FORMS}. Repeatable.")
@click.option(
    "--driver", metavar="VERSION", help="The driver's version or branch, or 'none' to see which one to install first."
)
@click.option("--os", "os_", type=click.Choice(("linux", "windows", "wsl")), help="Default: linux, or this machine's.")
@click.option("--arch", type=click.Choice(("x86_64", "aarch64")), help="Default: x86_64, or this machine's.")
@click.option(
    "--python",
    "python_version",
    metavar="VERSION",
    help="Python version, such as 3.12 or 3.13t. Default: any, or this machine's.",
)
@click.option("--from", "from_", metavar="REPORT", help="Use the machine in a saved JSON report ('-': stdin).")
@click.option("--keep", is_flag=True, help="Keep this environment: find the smallest change that makes it work.")
@click.option(
    "-r", "requirements", metavar="FILE", help="Report which lines of a requirements or lock file cannot work here."
)
@click.option("--explain-all", is_flag=True, help="Show every build that fits, and why the other builds are rejected.")
@click.option("--verify", is_flag=True, help="Try the first command with pip or uv (a dry run on the index).")
@options(
    report_flags(
        *FORMATS,
        words="Default: text; edited: the changed file from -r.",
        quiet="Print only the command, or why nothing fits (text output).",
    )
)
@options((MATRIX,))
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    help="Time limit for examining this machine, in seconds. Default: 20.",
)
def resolve(**flags: Any) -> int:
    """Say what to install here: the torch build (or vllm, flash-attn, xformers, tensorflow ...) that fits, and why.

    \b
    gpudoctor resolve                                  this machine
    gpudoctor resolve vllm                             vLLM, and the torch release that it works with
    gpudoctor resolve --gpu 'GTX 1080' --driver 535 --python 3.11
    gpudoctor resolve --keep                           the smallest change to what is installed
    gpudoctor resolve torch==2.8 --format pyproject    tables for uv sync

    Works offline; the first line printed is the command to paste. Exit codes: 0 something fits, 1 a line in the -r file
    cannot work or --verify failed, 2 wrong usage, 3 nothing fits or the matrix has no answer.
    """
    from .run_resolve import run_resolve

    return run_resolve(flags)
