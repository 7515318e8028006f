"""The driver's branch has reached end of life.

What is wrong: nothing fails, but NVIDIA has ended this branch: it gets no more bug or security fixes, and no support
for newer CUDA versions.

Symptoms: none, until something needs a newer driver.

Why it happens: drivers stay installed for years; provider images lag behind. Most machines run a branch that has ended.

How to fix it: install a current branch at the next maintenance window. The end-of-life date is compared with the date
of the run.

Source: docs.nvidia.com/datacenter/tesla/drivers, supported drivers; the matrix's table of branches.
"""

from __future__ import annotations

from compat_matrix.branches import branch_ended

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.machine import driver_platform
from ..snapshot import Missing, NeedsFact, Snapshot, need

CHECK = Check(
    __name__,
    title="The driver's branch has reached end of life",
    sound="The driver's branch is still maintained",
    severity="info",
    layer="driver",
    tags=("driver",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A remark if the branch's end of life is before the day of the run."""
    version = need("driver.kernel_version", s.driver.version)
    if driver_platform(s) == "windows":
        raise Skip("Windows drivers have different branches")
    if not p.judged_on:
        raise NotExamined("the date of the run is unknown")
    answer = m.driver_branch(version)
    if answer.row is None:
        raise NeedsFact("matrix", Missing("absent", f"the branch of driver {version} is not listed"))
    ended = branch_ended(m, answer.row, p.judged_on)
    if ended is None:
        raise Skip(f"the end-of-life date of branch {answer.row.branch} is not known")
    if ended:
        day = f" ({answer.row.end_of_life})" if answer.row.end_of_life else ""
        yield CHECK.remark(
            f"Driver branch {answer.row.branch} has reached end of life{day}",
            "It still works, but gets no more fixes, not even security fixes.",
            facts={"driver": version, "branch": answer.row.branch, "end_of_life": answer.row.end_of_life},
        )
