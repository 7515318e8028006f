"""The lines of a conda environment: the build they name, and what conda-forge has instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.candidate import Candidate
from compat_matrix.conda import CondaChoice, conda_builds
from compat_matrix.resolver import Question, Rejected, fit
from compat_matrix.versions import numbers, tag_cuda
from compat_matrix.wish import allowed

from .files.conda import CUDA_NAMES
from .files.lines import Pinned, RequirementFile
from .instead import Answered, DeadLine, Instead, exact_of

if TYPE_CHECKING:
    from compat_matrix import Matrix


def conda_lines(m: Matrix, q: Question, file: RequirementFile, near: str = "") -> Answered:
    """A build from the pytorch channel is judged like the wheel with the same version and CUDA, whose machine code it
    shares; one from conda-forge by its recipe. near: the release that a change should be close to, instead of the
    file's own."""
    torch = next(one for one in file.lines if one.name == "torch")
    reason = _dead(m, q, torch)
    if not reason:
        takes = f"{torch.wish.specifier}+{torch.local}" if torch.local and exact_of(torch) else ""
        return Answered(takes=takes)
    if reason == _UNKNOWN:
        return Answered(unknown=(f"line {torch.number}: conda's solver chooses the build for {torch.text}",))
    dead = (DeadLine(torch.number, torch.text, reason),)
    best, python = _best(m, q, near or torch.wish.specifier)
    if best is None:
        return Answered(dead=dead)
    notes = (f"No build of torch for Python {q.python} runs here.",) if python else ()
    return Answered(
        dead=dead,
        instead=tuple(_changes(file, best, python)),
        gives=f"{best.row.torch}+cu{best.row.cuda.replace('.', '')}",
        unknown=(
            *notes,
            "Put conda-forge first in channels: its packages cannot be mixed with those from other channels.",
        ),
    )


_UNKNOWN = "?"


def _dead(m: Matrix, q: Question, torch: Pinned) -> str:
    """Why the lines cannot run; '' if they can, '?' if the solver may choose a build that does."""
    if torch.local and not torch.local.startswith("cu"):
        return f"{torch.local} is not a CUDA build"
    spec, free = torch.wish.specifier, replace(q, python="")
    own = [b for b in m.builds if b.platform == q.platform and allowed(spec, b.torch) and torch.local in ("", b.tag)]
    verdicts = [fit(m, free, replace(build, published="yes")) for build in own]
    if torch.local and own:
        newest = max(verdicts, key=lambda one: numbers(one.build.torch))
        return f"its {torch.local} build: {reason}" if (reason := _fails(newest)) else ""
    cuda = tag_cuda(torch.local) if torch.local else ""
    forge = [row for row in m.conda_rows if allowed(spec, row.torch) and (not cuda or row.cuda == cuda)]
    runs = [one for one in _builds(m, q, None) if allowed(spec, one.row.torch) and (not cuda or one.row.cuda == cuda)]
    if runs and cuda:
        return ""
    if runs or any(not _fails(one) for one in verdicts) or not (own or forge):
        return _UNKNOWN
    out = max(verdicts, key=lambda one: numbers(one.build.torch), default=None)
    gpus = " ".join(f"sm_{gpu.replace('.', '')}" for gpu in q.gpus)
    return f"no CUDA build of it runs here: {_fails(out)}" if out else f"conda-forge's build does not support {gpus}"


def _fails(one: Candidate | Rejected) -> str:
    """Why a build does not run with what a file installs, which does not include cuda-compat."""
    return one.reason if isinstance(one, Rejected) else one.why if one.grade == "forward-compat" else ""


def _builds(m: Matrix, q: Question, python: str | None) -> tuple[CondaChoice, ...]:
    return conda_builds(m, q.gpus, q.driver or None, q.os, q.arch, python)


def _best(m: Matrix, q: Question, near: str) -> tuple[CondaChoice | None, str]:
    """The build nearest to a release, and the Python to write ('' for the file's own)."""
    python = q.python.rstrip("t")
    found, other = _builds(m, q, python or None), ""
    if not found and python:
        found = _builds(m, q, None)
    if not found:
        return None, ""
    base = numbers(near)[:2]
    best = min(
        found, key=lambda one: (_distance(numbers(one.row.torch), base), one.row.torch != near, found.index(one))
    )
    if python and python not in best.row.pythons:
        later = [one for one in best.row.pythons if numbers(one) > numbers(python)]
        other = min(later, key=numbers) if later else max(best.row.pythons, key=numbers)
    return best, other


def _distance(one: tuple[int, ...], base: tuple[int, ...]) -> int:
    return abs((one[0] - base[0]) * 100 + one[1] - base[1]) if len(base) == 2 else 0


def _changes(file: RequirementFile, best: CondaChoice, python: str) -> list[Instead]:
    written = []
    for one in file.lines:
        plain = f"conda-forge::{one.name}"
        write = f"conda-forge::{best.spec}" if one.name == "torch" else plain
        why = "cannot work as it is" if one.name == "torch" else f"matches torch {best.row.torch}"
        written.append(Instead(one.number, write, why, one.text))
    for other in file.others:
        if other.name in CUDA_NAMES:
            written.append(Instead(other.number, "", f"conda-forge's build includes CUDA {best.row.cuda}", other.text))
        elif other.name == "python" and python:
            written.append(
                Instead(
                    other.number,
                    f"python={python}",
                    f"torch {best.row.torch} has no build for {other.text}",
                    other.text,
                )
            )
    return written
