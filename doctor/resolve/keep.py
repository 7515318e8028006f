"""`gpudoctor resolve --keep`: the smallest change to an environment that makes its torch work on this machine.

In this order: nothing; only the companions; a different build of the same release; a different patch of the same minor
release; the nearest other minor release. At each step, the other packages as installed come before other releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from compat_matrix.builds import _build
from compat_matrix.candidate import Candidate
from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.resolver import Question, Rejected, fit, ranked
from compat_matrix.unlisted import unlisted
from compat_matrix.versions import is_same, numbers, tag_cuda, torch_version
from compat_matrix.which_torch import which_torch
from compat_matrix.wish import Wish, distribution_of
from compat_matrix.wishes import EXTENSIONS, WHEELS

from ..fixes.install import Install, name_of
from ..fixes.machine import torch_cuda, wheel_platform
from ..fixes.packages import installed, installed_by_conda
from ..fixes.torch_request import request_for
from ..fixes.which_torch import COMPANIONS
from ..snapshot import Snapshot, known
from .machine import Unclear

if TYPE_CHECKING:
    from compat_matrix import Matrix


class Kept(Struct, frozen=True, kw_only=True):
    """wrong: why something has to change ('' if nothing has to); changes: 'torch 2.8.0+cu128 -> 2.8.0+cu126'; request:
    what to install, None if nothing has to change or nothing fits; notes: sentences."""

    now: str
    wrong: str = ""
    changes: tuple[str, ...] = ()
    request: Install | None = None
    notes: tuple[str, ...] = ()


def keep(m: Matrix, s: Snapshot, q: Question) -> Kept:
    """`q`: this machine, with the requested packages besides the installed ones. Raises Unclear for unlisted torch."""
    have, unknown = _installed(m, s, q)
    notes = [
        f"{one} is not listed in this matrix, so gpudoctor does not know whether it works with a different torch."
        for one in unknown
    ]
    parts = torch_version(known(s.torch.version) or "")
    if parts is None:
        if known(s.torch.version):
            raise Unclear(f"torch {known(s.torch.version)} is not listed in this matrix", unknown=True)
        now, wrong = "no torch", "torch is not installed"
        base, tag = "", ""
    elif parts.kind != "release":
        raise Unclear(
            f"torch {known(s.torch.version)} is not a release: the matrix does not list its builds", unknown=True
        )
    else:
        base, tag = parts.base, "cu" + torch_cuda(s, m).replace(".", "")
        now = f"torch {base}+{parts.local or tag}"
        wrong = _wrong_now(m, s, q, have, base, tag)
    if not wrong:
        return Kept(now=now, notes=tuple(notes))
    smallest = smallest_change(m, q, have, base, tag)
    if smallest is None:
        return Kept(now=now, wrong=wrong, notes=tuple(notes))
    one, left_out = smallest
    other = base and which_torch(m, q, base, tag)
    notes += [other.which.sentence] if other else []
    notes += [f"{name} has no wheel for torch {one.build.torch}: it has to be rebuilt." for name in left_out]
    return _kept(m, s, one, now, wrong, notes)


def smallest_change(
    m: Matrix, q: Question, have: tuple[Wish, ...], base: str, tag: str, compat: bool = True
) -> tuple[Candidate, list[str]] | None:
    """The build that changes least about torch `base` (`tag`) and the packages installed with it; and which of these
    have no wheel for it. base, tag: '' if there is no torch yet; compat: also one that needs cuda-compat installed.
    None if nothing fits."""
    for wishes, release in _stages(base, have, q.wishes):
        wished = (*wishes, Wish("torch", ".".join(map(str, release)))) if release else wishes
        found = [one for one in ranked(m, replace(q, wishes=wished))[0] if compat or one.grade != "forward-compat"]
        if found:
            stays = {wish.package for wish in wishes}
            return _nearest(found, base, tag), [wish.package for wish in have if wish.package not in stays]
    return None


def _installed(m: Matrix, s: Snapshot, q: Question) -> tuple[tuple[Wish, ...], list[str]]:
    """The installed packages that depend on torch, as wishes for just those; and those the matrix does not list."""
    wished = {wish.package for wish in q.wishes}
    found: dict[str, Wish] = {}
    unknown = []
    for d in known(s.python.distributions) or ():
        name, distribution = distribution_of(d.name)
        is_again = name in found and not distribution  # a plugin says which CUDA jax uses
        if name in wished or is_again or name not in (*EXTENSIONS, *WHEELS, *FRAMEWORKS):
            continue
        wish = Wish(name, d.version.partition("+")[0], distribution)
        released = any(is_same(row.version, wish.specifier) for row in m.extensions if row.package == name)
        if released or not unlisted(m, wish):
            found[name] = wish
        else:
            unknown.append(str(wish).replace("==", " "))
    return tuple(found.values()), unknown


def _wrong_now(m: Matrix, s: Snapshot, q: Question, have: Sequence[Wish], base: str, tag: str) -> str:
    """Why the installed build does not work; '' if it does. What was compiled for it stays."""
    if tag == "cu":
        return f"torch {base} is installed without CUDA"
    build = m.torch_build(base, tag, wheel_platform(s))
    if build is None:
        raise Unclear(f"torch {base}+{tag} for {wheel_platform(s)} is not listed in this matrix", unknown=True)
    wishes = (*(w for w in have if w.package not in WHEELS), *q.wishes)
    there = replace(build, published="yes", confidence="documented")  # it is installed, published or not
    verdict = fit(m, replace(q, wishes=wishes, python="", assume_builds=True), there)
    if isinstance(verdict, Rejected):
        return f"torch {base}+{tag}: {verdict.reason}"
    if verdict.grade == "forward-compat" and numbers(known(s.driver.cuda_version) or "0") < numbers(tag_cuda(tag)):
        return f"torch {base}+{tag}: {verdict.why}, but that is not loaded here"
    missing = [w.package for w in q.wishes if w.package != "torch" and not installed(s, (w.package,))]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
    return _companions_wrong(m, s, base, tag)


def _companions_wrong(m: Matrix, s: Snapshot, base: str, tag: str) -> str:
    for d in installed(s, COMPANIONS):
        grade = m.companion_matches(f"{base}+{tag}", d.name, d.version)
        if grade.grade == "mismatch" or grade.other_build:
            return f"{d.name} {d.version}: {grade.reason}"
    return ""


def _stages(
    base: str, have: tuple[Wish, ...], wished: tuple[Wish, ...]
) -> Iterator[tuple[tuple[Wish, ...], tuple[int, ...]]]:
    """(wishes, how much of the release stays), the smallest change first."""
    free = tuple(Wish(wish.package) for wish in have)
    listed = tuple(wish for wish in free if wish.package not in WHEELS)
    for size in (3, 2, 0) if base else (0,):
        for packages in dict.fromkeys((have, free, listed)):
            yield (*packages, *wished), numbers(base)[:size]


def _nearest(found: Sequence[Candidate], base: str, tag: str) -> Candidate:
    """The nearest minor, the installed CUDA if it works, then as ranked."""
    here = numbers(base)

    def far(item: tuple[int, Candidate]) -> tuple[object, ...]:
        rank, one = item
        there = numbers(one.build.torch)
        minors = abs((there[0] - here[0]) * 100 + there[1] - here[1]) if here else 0
        older = bool(here) and there[:2] < here[:2]
        return one.grade == "forward-compat", minors, older, one.build.tag != tag, rank

    return min(enumerate(found), key=far)[1]


def _kept(m: Matrix, s: Snapshot, one: Candidate, now: str, wrong: str, notes: list[str]) -> Kept:
    build = _build(m, one.build, one.grade, one.why, one.served, python=None, packages=COMPANIONS)
    beside = [name for name in COMPANIONS if installed(s, (name,))]
    old = ["torch", *beside]
    plain = request_for(s, m, build, old, old if known(s.torch.version) else [])
    extra = [c for c in one.chosen if not _there(s, c.package, c.version) or c.url]
    indexes = tuple(dict.fromkeys(url for url in (*(c.index for c in extra), plain.extra_index or plain.index) if url))
    request = plain
    if extra:
        request = replace(
            plain,
            packages=(*plain.packages, *(c.requirement for c in extra)),
            index="",
            extra_index=indexes[0] if indexes else "",
            more_indexes=indexes[1:],
        )
    then = {name_of(text): text.partition("==")[2] for text in plain.packages}
    changes = [f"{now} -> torch {one.build.torch}+{one.build.tag} (CUDA {tag_cuda(one.build.tag)}; {one.why})"]
    changes = [] if now == f"torch {one.build.torch}+{one.build.tag}" else changes
    for name in beside:
        was = installed(s, (name,))[0].version
        if name in then and then[name].partition("+")[0] != was.partition("+")[0]:
            changes.append(f"{name} {was} -> {then[name]}")
    for chosen in extra:
        there = [d.version for d in installed(s, (chosen.package,))]
        changes.append(f"{chosen.package} {there[0] if there else '(none)'} -> {chosen.version}")
    if one.compat_package:
        notes.append(f"It needs {one.compat_package} from NVIDIA's repository, on the loader's search path.")
    if installed_by_conda(s, old):
        notes.append(f"conda installed torch here, so first run `conda remove {' '.join(['pytorch', *beside])}`.")
    return Kept(now=now, wrong=wrong, changes=tuple(changes), request=request, notes=tuple(notes))


def _there(s: Snapshot, name: str, version: str) -> bool:
    return any(d.version.partition("+")[0] == version for d in installed(s, (name,)))
