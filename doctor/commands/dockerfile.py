"""`gpudoctor dockerfile`: what is wrong in a Dockerfile, compose file or manifest, before anything is built."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags

FORMATS = ("text", "json", "sarif", "junit", "github")


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--target", metavar="STAGE", help="The stage that is built. Default: the last.")
@click.option("--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", help="As in docker build. Repeatable.")
@click.option("--driver", "drivers", multiple=True, metavar="VERSION", help="Also judge for a host with this driver.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="With --driver: each driver with each GPU is a host.")
@click.option("--skip-others", is_flag=True, help="Skip YAML that is neither a compose file nor a manifest.")
@click.option("--fail-on", type=click.Choice(("fail", "warn")), default="fail", help="What exits 1. Default: fail.")
@options(report_flags(*FORMATS))
@click.option("--matrix", metavar="PATH", help="Judge by this matrix (see matrix export), not by the built-in one.")
def dockerfile(**flags: Any) -> int:
    """Find what is wrong with GPUs in Dockerfiles, compose files and Kubernetes manifests, with line numbers.

    \b
    gpudoctor dockerfile Dockerfile compose.yaml k8s/*.yaml
    gpudoctor dockerfile Dockerfile --driver 535 --gpu 'RTX A5000'      would what it makes run there
    gpudoctor dockerfile Dockerfile --format sarif -o gpudoctor.sarif   for code hosts; also junit, github

    Nothing is pulled or built. Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or a file that cannot be
    read, 3 not judged (a heredoc without gpudoctor[dockerfile], a base image that only a build argument names).
    """
    from .run_dockerfile import run_dockerfile

    return run_dockerfile(flags)
