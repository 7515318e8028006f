"""`gpudoctor print`: starter files that add the health check to systemd, Slurm, Kubernetes and others."""

from __future__ import annotations

import click

from .click_flags import Command, options
from .flags import OUTPUT

WHAT = {
    "spec": "this machine's versions as a spec to compare other machines with",
    "systemd": "a timer that writes Prometheus metrics",
    "slurm-prolog": "a prolog that drains a node on a proven failure",
    "slurm-healthcheck": "a health check that saves each node's report to a shared folder, for fleet load",
    "kubernetes": "an init container that lets a pod start only if the GPUs are as expected",
    "kubernetes-fleet": "a DaemonSet that saves each node's report to a shared folder",
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
    help="Expected GPUs: gpu (default), any, none, 8, H100 or 8xH100. Not for pre-commit and spec.",
)
@click.option(
    "--matrix",
    metavar="PATH",
    help="Look up the GPU model in this matrix (see matrix export), for newer GPUs. The printed file does not "
    "use it: a node with different GPUs and an older matrix prints a one-line error, not a finding.",
)
@click.option(
    "--image", metavar="REF", help="For kubernetes, kubernetes-fleet and compose: an image that contains gpudoctor."
)
@click.option(
    "--from", "from_", metavar="REPORT", help="For spec: use the versions in a saved JSON report ('-': stdin)."
)
@click.option(
    "--python", "python_", metavar="PATH", help="For spec: use the versions in this Python interpreter or environment."
)
@options((OUTPUT,))
def print_(
    what: str,
    expect: str | None,
    matrix: str | None,
    image: str | None,
    from_: str | None,
    python_: str | None,
    output: str | None,
) -> int:
    """Print a template file, which states how far it was tested.

    A GPU model in --expect must be in the matrix, or reported by this machine's driver.

    \b
    spec                    this machine's versions as a spec to compare other machines with
    systemd                 a timer that writes Prometheus metrics
    slurm-prolog            a prolog that drains a node on a proven failure, never because a check could not run
    slurm-healthcheck       a health check that saves each node's report to a shared folder, for fleet load
    kubernetes              an init container that lets a pod start only if the GPUs are as expected
    kubernetes-fleet        a DaemonSet that saves each node's report to a shared folder
    node-problem-detector   a condition on a Kubernetes node
    compose                 a health check for a service
    github-action           a workflow with annotations and the report
    pre-commit              a hook that finds problems in Dockerfiles before they are committed
    """
    from .run_print import run_print

    return run_print(what, expect, image, matrix, output, from_, python_)
