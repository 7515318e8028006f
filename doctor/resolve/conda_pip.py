"""A conda environment or pixi project in which pip also installs packages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.companions import expected
from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.resolver import Question, resolve
from compat_matrix.unlisted import unlisted
from compat_matrix.versions import tag_cuda
from compat_matrix.wish import Chosen, Wish, allowed
from compat_matrix.wishes import EXTENSIONS, WHEELS, wish_allows

from .alone import each_alone, pins_torch
from .beside import with_the_rest
from .conda_lines import conda_lines
from .dead import not_judged
from .files.dialect import spelled
from .files.lines import Pinned, RequirementFile
from .forks import every_fork
from .instead import OWN, Answered, Instead, exact_of

if TYPE_CHECKING:
    from compat_matrix import Matrix


def with_pip(m: Matrix, q: Question, file: RequirementFile) -> Answered:
    """The answer for both. pip keeps conda's torch if its own packages allow it; otherwise it installs a different one
    over it, which is then the one that runs."""
    pip = file.pip
    if not file.lines:
        return every_fork(m, q, pip) if pip else Answered()
    conda = conda_lines(m, q, file)
    if pip is None or not (pip.lines or pip.others):
        return conda
    torch = next(one for one in file.lines if one.name == "torch")
    over = _installs_over(m, q, torch, pip)
    return _over(m, q, torch, file, pip, over) if over else _kept(m, q, torch, conda, pip)


def _installs_over(m: Matrix, q: Question, torch: Pinned, pip: RequirementFile) -> Pinned | None:
    """The pip line that makes it install a torch other than conda's."""
    have = exact_of(torch)
    for one in pip.lines:
        if one.wish.package == "torch":
            same = have and allowed(one.wish.specifier, have) and one.local in ("", torch.local)
            if not same and (one.wish.specifier or one.local):
                return one
        elif pins_torch(m, one) and not unlisted(m, one.wish) and not (have and _goes(m, q, one.wish, have)):
            return one
    return None


def _goes(m: Matrix, q: Question, wish: Wish, torch: str) -> bool:
    """Whether a package can be installed with this torch from conda and supports the GPUs."""
    if wish.package in (*EXTENSIONS, *WHEELS):
        return _chosen(m, q, wish, torch) is not None
    free = replace(q, gpus=(), driver="", wishes=(wish, Wish("torch", torch)))
    return bool(resolve(m, free).candidates)


def _chosen(m: Matrix, q: Question, wish: Wish, torch: str, tag: str = "") -> Chosen | None:
    """The release for a torch from conda: based on the wheels of that torch, those for the same CUDA first. conda's own
    build may support different GPUs, so only the package's limits count."""
    builds = [one for one in m.builds if one.platform == q.platform and one.torch == torch and tag_cuda(one.tag)]
    for build in sorted(builds, key=lambda one: (one.tag != tag, one.tag[:4] != tag[:4], not one.pypi_default)):
        found = wish_allows(m, wish, build, q.gpus, q.python, q.platform, assume_builds=True)
        if not isinstance(found, str):
            return found
    return None


def _over(m: Matrix, q: Question, torch: Pinned, file: RequirementFile, pip: RequirementFile, over: Pinned) -> Answered:
    """pip's torch is what runs; conda's is dead weight. If pip's is dead too and conda has the release that pip gets
    instead, both are changed to that one."""
    own = every_fork(m, q, pip)
    brings = "" if over.wish.package == "torch" else " and the torch that it needs"
    note = f"line {over.number}: pip installs {over.text}{brings} over conda's torch (line {torch.number})."
    if not own.dead:
        return replace(own, unknown=(*own.unknown, note))
    release = own.gives.partition("+")[0]
    conda = conda_lines(m, q, file, release)
    if release and conda.gives.partition("+")[0] not in ("", release):
        note = f"{note[:-1]}; conda has no build of torch {release} that runs here, so its line stays."
        conda = replace(conda, instead=(), unknown=(), gives="")
    built = [one for one in own.instead if re.match(r"torch\s*=", one.write) and re.search(r"\+|\bindex\b", one.write)]
    kept = conda.gives and not built
    return replace(
        own, gives=conda.gives if kept else own.gives, dead=(*conda.dead, *own.dead),
        instead=(*conda.instead, *own.instead), unknown=(*conda.unknown, *own.unknown, note),
    )  # fmt: skip


def _kept(m: Matrix, q: Question, torch: Pinned, conda: Answered, pip: RequirementFile) -> Answered:
    """conda's torch stays, or is replaced with a different conda build; pip's packages must match it."""
    version, _, tag = conda.gives.partition("+") if conda.gives else (exact_of(torch), "", torch.local)
    unknown = [why for one in pip.lines if (why := not_judged(m, one))]
    lines = [one for one in pip.lines if not unlisted(m, one.wish)]
    alone = each_alone(m, q, [one for one in lines if one.name not in OWN], unknown)
    written = {(one.number, one.text): one for one in alone.instead}
    for one in lines if version and conda.instead else ():
        if one.wish.package in FRAMEWORKS or _goes(m, q, one.wish, version):
            continue
        write = _release_for(m, q, one, version, tag)
        if write:
            written[(one.number, one.text)] = Instead(one.number, write, f"matches torch {version}", one.text)
        else:
            unknown.append(f"line {one.number}: no release of {one.name} for torch {version} is listed")
    base = replace(conda, instead=(*conda.instead, *written.values()), index="")
    rest = with_the_rest(m, q, replace(pip, kind="requirements", requires=None), base)
    rest = spelled(pip, replace(rest, instead=rest.instead[len(conda.instead) :]))
    return replace(
        rest, dead=(*rest.dead, *alone.dead), instead=(*conda.instead, *rest.instead),
        unknown=tuple(dict.fromkeys((*rest.unknown, *alone.unknown, *unknown))),
    )  # fmt: skip


def _release_for(m: Matrix, q: Question, one: Pinned, torch: str, tag: str) -> str:
    if one.wish.package == "torch":
        return f"torch=={torch}{one.tail}"
    if one.name in OWN:
        goes = expected(m, torch, one.name)
        return f"{one.name}=={goes.versions[-1]}{one.tail}" if goes and goes.versions else ""
    chosen = _chosen(m, q, Wish(one.wish.package), torch, tag)
    return f"{chosen.requirement}{one.tail}" if chosen else ""
