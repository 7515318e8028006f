"""What `fleet clean` does: it deletes what a killed `fleet run --on kubernetes` left."""

from __future__ import annotations

from ..fleet.kubectl import DAEMONSETS, JOBS, LABEL, Kubectl, delete, refuse_namespace
from ..fleet.kubernetes_objects import objects
from ..guard import Refusal
from .write import echo


def run_clean(namespace: str) -> int:
    """List and delete the objects with our label. Raises Refusal if something is left."""
    refuse_namespace(namespace)
    words = ["get", f"{DAEMONSETS},{JOBS},configmaps", f"--selector={LABEL}", "--output=json"]
    found = objects(Kubectl(namespace, words).wait())
    for one in found:
        echo(f"Deleting {one.kind} {one.metadata.name}, created {one.metadata.creation_timestamp}")
    if found and (left := delete(namespace, LABEL, (DAEMONSETS, JOBS), len(found))):
        raise Refusal(left)
    if not found:
        echo("No fleet run has left anything in this namespace.")
    return 0
