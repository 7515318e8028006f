"""The finding of the two checks that say: no code for this GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Fix
from ..fixes.fitting import drivable, fitting_torch, show_only
from ..fixes.machine import seen_gpus
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._code import Judged, ran_here

if TYPE_CHECKING:
    from compat_matrix import Matrix


def finding(about: Check, s: Snapshot, m: Matrix, j: Judged, why: str) -> Finding:
    """The failure for one GPU; a warning where torch was seen to compute on it all the same."""
    version = known(s.torch.version) or f"for CUDA {known(s.torch.cuda)}"
    title = f"torch {version} is {why}: no code for {j.gpu.name} ({j.gpu.capability})"
    detail = f"By {j.code.witness}: {j.grade.reason}.{j.disagreement}"
    more = {"facts": j.facts, "subject": j.gpu.key, "direct": j.code.direct}
    if ran_here(s, j.gpu):
        detail += " But torch ran a kernel on it: the witnesses disagree, and this one is to be distrusted."
        return about.warn(f"Witnesses disagree on {j.gpu.name}: it works, yet no code for it was found", detail, **more)
    return about.fail(title, detail, fixes=fixes(s, m, j), **more)


def fixes(s: Snapshot, m: Matrix, j: Judged) -> tuple[Fix, ...]:
    """What fits all GPUs; where that needs more than an install, leaving this GPU out comes first."""
    best = fitting_torch(s, m)
    leave = _leave_out(s, m, j) if best is None or best.id != "install-torch" else None
    return tuple(fix for fix in (leave, best) if fix)


def _leave_out(s: Snapshot, m: Matrix, j: Judged) -> Fix | None:
    """Give programs only the GPUs that this torch has code for."""
    seen = [g for g in seen_gpus(s, m) or () if not g.hidden and g.capability]
    runs = [
        g.key for g in seen
        if m.code_for_gpu(g.capability, j.code.sass, j.code.ptx, build_cuda=known(s.torch.cuda)).kind == "sass"
    ]  # fmt: skip
    out = [g for g in seen if g.key not in runs]
    if not runs or not known(s.gpus) or not all(drivable(s, m, g.capability) for g in (j.gpu, *out)):
        return None
    names = " and ".join(dict.fromkeys(g.name for g in out)) or j.gpu.name
    title = f"Leave {names} out: this torch serves the other GPUs"
    return Fix(id="leave-gpu-out", title=title, steps=(show_only(s, runs),))


def unlisted_gpus(found: list[Judged]) -> None:
    """Unknown where a GPU could not be judged (a compute capability that the matrix does not list)."""
    for j in found:
        if j.grade.kind == "unknown":
            raise NeedsFact("compat_matrix", Missing("absent", j.grade.reason))
