"""`gpudoctor print`: files that put the health check where machines are run."""

from __future__ import annotations

import click

from .click_flags import Command, options
from .flags import OUTPUT

WHAT = {
    "systemd": "a timer that writes series for Prometheus",
    "slurm-prolog": "drains a node on a proven failure",
    "kubernetes": "an init container that lets a pod start where the GPUs are as expected",
    "node-problem-detector": "a condition of a Kubernetes node",
    "compose": "a health check of a service",
    "github-action": "a workflow with annotations and the report",
    "pre-commit": "faults in Dockerfiles before they are committed",
}


@click.command("print", cls=Command)
@click.argument("what", type=click.Choice(list(WHAT)), metavar="WHAT")
@click.option(
    "--expect",
    metavar="WHAT",
    help="gpu (default), any, none, 8, H100 or 8xH100. Not for pre-commit.",
)
@click.option("--matrix", metavar="PATH", help="Look a model up in this matrix (see matrix export): for newer GPUs.")
@click.option("--image", metavar="REF", help="For kubernetes and compose: an image with gpudoctor.")
@options((OUTPUT,))
def print_(what: str, expect: str | None, matrix: str | None, image: str | None, output: str | None) -> int:
    """Print a file to start from; it says how far it was tried.

    A GPU model of --expect must be in the matrix, or reported by the driver of this machine.

    \b
    systemd                 a timer that writes series for Prometheus
    slurm-prolog            drains a node on a proven failure, never for what could not be looked at
    kubernetes              an init container that lets a pod start where the GPUs are as expected
    node-problem-detector   a condition of a Kubernetes node
    compose                 a health check of a service
    github-action           a workflow with annotations and the report
    pre-commit              faults in Dockerfiles before they are committed
    """
    from .run_print import run_print

    return run_print(what, expect, image, matrix, output)
