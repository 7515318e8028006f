"""The answer of the patient's Python that was only started, to whether it starts and why not."""

from __future__ import annotations

import re
from typing import Any

from ..snapshot import ABSENT, Missing
from .agent_lines import SLOW, AgentResult, fault_missing

_ERRNO = re.compile(r"\[Errno (\d+)\] ")
_GONE = (2, 20, 40)
"""ENOENT (the file, or the loader that it names), ENOTDIR, ELOOP."""
_REFUSED = {
    8: "the kernel cannot execute it: it is for a different processor, or it is not a program",
    13: "this user is not allowed to execute it (Permission denied)",
    80: "the kernel cannot execute it: a library that it needs is damaged",
    86: "the kernel cannot execute it: it is for a different processor",
}  # fmt: skip
"""ENOEXEC, EACCES, ELIBBAD (80 on Linux), EBADARCH (86 on macOS)."""


def parse_python_start(result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(changes for Snapshot.replace, witnesses)."""
    starts: bool | Missing = False
    error: str | Missing = ABSENT
    fault: str | Missing = ABSENT
    if any(line.get("starts") is True for line in result.lines):
        starts = True
    elif result.fault in SLOW:
        starts = error = fault = fault_missing(result)
    elif (found := _ERRNO.match(result.stderr_tail)) or (result.returncode is None and result.fault == "failed"):
        number = int(found[1]) if found else 0
        if number in _GONE:
            error, fault = "the file, or the loader that it needs, does not exist", "gone"
        elif number in _REFUSED:
            error, fault = _REFUSED[number], "refused"
        else:  # no process could be made: says nothing of this Python
            starts = error = fault = Missing("error", result.stderr_tail.strip()[:200] or "it could not be started")
    else:
        error, fault = _ending(result), "crash"
    names = {"starts": starts, "start_error": error, "start_fault": fault}
    changes = {f"python.patient.{name}": value for name, value in names.items()}
    return changes, {"python.patient.starts": ("python -S -c print",)}


def _ending(result: AgentResult) -> str:
    if result.fault == "hang":
        return f"it did not start in {result.seconds:.0f} s, and was neither computing nor reading at the end"
    last = result.stderr_tail.strip().rpartition("\n")[2][:300]
    if result.returncode is not None and result.returncode < 0:
        how = f"it was killed by signal {-result.returncode}"
    elif result.returncode:
        how = f"it exited with code {result.returncode}"
    else:
        how = "it ran, but did not behave like Python"
    return f"{how}: {last}" if last else how
