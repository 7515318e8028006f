"""`gpudoctor image`: will this image run on that host, before anything is pulled."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags


@click.command(cls=Command)
@click.argument("reference", metavar="REF")
@click.option("--against", multiple=True, metavar="HOST", help="this, or a saved JSON report of check. Repeatable.")
@click.option("--driver", "drivers", multiple=True, metavar="VERSION", help="A host in words: its driver. Repeatable.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="With --driver: each driver with each GPU is a host.")
@click.option(
    "--platform", metavar="OS/ARCH", help="Of an image for several, such as linux/arm64. Default: the host's."
)
@click.option("--layers", is_flag=True, help="Read the layers too, as a stream, until torch and its code are seen.")
@click.option("--all-layers", is_flag=True, help="Read all of them to the end: what is not found is not there then.")
@click.option("--other-tags", is_flag=True, help="Where it does not run: read up to 8 other tags, name one that does.")
@click.option("--from", "where", type=click.Choice(("registry", "docker", "podman")), help="Read it there alone.")
@click.option("--plain-http", is_flag=True, help="The registry speaks no TLS (localhost: tried by itself).")
@click.option("--ca", metavar="FILE", help="Certificates (PEM) that the registry's own is signed by.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=30.0, help="Seconds for each answer. Default: 30.")
@options(report_flags("text", "json", "markdown", "html"))
@click.option("-v", "--verbose", count=True, help="Show every fix with all its steps.")
@click.option("--no-redact", is_flag=True, help="Keep names, paths and addresses as they are; secrets stay masked.")
@click.option("--matrix", metavar="PATH", help="Judge by this matrix (see matrix export), not by the built-in one.")
def image(**flags: Any) -> int:
    """Say whether a container image runs on a host: this one, one of a saved report, or one in words.

    \b
    gpudoctor image nvcr.io/nvidia/pytorch:25.08-py3               this machine, where it has a driver
    gpudoctor image vllm/vllm-openai:v0.10.0 --driver 535.183 --driver 570 --gpu 'RTX A5000'
    gpudoctor image ./image.tar --against report.json              what docker save or an OCI build wrote

    REF is what docker pull takes, an OCI layout or archive (a path), or an unpacked root folder. An image that a local
    engine holds is read there, any other in its registry: manifest and config alone, nothing is pulled. Exit codes: 0
    it runs on every host, 1 not on some, 2 wrong usage or no such image, 3 not known (of a host, or nobody answers).
    """
    from .run_image import run_image

    return run_image(flags)
