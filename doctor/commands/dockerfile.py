"""`gpudoctor dockerfile`: what is wrong in a Dockerfile, compose file or manifest, before anything is built."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import HOSTS, MATRIX, SPEC, report_flags

FORMATS = ("text", "json", "sarif", "junit", "github")


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--target", metavar="STAGE", help="The stage to build. Default: the last.")
@click.option(
    "--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", help="Same as for docker build. Repeatable."
)
@options((*HOSTS, SPEC))
@click.option(
    "--skip-others", is_flag=True, help="Skip templates, and YAML files that are neither compose files nor manifests."
)
@click.option(
    "--fail-on",
    type=click.Choice(("fail", "warn")),
    default="fail",
    help="Lowest level that causes exit code 1. Default: fail.",
)
@options((*report_flags(*FORMATS), MATRIX))
def dockerfile(**flags: Any) -> int:
    """Find GPU problems in Dockerfiles, compose files and Kubernetes manifests, with line numbers.

    \b
    gpudoctor dockerfile Dockerfile compose.yaml k8s/*.yaml
    gpudoctor dockerfile Dockerfile --driver 535 --gpu 'RTX A5000'      whether the built image would run there
    gpudoctor dockerfile Dockerfile --spec team.toml                    whether it installs what was agreed on
    gpudoctor dockerfile Dockerfile --format sarif -o gpudoctor.sarif   for code hosts; also junit, github

    Nothing is pulled or built. Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or a file that cannot be
    read, 3 something could not be judged (a heredoc without gpudoctor[dockerfile], a base image set only by a build
    argument).
    """
    from .run_dockerfile import run_dockerfile

    return run_dockerfile(flags)
