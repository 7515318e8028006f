"""`gpudoctor image`: whether an image will run on a host, before anything is pulled."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import HOSTS, MATRIX, SPEC, report_flags


@click.command(cls=Command)
@click.argument("reference", metavar="REF")
@click.option(
    "--against",
    multiple=True,
    metavar="HOST",
    help="'this' for this machine, or a saved JSON report from check. Repeatable.",
)
@options(HOSTS)
@click.option(
    "--platform",
    metavar="OS/ARCH",
    help="Platform of a multi-platform image, such as linux/arm64. Default: the host's.",
)
@click.option("--layers", is_flag=True, help="Also stream the layers until torch and its GPU code have been found.")
@click.option(
    "--all-layers", is_flag=True, help="Read every layer in full, so that anything not found is known to be absent."
)
@click.option(
    "--other-tags", is_flag=True, help="If it does not run, read up to 8 other tags and suggest one that does."
)
@click.option(
    "--from", "where", type=click.Choice(("registry", "docker", "podman")), help="Read the image only from this source."
)
@click.option("--plain-http", is_flag=True, help="The registry does not use TLS (tried automatically for localhost).")
@click.option("--ca", metavar="FILE", help="CA certificates (PEM) that signed the registry's certificate.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=30.0, help="Timeout per request, in seconds. Default: 30."
)
@options(report_flags("text", "json", "markdown", "html"))
@click.option("-v", "--verbose", count=True, help="Show every fix with all its steps.")
@options((SPEC,))
@click.option("--no-redact", is_flag=True, help="Show names, paths and addresses as they are; secrets stay masked.")
@options((MATRIX,))
def image(**flags: Any) -> int:
    """Say whether a container image runs on a host: this one, one from a saved report, or one you describe.

    \b
    gpudoctor image nvcr.io/nvidia/pytorch:25.08-py3               this machine, if it has a driver
    gpudoctor image vllm/vllm-openai:v0.10.0 --driver 535.183 --driver 570 --gpu 'RTX A5000'
    gpudoctor image ./image.tar --against report.json              a file from docker save or an OCI build
    gpudoctor image ./image.tar --layers --spec team.toml          whether it contains what was agreed on

    REF is a name as for docker pull, an OCI layout or archive, or an unpacked root file system (a path with a
    slash: ./NAME). If a local engine has the image, it is read there; otherwise only its manifest and config are read
    from its registry, and nothing is pulled.
    Exit codes: 0 it runs on every host, 1 it does not run on at least one host, 2 wrong usage or no such image, 3
    unknown (for a host, or because the registry or engine does not answer).
    """
    from .run_image import run_image

    return run_image(flags)
