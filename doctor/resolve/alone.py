"""Lines that do not depend on one torch version: frameworks, and packages whose metadata leaves torch open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.companions import free_release
from compat_matrix.framework_wishes import FRAMEWORKS, allowed_releases, framework_rows, requirement_of
from compat_matrix.packages import goes_with, oldest_toolkit
from compat_matrix.pythons import supports_python
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


_CUDA_EXTRA = re.compile(r"\b(?:and-cuda|cuda|cudnn|ctk|all\b)")


def decides_torch(m: Matrix, one: Pinned) -> bool:
    """Whether an installer picks a different torch because of this line. A package without wheels on the index is built
    for the installed torch, and a companion may name none."""
    if brings_no_cuda(one) or one.wish.package in WHEELS:
        return False
    return not free_release(m, one.wish.package, one.wish.specifier)


def brings_no_cuda(one: Pinned) -> bool:
    """Whether it is a framework without an extra that requires CUDA's wheels (jax[tpu] is one): it names no torch and
    none of its CUDA libraries, but may load those that torch brings."""
    return one.wish.package in FRAMEWORKS and not _CUDA_EXTRA.search(one.extras)


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
    if best is None or not best.chosen:
        return out, None
    return out, Instead(one.number, f"{best.chosen[0].requirement}{one.tail}", "a release that runs here", one.text)


def _framework(m: Matrix, q: Question, one: Pinned) -> tuple[DeadLine | None, Instead | None]:
    if one.name == "jax" and brings_no_cuda(one):
        return None, None  # without the plugin it uses no GPU of NVIDIA's
    rows = chosen_first(m, q, one.wish)
    lacks = _framework_lacks(m, q, rows[0]) if rows else ""
    if not lacks:
        return None, None
    dead = DeadLine(one.number, one.text, lacks)
    every = (*rows, *framework_rows(m, Wish(one.wish.package)))
    better = next((row for row in every if not _framework_lacks(m, q, row)), None)
    if better is None:
        return dead, None
    name = better.package if one.wish.distribution == one.name or one.wish.package == "cupy" else one.name
    extras = re.sub(r"\bcuda1\d", f"cuda{better.cuda.partition('.')[0]}", one.extras)  # of jax
    write = f"{name}{extras}{_range(m, q, one.wish, better)}{one.tail}"
    return dead, Instead(one.number, write, f"built for CUDA {better.cuda}", one.text)


def _range(m: Matrix, q: Question, wish: Wish, row: Framework) -> str:
    """How to ask for this release: a range stays one, with an upper bound if a newer release would be chosen."""
    spec = wish.specifier
    releases = () if spec[:1].isdigit() else allowed_releases(row, spec)
    if not releases:
        return f"=={requirement_of(row, Wish(wish.package))[1].partition('==')[2]}"
    own = Wish(wish.package, spec, row.package if wish.distribution else "")
    if next(iter(chosen_first(m, q, own)), None) == row:
        return spec
    return ",".join(filter(None, (spec, f"<={releases[-1]}")))


def chosen_first(m: Matrix, q: Question, wish: Wish) -> tuple[Framework, ...]:
    """A framework's rows in the order in which an installer chooses: newest first, without those that have no wheel for
    this Python, if any has one."""
    rows = framework_rows(m, wish)
    return tuple(row for row in rows if not q.python or supports_python(row, q.python)) or rows


def _framework_lacks(m: Matrix, q: Question, row: Framework) -> str:
    """What keeps this release from using the machine's GPU; '' if nothing does."""
    what = f"{row.package} {row.version}"
    if q.python and row.pythons and q.python not in row.pythons:
        return f"{what} requires Python {row.pythons[0]} to {row.pythons[-1]}"
    if q.platform not in row.gpu_platforms:
        return f"{what} does not use a GPU on {q.platform}"
    for gpu in q.gpus:
        last = next((one.last_toolkit for one in m.capabilities if one.cc == gpu), "")
        sm = f"sm_{gpu.replace('.', '')}"
        if last and numbers(row.cuda)[:1] > numbers(last)[:1]:
            return f"{what} is built for CUDA {row.cuda}, but CUDA {last} is the last version that supports {sm}"
        if goes_with(m, row, "gpu", gpu) is False:
            return f"{what} does not support {sm}"
    if not q.driver:
        return ""
    system: Platform = "windows" if q.os != "linux" else "linux"
    cuda = row.cuda if "." in row.cuda else oldest_toolkit(m, row.cuda)
    grade = m.driver_for_cuda(q.driver, cuda, system)
    runs = grade.grade in ("native", "minor-version", "unknown")  # no requirement file can ask for cuda-compat
    return "" if runs else f"{what} is built for CUDA {row.cuda}: {grade.reason}"
