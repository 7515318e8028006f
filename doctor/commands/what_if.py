"""`gpudoctor what-if`: this machine or a report with facts changed, through the same judge."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import CHECK

_NOT_HERE = ("prove", "python_", "root")


@click.command(cls=Command, name="what-if")
@click.option("--driver", metavar="VERSION", help="Another driver: its version, or its branch for the newest of it.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="These GPUs: NAME, 2xNAME, capability or PCI id.")
@click.option("--torch", metavar="VERSION", help="Another build: 2.8 (a plain install), 2.8.0+cu126, or none.")
@click.option("--python", "new_python", metavar="VERSION", help="The same packages with another Python, such as 3.12.")
@click.option("--os", "os_", type=click.Choice(("linux", "windows", "wsl")), help="Of a machine in words.")
@click.option("--arch", type=click.Choice(("x86_64", "aarch64")), help="Of a machine in words.")
@options([flag for flag in CHECK if flag.dest not in _NOT_HERE])
def what_if(**flags: Any) -> int:
    """Say what would be wrong with another driver, GPU, torch or Python: what is gone, what is new, what stays.

    \b
    gpudoctor what-if --driver 580                     this machine, moved to that driver
    gpudoctor what-if --gpu 'RTX 5090' --from report.json
    gpudoctor what-if --os linux --gpu 'GTX 1080' --driver 535 --torch 2.8    a machine in words

    Nothing is changed. What only a new look could tell is unknown. Exit codes as of check: 0 nothing would fail, 1
    something would, 2 wrong usage, 3 nothing would fail but something required is unknown.
    """
    from .run_what_if import run_what_if

    return run_what_if(flags)
