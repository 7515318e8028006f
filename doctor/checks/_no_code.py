"""The finding of the two checks that say: no code for this GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Fix, Step
from ..fixes.machine import seen_gpus
from ..fixes.place import RECHECK
from ..fixes.python import new_python_fix
from ..fixes.torch import install_torch, recheck_run
from ..snapshot import EnvVar, Missing, NeedsFact, Snapshot, known
from ._code import Judged, ran_here

if TYPE_CHECKING:
    from compat_matrix import Matrix


def finding(about: Check, s: Snapshot, m: Matrix, j: Judged, why: str) -> Finding:
    """The failure for one GPU; a warning where torch was seen to compute on it all the same."""
    version = known(s.torch.version)
    title = f"torch {version} is {why}: no code for {j.gpu.name} ({j.gpu.capability})"
    detail = f"By {j.code.witness}: {j.grade.reason}.{j.disagreement}"
    more = {"facts": j.facts, "subject": j.gpu.key, "direct": j.code.direct}
    if ran_here(s, j.gpu):
        detail += " But torch ran a kernel on it: the witnesses disagree, and this one is to be distrusted."
        return about.warn(f"Witnesses disagree on {j.gpu.name}: it works, yet no code for it was found", detail, **more)
    return about.fail(title, detail, fixes=fixes(s, m, j), **more)


def fixes(s: Snapshot, m: Matrix, j: Judged) -> tuple[Fix, ...]:
    """A build for all GPUs; else another Python for such a build; else leave this GPU out."""
    install = install_torch(s, m)
    if install:
        return (install,)
    found = [new_python_fix(s, m), _leave_out(s, m, j), install_torch(s, m, any_driver=True)]
    return tuple(fix for fix in found if fix)


def _leave_out(s: Snapshot, m: Matrix, j: Judged) -> Fix | None:
    """Give programs only the GPUs that this torch has code for."""
    rest = [g for g in seen_gpus(s, m) or () if not g.hidden and g.capability != j.gpu.capability]
    devices = known(s.driver.cuda_devices)
    if not rest or not devices or not isinstance(known(s.gpus), tuple):
        return None
    keys = ",".join(g.key for g in rest)
    others = tuple(v for v in known(s.host.environment) or () if v.name != "CUDA_VISIBLE_DEVICES")
    changes = {
        **recheck_run(s),
        "host.environment": (*others, EnvVar("CUDA_VISIBLE_DEVICES", keys)),
        "driver.cuda_devices": tuple(d for d in devices if known(d.uuid) in {g.key for g in rest}) or RECHECK,
    }
    step = Step(
        text="Show programs only the other GPUs.", command=f"export CUDA_VISIBLE_DEVICES={keys}", where="shell",
        changes=changes,
    )  # fmt: skip
    return Fix(id="leave-gpu-out", title=f"Leave {j.gpu.name} out: no torch build serves all GPUs here", steps=(step,))


def unlisted_gpus(found: list[Judged]) -> None:
    """Unknown where a GPU could not be judged (a compute capability that the matrix does not list)."""
    for j in found:
        if j.grade.kind == "unknown":
            raise NeedsFact("compat_matrix", Missing("absent", j.grade.reason))
