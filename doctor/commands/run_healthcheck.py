"""What `healthcheck` does once its flags are known."""

from __future__ import annotations

import sys
from typing import Any

from ..report.healthline import healthline
from .config import base_policy
from .options import make_policy
from .preload import preloading
from .sources import gather, read

MARGIN_S = 0.5
"""Kept back from the total deadline for judging and for leaving."""


def run_healthcheck(flags: dict[str, Any]) -> int:
    """Gather, judge, print one line; returns 0 or 1."""
    policy_flags = {name: flags[name] for name in ("expect", "require", "skip")}
    if flags["from_"]:
        snapshot, saved = read(flags)
        policy = make_policy(saved=base_policy(flags, saved), **policy_flags)
    else:
        policy = make_policy(saved=base_policy(flags), left_out=("torch_run",), **policy_flags)
        seconds = max(flags["timeout"] - MARGIN_S, flags["timeout"] / 2)
        asked = {**flags, "timeout": seconds, "no_import": True, "root": None, "replay": None}
        snapshot = gather(asked, preloading())
    from compat_matrix import Matrix

    from ..judge import judge
    from ..snapshot.redact import redact
    from .local_names import local_names

    report = redact(judge(snapshot, Matrix.load(), policy), local_names())
    sys.stdout.write(healthline(report) + "\n")
    failing = ("fail", "unknown") if flags["strict"] else ("fail",)
    return 1 if report.verdict in failing else 0
