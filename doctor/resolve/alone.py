"""Lines that do not depend on one torch version: frameworks, and packages whose metadata leaves torch open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.companions import free_release
from compat_matrix.framework_wishes import FRAMEWORKS, framework_rows
from compat_matrix.resolver import Question, Rejected, fit, resolve
from compat_matrix.versions import numbers
from compat_matrix.wish import Wish, allowed
from compat_matrix.wishes import EXTENSIONS, WHEELS, releases

from .files.lines import Pinned
from .instead import OWN, Answered, DeadLine, Instead, dead_alone

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import Platform
    from compat_matrix.rows_library import Framework
    from compat_matrix.rows_torch import TorchBuild


def decides_torch(m: Matrix, one: Pinned) -> bool:
    """Whether an installer picks a different torch because of this line. A package without wheels on the index is built
    for the installed torch, and a companion may name none."""
    return one.wish.package not in WHEELS and not free_release(m, one.wish.package, one.wish.specifier)


def pins_torch(m: Matrix, one: Pinned) -> bool:
    """Whether the package's metadata pins one torch, which an installer then installs."""
    if one.wish.package in OWN:
        return decides_torch(m, one)
    if one.wish.package not in EXTENSIONS:
        return False
    row = next((row for row in releases(m, one.wish.package) if allowed(one.wish.specifier, row.version)), None)
    return row is not None and row.torch.startswith("==")


def wheels_beside(
    m: Matrix, q: Question, lines: Sequence[Pinned], build: TorchBuild
) -> tuple[list[DeadLine], list[Pinned]]:
    """For packages that are built if there is no wheel: lines that these GPUs are too old for, and lines without a
    wheel for this torch."""
    dead, built = [], []
    for one in lines:
        if one.wish.package not in WHEELS:
            continue
        floor = _floor(m, one)
        low = [gpu for gpu in q.gpus if floor and numbers(gpu) < numbers(floor)]
        if low:
            here = f"this GPU is sm_{low[0].replace('.', '')}"
            reason = f"{one.wish.package} needs sm_{floor.replace('.', '')} or newer; {here}"
            dead.append(DeadLine(one.number, one.text, reason))
        elif isinstance(fit(m, replace(q, gpus=(), driver="", wishes=(one.wish,)), build), Rejected):
            built.append(one)
    return dead, built


def _floor(m: Matrix, one: Pinned) -> str:
    rows = [row for row in m.extension_wheels if row.package == one.wish.package]
    return next((row.min_capability for row in rows if allowed(one.wish.specifier, row.version)), "")


def each_alone(m: Matrix, q: Question, lines: Sequence[Pinned], unknown: list[str]) -> Answered:
    """A file that names neither torch nor a package that pins one: judge each line by itself; no torch is added."""
    dead, write = [], []
    for one in lines:
        if one.wish.package in FRAMEWORKS:
            out, better = _framework(m, q, one)
        else:
            out, better = _extension(m, q, one)
        dead += [out] if out else []
        write += [better] if better else []
    return Answered(dead=tuple(dead), instead=tuple(write), unknown=tuple(unknown))


def _extension(m: Matrix, q: Question, one: Pinned) -> tuple[DeadLine | None, Instead | None]:
    if one.wish.package in WHEELS:
        floor = _floor(m, one)
        low = [gpu for gpu in q.gpus if floor and numbers(gpu) < numbers(floor)]
        reason = f"{one.wish.package} needs sm_{floor.replace('.', '')} or newer"
        return (DeadLine(one.number, one.text, reason), None) if low else (None, None)
    out = dead_alone(m, q, one)
    if out is None:
        return None, None
    best = next(iter(resolve(m, replace(q, wishes=(Wish(one.wish.package),))).candidates), None)
    if best is None:
        return out, None
    return out, Instead(one.number, f"{best.chosen[0].requirement}{one.tail}", "a release that runs here", one.text)


def _framework(m: Matrix, q: Question, one: Pinned) -> tuple[DeadLine | None, Instead | None]:
    lacks = [_framework_lacks(m, q, row) for row in framework_rows(m, one.wish)]
    if not lacks or "" in lacks:
        return None, None
    dead = DeadLine(one.number, one.text, lacks[0])
    others = framework_rows(m, Wish(one.wish.package))
    better = next((row for row in others if not _framework_lacks(m, q, row)), None)
    if better is None:
        return dead, None
    return dead, Instead(
        one.number, f"{better.package}=={better.version}.*{one.tail}", f"built for CUDA {better.cuda}", one.text
    )


def _framework_lacks(m: Matrix, q: Question, row: Framework) -> str:
    """What keeps this release from using the machine's GPU; '' if nothing does."""
    what = f"{row.package} {row.version}"
    if q.python and row.pythons and q.python not in row.pythons:
        return f"{what} is for Python {row.pythons[0]} to {row.pythons[-1]}"
    if q.platform not in row.gpu_platforms:
        return f"{what} does not use a GPU on {q.platform}"
    if not q.driver:
        return ""
    system: Platform = "windows" if q.os != "linux" else "linux"
    grade = m.driver_for_cuda(q.driver, row.cuda, system)
    runs = grade.grade in ("native", "minor-version", "unknown") or (
        grade.grade == "needs-forward-compat" and q.eligible
    )
    return "" if runs else f"{what} is built for CUDA {row.cuda}: {grade.reason}"
