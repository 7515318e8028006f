"""`gpudoctor healthcheck`: one line, exit 0 or 1."""

from __future__ import annotations

import sys
from typing import Any

import click


@click.command()
@click.option("--expect", metavar="WHAT", help="gpu (default), any, none, 8, H100 or 8xH100.")
@click.option("--require", metavar="PKG", multiple=True, help="This package must be installed and fit. Repeatable.")
@click.option("--skip", metavar="ID", multiple=True, help="Leave this check out. Repeatable.")
@click.option("--strict", is_flag=True, help="UNKNOWN exits 1 too.")
@click.option("--python", "python_", metavar="PATH", help="Look at this Python interpreter or environment.")
@click.option("--from", "from_", metavar="REPORT", help="Judge a saved JSON report ('-': stdin).")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=10.0, help="Seconds in all. Default: 10.")
def healthcheck(**flags: Any) -> int:
    """One line of at most 80 characters, exit 0 (OK, UNKNOWN) or 1 (FAIL). torch is not imported."""
    from compat_matrix import Matrix

    from ..judge import judge
    from ..report.healthline import healthline
    from ..snapshot.redact import redact
    from .local_names import local_names
    from .options import make_policy
    from .sources import gather, read

    policy_flags = {name: flags[name] for name in ("expect", "require", "skip")}
    if flags["from_"]:
        snapshot, saved = read(flags)
        policy = make_policy(saved=saved, **policy_flags)
    else:
        policy = make_policy(left_out=("torch_run",), **policy_flags)
        snapshot = gather({**flags, "no_import": True, "root": None, "replay": None})
    report = redact(judge(snapshot, Matrix.load(), policy), local_names())
    sys.stdout.write(healthline(report) + "\n")
    failing = ("fail", "unknown") if flags["strict"] else ("fail",)
    return 1 if report.verdict in failing else 0
