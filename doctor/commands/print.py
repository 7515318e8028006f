"""`gpudoctor print`: starter files that add the health check to systemd, Slurm, Kubernetes and others."""

from __future__ import annotations

import click

from .click_flags import Command, options
from .flags import OUTPUT

WHAT = {
    "systemd": "a timer that writes Prometheus metrics",
    "slurm-prolog": "a prolog that drains a node on a proven failure",
    "kubernetes": "an init container that lets a pod start only if the GPUs are as expected",
    "node-problem-detector": "a condition on a Kubernetes node",
    "compose": "a health check for a service",
    "github-action": "a workflow with annotations and the report",
    "pre-commit": "a hook that finds problems in Dockerfiles before they are committed",
}


@click.command("print", cls=Command)
@click.argument("what", type=click.Choice(list(WHAT)), metavar="WHAT")
@click.option(
    "--expect",
    metavar="WHAT",
    help="gpu (default), any, none, 8, H100 or 8xH100. Not for pre-commit.",
)
@click.option(
    "--matrix", metavar="PATH", help="Look up the GPU model in this matrix (see matrix export), for newer GPUs."
)
@click.option("--image", metavar="REF", help="For kubernetes and compose: an image with gpudoctor.")
@options((OUTPUT,))
def print_(what: str, expect: str | None, matrix: str | None, image: str | None, output: str | None) -> int:
    """Print a file to start from; it says how far it was tested.

    A GPU model in --expect must be in the matrix, or reported by this machine's driver.

    \b
    systemd                 a timer that writes Prometheus metrics
    slurm-prolog            a prolog that drains a node on a proven failure, never for what could not be checked
    kubernetes              an init container that lets a pod start only if the GPUs are as expected
    node-problem-detector   a condition on a Kubernetes node
    compose                 a health check for a service
    github-action           a workflow with annotations and the report
    pre-commit              a hook that finds problems in Dockerfiles before they are committed
    """
    from .run_print import run_print

    return run_print(what, expect, image, matrix, output)
