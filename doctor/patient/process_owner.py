"""Part of the agent nvml: whose a process on a GPU is, as /proc tells it."""

from __future__ import annotations

import os
import re

_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/secrets/kubernetes.io")


def owner_of(pid: int) -> "str | None":
    """`session`: of this container, job or login session; `user`: this user's elsewhere; `other`: another user's.

    None where /proc does not show the process (it is outside of this container, or over).
    """
    try:
        uid = os.stat("/proc/%d" % pid).st_uid
        theirs = _group(pid)
    except (OSError, ValueError):
        return None
    same_user = uid == os.geteuid()
    try:
        together = theirs == _group(os.getpid())
    except OSError:
        together = False
    if together and (same_user or any(os.path.exists(path) for path in _MARKS) or "/job_" in theirs):
        return "session"
    return "user" if same_user else "other"


def _group(pid: int) -> str:
    """Its control group, cut at a batch job's: the steps of a job are one job. Raises OSError."""
    with open("/proc/%d/cgroup" % pid, encoding="utf-8", errors="replace") as file:
        return "\n".join(re.sub(r"(/job_?\d+)/.*", r"\1", line.rstrip()) for line in file)
