"""What `fleet clean` does: it deletes what a killed `fleet run --on kubernetes` left."""

from __future__ import annotations

import time

from ..fleet.kubectl import DAEMONSETS, JOBS, LABEL, Kubectl, delete, may, refuse_namespace
from ..fleet.kubernetes_objects import objects
from ..fleet.whose import why_going_on
from ..guard import Refusal
from .write import echo


def run_clean(namespace: str, everything: bool) -> int:
    """List and delete the objects with our label, but for those of a run that may still be going on; with `everything`
    those too. Raises Refusal if something is left that should not be."""
    refuse_namespace(namespace)
    kinds = [DAEMONSETS, *([JOBS] if may(namespace, "list", JOBS) else [])]
    words = ["get", ",".join((*kinds, "configmaps")), f"--selector={LABEL}", "--output=json"]
    found = objects(Kubectl(namespace, words).wait())
    over = dict[str, int]()
    """Run to the number of its objects."""
    for one in found:
        about = one.metadata
        why = "" if everything else why_going_on(about.annotations, time.time())
        if why:
            echo(f"Keeping {one.kind} {about.name}, created {about.creation_timestamp}: {why} (--all deletes it too)")
            continue
        echo(f"Deleting {one.kind} {about.name}, created {about.creation_timestamp}")
        run = about.labels.get(LABEL, "")
        over[run] = over.get(run, 0) + 1
    left = [delete(namespace, f"{LABEL}={run}", kinds, count) for run, count in over.items()]
    if any(left):
        raise Refusal(next(filter(None, left)))
    if not found:
        echo("No fleet run has left anything behind in this namespace.")
    return 0
