"""Which requirement lines are dead on a machine, and what to write instead.

First, find the torch that an installer would choose from the lines alone; then, judge that build on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.candidate import Candidate
from compat_matrix.framework_wishes import BARE, FRAMEWORKS
from compat_matrix.installer import PYPI, Installer, Taken, installer_takes
from compat_matrix.resolver import FILTERS, Question, Rejected, fit, resolve
from compat_matrix.served import chooser
from compat_matrix.unlisted import unlisted
from compat_matrix.versions import numbers
from compat_matrix.wish import Chosen

from .alone import brings_no_cuda, chosen_first, decides_torch, each_alone, pins_torch, wheels_beside
from .files.lines import Pinned
from .instead import Answered, DeadLine, exact_of, instead

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_torch import TorchBuild


def dead_lines(m: Matrix, q: Question, lines: Sequence[Pinned]) -> Answered:
    """`q`: the machine, without wishes."""
    promised, q = q, replace(q, assume_builds=True)  # the file's own lines are judged; what is written must exist
    unknown = [why for one in lines if (why := not_judged(m, one))]
    lines = [one for one in lines if not unlisted(m, one.wish)]
    torch = next((one for one in lines if one.wish.package == "torch"), None)
    tag = torch.local if torch else ""
    if torch is None and not any(pins_torch(m, one) for one in lines):
        return each_alone(m, q, lines, unknown)
    if bare := [one for one in lines if one.wish.package in BARE and brings_no_cuda(one)]:
        return _apart(m, q, lines, bare, unknown)
    if torch and not tag and torch.indexes and "://" in torch.indexes[-1]:
        unknown = [*unknown, f"line {torch.number}: its index is not listed in this matrix, so it was not judged"]
        return each_alone(m, q, [one for one in lines if one.wish.package in FRAMEWORKS], unknown)
    if tag and not tag.startswith("cu"):
        dead = [DeadLine(one.number, one.text, f"{tag} is not a CUDA build") for one in lines if one.local == tag]
        return instead(m, promised, lines, dead, "", "", unknown)
    taken, uv = (_taken(m, q, torch, installer) for installer in ("pip", "uv"))
    if torch and torch.first:
        taken = uv
    if taken is not None:
        tag = "" if taken.index == PYPI else taken.tag
    if uv is not None and taken is not None and (uv.torch, uv.tag) != (taken.torch, taken.tag):
        unknown = [*unknown, uv.sentence]
    wishes = tuple(one.wish for one in lines if one is torch or decides_torch(m, one))
    free = replace(q, gpus=(), driver="", wishes=wishes)
    found = [one.build for one in resolve(m, free).candidates if _of_tag(one, tag)]
    if not found:
        dead = _against(m, free, [one for one in lines if one is torch or decides_torch(m, one)], torch, tag)
        own = dead_lines(m, q, [torch]) if torch and len(lines) > 1 else Answered()
        if torch and (torch.number, torch.text) not in [
            (one.number, one.text) for one in dead
        ]:  # on this machine it may be dead too
            dead = [*own.dead, *dead]
        base, _, of = own.takes.partition("+")
        row = m.torch_build(base, of, q.platform)
        loose = [one for one in lines if row and brings_no_cuda(one) and not _shares(m, q, one, row)]
        if loose:
            return _apart(m, promised, lines, loose, unknown)
        built = wheels_beside(m, q, lines, row)[1] if row else []
        lines = [one for one in lines if one not in built]
        return instead(m, promised, lines, dead, base, of, unknown, own.takes)
    build = max(found, key=lambda b: (numbers(b.torch), b.pypi_default))
    if loose := [one for one in lines if brings_no_cuda(one) and not _shares(m, q, one, build)]:
        return _apart(m, q, lines, loose, unknown)  # they get their CUDA libraries elsewhere
    verdict = fit(m, replace(q, wishes=wishes), build)
    takes = f"{build.torch}+{build.tag}"
    beyond, built = wheels_beside(m, q, lines, build)
    unknown += [
        f"line {one.number}: {one.wish} has no wheel for torch {takes}, so the installer builds it from source, "
        f"with nvcc."
        for one in built
    ]
    if isinstance(verdict, Candidate):
        unknown += [_assumed(one, chosen) for chosen in verdict.chosen if chosen.unlisted for one in lines
                    if one.wish.package == chosen.package]  # fmt: skip
    lines = [one for one in lines if one not in built]
    if isinstance(verdict, Candidate) and verdict.grade != "forward-compat" and beyond:
        return instead(m, promised, lines, beyond, build.torch, build.tag, unknown, takes)
    if isinstance(verdict, Candidate) and verdict.grade != "forward-compat":
        return Answered(takes=takes, unknown=tuple(unknown))
    named = taken is not None and takes == f"{taken.torch}+{taken.tag}" and not exact_of(torch)
    gives = taken.sentence if taken and named else f"it installs torch {takes}"
    if isinstance(verdict, Candidate):
        dead = [_of_torch(m, lines, torch, gives, verdict.why)]
    elif verdict.filter in ("wish", "companion"):
        alone = [(one, fit(m, replace(q, wishes=(one.wish,)), build)) for one in lines if one.wish in wishes]
        dead = [DeadLine(one.number, one.text, out.reason) for one, out in alone if isinstance(out, Rejected)]
        dead = dead or [_of_torch(m, lines, torch, gives, verdict.reason)]
    else:
        dead = [_of_torch(m, lines, torch, gives, verdict.reason)]
    dead += beyond
    return instead(m, promised, lines, dead, build.torch, build.tag, unknown, takes)


def _apart(m: Matrix, q: Question, lines: Sequence[Pinned], bare: Sequence[Pinned], unknown: list[str]) -> Answered:
    """The answer with these lines judged by themselves, and torch without them."""
    apart = each_alone(m, q, bare, unknown)
    rest = dead_lines(m, q, [one for one in lines if one not in bare])
    both = (*apart.unknown, *rest.unknown)
    return replace(rest, dead=(*rest.dead, *apart.dead), instead=(*rest.instead, *apart.instead), unknown=both)


def _shares(m: Matrix, q: Question, one: Pinned, build: TorchBuild) -> bool:
    """Whether the release that an installer chooses can use the CUDA libraries that come with this torch."""
    row = next(iter(chosen_first(m, q, one.wish)), None)
    wish = replace(one.wish, specifier=row.version) if row else one.wish
    return isinstance(fit(m, replace(q, gpus=(), driver="", wishes=(wish,)), build), Candidate)


def _taken(m: Matrix, q: Question, torch: Pinned | None, installer: Installer) -> Taken | None:
    """What an installer would choose today for torch's line; None for none, or if its indexes are unknown."""
    if torch is None or not torch.indexes:
        return None
    specifier = torch.wish.specifier
    specifier = f"=={specifier}" if specifier[:1].isdigit() else specifier
    return installer_takes(m, installer, specifier, torch.indexes, q.platform, q.python or "")


def not_judged(m: Matrix, one: Pinned) -> str:
    """Why the matrix cannot judge this line; '' if it can."""
    found = unlisted(m, one.wish)
    if found is None:
        return ""
    why = f"{one.wish} is not listed in this matrix"
    if found.is_source:
        why = f"this matrix lists no wheels for {found.name}, which is built from source"
    elif found.is_open:
        why = f"this matrix does not say which torch version {found.name} works with"
    return f"{f'line {one.number}' if one.number else one.text}: {why}, so it was not judged"


def _assumed(one: Pinned, chosen: Chosen) -> str:
    return f"line {one.number}: {chosen.package} {chosen.version} {chosen.unlisted}; check that the index has one"


def _of_tag(one: Candidate, tag: str) -> bool:
    return one.build.tag == tag if tag else one.build.pypi_default


def _of_torch(m: Matrix, lines: Sequence[Pinned], torch: Pinned | None, gives: str, reason: str) -> DeadLine:
    """torch's line, else the first that pins it; gives: a sentence about which torch."""
    pins = (line for line in lines if pins_torch(m, line))
    one = torch or next(pins, None) or next((line for line in lines if line.wish.package not in FRAMEWORKS), lines[0])
    return DeadLine(one.number, one.text, f"{gives}: {reason}")


def _against(m: Matrix, free: Question, lines: Sequence[Pinned], torch: Pinned | None, tag: str) -> list[DeadLine]:
    """Lines that no build on their index fulfills on any machine: each alone, else those that contradict each other."""
    answer = resolve(m, free)
    dead = []
    for one in lines:
        wishes = tuple(line.wish for line in (torch, one) if line)
        query = replace(free, wishes=wishes)
        alone = resolve(m, query)
        if any(_of_tag(found, tag) for found in alone.candidates):
            continue
        outs = [o for o in alone.rejected if (o.build.tag == tag if tag else o.build.pypi_default)]
        outs = [o for o in outs if torch is None or chooser(torch.wish.specifier)(o.build.torch)]
        best = max(outs, key=lambda o: (FILTERS.index(o.filter), numbers(o.build.torch)), default=None)
        what = f"torch {torch.wish.specifier}" if torch else "torch"
        dead.append(
            DeadLine(one.number, one.text, best.reason if best else f"no {what} for {tag or 'CUDA'} exists here")
        )
        if one is torch:
            return dead
    if dead:
        return dead
    names = {wish.package for wish in answer.conflict} or {one.wish.package for one in lines}
    several = " and ".join(one.text for one in lines if one.wish.package in names)
    return [
        DeadLine(o.number, o.text, f"no torch version works with {several}") for o in lines if o.wish.package in names
    ]
