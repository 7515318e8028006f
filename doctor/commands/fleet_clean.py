"""What `fleet clean` does: it ends what a killed `fleet run` left in Kubernetes or Slurm."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from ..fleet import kubectl, slurm_jobs
from ..fleet.kubernetes_objects import objects
from ..fleet.whose import why_going_on
from ..guard import Refusal
from .write import echo


def run_clean(on: Literal["kubernetes", "slurm"], namespace: str, everything: bool) -> int:
    """List and end what runs have left, but for those that may still be going on; with `everything` those too. Raises
    Refusal if something is left that should not be."""
    if on == "slurm" and namespace:
        raise Refusal("--namespace needs --on kubernetes")
    return _clean_slurm(everything) if on == "slurm" else _clean_kubernetes(namespace, everything)


def _clean_kubernetes(namespace: str, everything: bool) -> int:
    """The objects with our label."""
    kubectl.refuse_namespace(namespace)
    jobs = [kubectl.JOBS] if kubectl.may(namespace, "list", kubectl.JOBS) else []
    kinds = [kubectl.DAEMONSETS, *jobs]
    words = ["get", ",".join((*kinds, "configmaps")), f"--selector={kubectl.LABEL}", "--output=json"]
    found = objects(kubectl.Kubectl(namespace, words).wait())
    over = Counter[str]()
    """Run to the number of its objects."""
    for one in found:
        about = one.metadata
        if _is_over(f"{one.kind} {about.name}, created {about.creation_timestamp}", about.annotations, everything):
            over[about.labels.get(kubectl.LABEL, "")] += 1
    left = [kubectl.delete(namespace, f"{kubectl.LABEL}={run}", kinds, count) for run, count in over.items()]
    if any(left):
        raise Refusal(next(filter(None, left)))
    if not found:
        echo("No fleet run has left anything behind in this namespace.")
    return 0


def _clean_slurm(everything: bool) -> int:
    """This user's jobs with the names that runs give them."""
    found = slurm_jobs.left_jobs()
    over = [
        job
        for job in found
        if _is_over(f"job {job.id} ({job.name}, {job.state.lower()}), submitted {job.submitted}", job.about, everything)
    ]
    if left := slurm_jobs.cancel_left(over):
        raise Refusal(left)
    if not found:
        echo("No fleet run of yours has left a job in Slurm.")
    return 0


def _is_over(what: str, annotations: Mapping[str, str], everything: bool) -> bool:
    """Whether it is to be ended; says so."""
    why = "" if everything else why_going_on(annotations, time.time())
    echo(f"Keeping {what}: {why} (--all deletes it too)" if why else f"Deleting {what}")
    return not why
