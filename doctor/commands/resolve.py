"""`gpudoctor resolve`: what to install on this machine, or on one that is told in words."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags

FORMATS = ("text", "json", "html", "requirements", "pyproject", "dockerfile", "environment-yml", "edited")


@click.command(cls=Command)
@click.argument("wishes", nargs=-1, metavar="[PACKAGE]...")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="A name, 2xNAME, capability or PCI id. Repeatable.")
@click.option("--driver", metavar="VERSION", help="Its version or branch; none: what to install first.")
@click.option("--os", "os_", type=click.Choice(("linux", "windows", "wsl")), help="Default: linux, or this machine's.")
@click.option("--arch", type=click.Choice(("x86_64", "aarch64")), help="Default: x86_64, or this machine's.")
@click.option(
    "--python", "python_version", metavar="VERSION", help="Such as 3.12 or 3.13t. Default: any, or this machine's."
)
@click.option("--from", "from_", metavar="REPORT", help="The machine of a saved JSON report ('-': stdin).")
@click.option("--keep", is_flag=True, help="Keep this environment: the smallest change that makes it fit.")
@click.option("-r", "requirements", metavar="FILE", help="Which lines of a file of requirements are dead here.")
@click.option("--explain-all", is_flag=True, help="Every build: all that fit, and why each other one falls out.")
@click.option("--verify", is_flag=True, help="Let pip or uv try the first line (a dry run, which asks its index).")
@options(report_flags(*FORMATS, words="Default: text; edited: -r's file, changed."))
@click.option("--matrix", metavar="PATH", help="Judge by this matrix (see matrix export), not by the built-in one.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), help="Seconds for looking at this machine. Default: 20.")
def resolve(**flags: Any) -> int:
    """Say what to install here: the torch build (or vllm, flash-attn, xformers, tensorflow ...) that fits, and why.

    \b
    gpudoctor resolve                                  this machine
    gpudoctor resolve vllm                             torch for it, and the release of vLLM that goes with it
    gpudoctor resolve --gpu 'GTX 1080' --driver 535 --python 3.11
    gpudoctor resolve --keep                           the smallest change of what is installed
    gpudoctor resolve torch==2.8 --format pyproject    tables for uv sync

    Offline; the first line is the one to paste. Exit codes: 0 something fits, 1 a line of -r is dead or
    --verify was refused, 2 wrong usage, 3 nothing fits or the matrix does not know.
    """
    from .run_resolve import run_resolve

    return run_resolve(flags)
