"""`gpudoctor what-if`: judge this machine or a report again with some facts changed."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import CHECK, GPU_FORMS

_NOT_HERE = ("prove", "python_", "root")


@click.command(cls=Command, name="what-if")
@click.option("--driver", metavar="VERSION", help="A different driver: a version, or a branch for its newest version.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help=f"Different GPUs: {GPU_FORMS}. Repeatable.")
@click.option(
    "--torch", metavar="VERSION", help="A different torch build: 2.8 (a plain install), 2.8.0+cu126, or none."
)
@click.option(
    "--python", "new_python", metavar="VERSION", help="The same packages with a different Python, such as 3.12."
)
@click.option("--os", "os_", type=click.Choice(("linux", "windows", "wsl")), help="For a machine you describe.")
@click.option("--arch", type=click.Choice(("x86_64", "aarch64")), help="For a machine you describe.")
@options([flag for flag in CHECK if flag.dest not in _NOT_HERE])
def what_if(**flags: Any) -> int:
    """Say what a different driver, GPU, torch or Python would change: which problems go away, appear or stay.

    \b
    gpudoctor what-if --driver 580                     this machine with that driver
    gpudoctor what-if --gpu 'RTX 5090' --from report.json
    gpudoctor what-if --os linux --gpu 'GTX 1080' --driver 535 --torch 2.8    a machine you describe

    Nothing is changed. Anything that only a new check could show is reported as unknown. Exit codes are the same as
    for check: 0 nothing would fail, 1 something would, 2 wrong usage, 3 nothing would fail but something required is
    unknown.
    """
    from .run_what_if import run_what_if

    return run_what_if(flags)
