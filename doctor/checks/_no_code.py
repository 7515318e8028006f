"""The finding for the two checks that report that torch has no code for this GPU."""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Fix, Matrix
from ..fixes.compatible import compatible_torch, drivable, show_only
from ..fixes.machine import seen_gpus
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._code import Judged, judged, older_than_build


def about_gpus(about: Check, s: Snapshot, m: Matrix, *, older: bool) -> Findings:
    """A failure for each GPU that torch has no code for, a remark if only a weaker witness says so.

    `older`: for GPUs older than what torch holds, else for newer ones. Unknown if a GPU cannot be judged.
    """
    found = judged(s, m)
    for j in found:
        no = next((code for code, grade in j.against if grade.kind == "none"), j.code) if j.serves else j.code
        if older_than_build(j, no) != older:
            continue
        if not j.serves and j.grade.kind == "none" and not j.grade.ptx_needs_cuda:
            yield _failure(about, s, m, j, "too new for this GPU" if older else "older than this GPU")
        elif j.serves and (j.against or j.grade.kind == "none"):
            yield _remark(about, s, j)
    _unjudged(found)


def _failure(about: Check, s: Snapshot, m: Matrix, j: Judged, why: str) -> Finding:
    title = f"PyTorch {_version(s)} does not support your {short(j.gpu.name)} ({sm(j.gpu.capability)})"
    detail = f"This build is {why}: {j.grade.reason} (according to {j.code.witness}).{j.disagreement}"
    if m.compute_capability(j.gpu.capability) is None:
        detail = f"This torch {j.grade.reason}, according to {j.code.witness}.{j.disagreement}"
    return about.fail(title, detail, facts=j.facts, subject=j.gpu.key, direct=j.code.direct, fixes=fixes(s, m, j))


def _remark(about: Check, s: Snapshot, j: Judged) -> Finding:
    """It works, or stronger witnesses say so; the one that disagrees is named."""
    no = " ".join(code.witness for code, grade in j.against) or j.code.witness
    gpu = f"{short(j.gpu.name)} ({sm(j.gpu.capability)})"
    title = f"PyTorch {_version(s)} supports your {gpu}, although one source says otherwise"
    if j.ran:
        detail = f"torch ran a kernel on this GPU.{j.disagreement}"
        if j.grade.kind == "none":
            detail = f"torch ran a kernel on this GPU. According to {j.code.witness}: {j.grade.reason}."
    else:
        detail = f"According to {j.code.witness}: {j.grade.reason}.{j.disagreement}"
    return about.remark(title, detail, facts={**j.facts, "ran": j.ran, "against": no}, subject=j.gpu.key)


def _version(s: Snapshot) -> str:
    return known(s.torch.version) or f"for CUDA {known(s.torch.cuda)}"


def short(name: str) -> str:
    """`RTX 5090` for `NVIDIA GeForce RTX 5090`: as its owner calls it."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def sm(capability: str) -> str:
    """`sm_120` for compute capability 12.0, as errors and compilers write it."""
    return f"sm_{capability.replace('.', '')}"


def fixes(s: Snapshot, m: Matrix, j: Judged) -> tuple[Fix, ...]:
    """What works for all GPUs; if that needs more than an install, leaving this GPU out comes first."""
    best = compatible_torch(s, m)
    leave = _leave_out(s, m, j) if best is None or best.id != "install-torch" else None
    return tuple(fix for fix in (leave, best) if fix)


def _leave_out(s: Snapshot, m: Matrix, j: Judged) -> Fix | None:
    """Give programs only the GPUs that this torch has code for."""
    seen = [g for g in seen_gpus(s, m) or () if not g.hidden and g.capability]
    runs = [
        g.key
        for g in seen
        if m.code_for_gpu(g.capability, j.code.sass, j.code.ptx, build_cuda=known(s.torch.cuda)).kind == "sass"
    ]
    out = [g for g in seen if g.key not in runs]
    if not runs or not known(s.gpus) or not all(drivable(s, m, g.capability) for g in (j.gpu, *out)):
        return None
    names = " and ".join(dict.fromkeys(g.name for g in out)) or j.gpu.name
    title = f"Leave out {names}: this torch supports the other GPUs"
    return Fix(id="leave-gpu-out", title=title, steps=(show_only(s, runs),))


def _unjudged(found: list[Judged]) -> None:
    """Unknown if witnesses of equal weight differ, or the matrix does not list a GPU's compute capability."""
    for j in found:
        if j.conflict:
            raise NeedsFact("torch.sass", Missing("conflict", j.grade.reason))
        if j.grade.kind == "unknown" and not j.ran:
            raise NeedsFact("compat_matrix", Missing("absent", j.grade.reason))
