"""The engine behind `gpudoctor resolve`: which torch builds fit a machine and its wishes, and why the others do not.

Filters in this order, each naming the rows it is based on: platform published, Python, machine code for every GPU (and
in the cuDNN that the build brings), the driver, companions, wishes. Pure and offline.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import msgspec

from .candidate import Candidate
from .companions import expected
from .driver_for_build import driver_for_tag, undriven
from .drivers import newest_of_branch
from .pythons import shared_pythons
from .ranks import dominates, rank, trade_offs
from .served import chooser, served_by
from .torchs import index_url, python_for_torch, usable
from .unlisted import TORCH, Unlisted, unlisted
from .versions import minor, numbers, tag_cuda
from .wish import Chosen, Wish
from .wishes import wish_allows

if TYPE_CHECKING:
    from .rows_driver import Row
    from .rows_torch import TorchBuild
    from .store import Store

Filter = Literal["platform", "python", "architecture", "driver", "companion", "wish"]
FILTERS: tuple[Filter, ...] = ("platform", "python", "architecture", "driver", "companion", "wish")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The question. gpus: compute capabilities, one for each different GPU; driver: '' if none is installed yet;
    os: linux, wsl or windows; arch: x86_64 or aarch64; python: '3.12', '3.13t' or '' for any; eligible: whether these
    GPUs support forward compatibility (data-center boards)."""

    gpus: tuple[str, ...]
    driver: str = ""
    os: str = "linux"
    arch: str = "x86_64"
    python: str = ""
    wishes: tuple[Wish, ...] = ()
    eligible: bool = False
    glibc: str = ""
    """The system's, '2.35'; '' if it is unknown or does not matter."""
    any_gpu: bool = False
    """The GPUs may be present (for a text that names none): do not require that the driver supports each."""
    assume_builds: bool = False
    """Somebody's own choice is judged, not recommended: a package build that is neither listed nor known to be absent
    counts as existing, and its `Chosen` says so."""

    @property
    def platform(self) -> str:
        """Platform of wheels."""
        return "windows" if self.os == "windows" else f"linux_{self.arch}"


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A rejected build, with the first filter that it fails."""

    build: TorchBuild
    filter: Filter
    reason: str
    rows: tuple[Row, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """candidates: best first; conflict: the smallest set of wishes that no build fulfills; uv: the backend that uv
    would choose based on the driver alone ('' without a driver); notes: sentences about the whole; unlisted: wishes for
    releases that the matrix does not list: with them, a candidate is only likely (both neighbors work with it), and the
    absence of one means nothing."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    conflict: tuple[Wish, ...] = ()
    uv: str = ""
    notes: tuple[str, ...] = ()
    unlisted: tuple[Unlisted, ...] = ()


def resolve(m: Store, q: Question) -> Answer:
    """Judge every build, and rank the ones that fit."""
    unknown = tuple(one for wish in q.wishes if (one := unlisted(m, wish)))
    if unknown:
        return _by_neighbors(m, q, unknown)
    found, out, uv = ranked(m, q)
    newest = max((numbers(one.build.torch) for one in found), default=())
    candidates = tuple(msgspec.structs.replace(one, gives_up=trade_offs(one, newest)) for one in found)
    conflict = _conflict(m, q) if not candidates and q.wishes else ()
    return Answer(candidates=candidates, rejected=out, conflict=conflict, uv=uv)


def _by_neighbors(m: Store, q: Question, unknown: tuple[Unlisted, ...]) -> Answer:
    """What the listed releases on both sides of each unlisted one agree on; no candidate if they disagree."""
    likely: Candidate | None = None
    if all(one.below and one.above and _is_likely(one) for one in unknown):
        sides = []
        for beside in ({one.wish: one.below for one in unknown}, {one.wish: one.above for one in unknown}):
            wishes = tuple(
                msgspec.structs.replace(w, specifier=f"=={beside[w]}") if w in beside else w for w in q.wishes
            )
            sides.append(next(iter(ranked(m, msgspec.structs.replace(q, wishes=wishes))[0]), None))
        low, high = sides
        if low and high and low.build == high.build and not any(choice.url for choice in (*low.chosen, *high.chosen)):
            wanted = {one.wish.package: one for one in unknown}
            chosen = tuple(_as_wanted(choice, wanted.get(choice.package)) for choice in high.chosen)
            likely = msgspec.structs.replace(high, chosen=chosen)
    return Answer(candidates=(likely,) if likely else (), rejected=(), unlisted=unknown)


def _is_likely(one: Unlisted) -> bool:
    """Whether a release may be like its neighbors: not one for a release of torch, or for one build of it, and not one
    that the matrix lists without what it works with, or that cannot be."""
    if one.wish.package in TORCH or "+" in one.wish.specifier:
        return False
    return not one.is_source and not one.is_open and not one.is_empty


def _as_wanted(choice: Chosen, one: Unlisted | None) -> Chosen:
    """The chosen neighbor, with the version or range that was asked for."""
    if one is None:
        return choice
    requirement = choice.requirement.partition("==")[0] + one.requirement
    return msgspec.structs.replace(choice, version=one.pin or one.wish.specifier, requirement=requirement, gives_up="")


def ranked(m: Store, q: Question) -> tuple[tuple[Candidate, ...], tuple[Rejected, ...], str]:
    """The builds that fit, best first, without their trade-offs; those that do not; uv's backend."""
    found: list[Candidate] = []
    out: list[Rejected] = []
    for build in m.builds:
        if build.platform == q.platform:
            verdict = fit(m, q, build)
            (found if isinstance(verdict, Candidate) else out).append(verdict)  # type: ignore[arg-type]
    uv = uv_backend(m, q)
    leads = _uv_leads(m, q, found, uv)
    newest = max((numbers(one.build.torch) for one in found), default=())
    found.sort(key=lambda one: rank(one, newest, leads))
    while better := next((one for one in found[1:] if dominates(one, found[0])), None):
        found.remove(better)
        found.insert(0, better)
    return tuple(found), tuple(out), uv


def fit(m: Store, q: Question, build: TorchBuild) -> Candidate | Rejected:
    """One build against the question."""

    def no(filter_: Filter, reason: str, *rows: Row) -> Rejected:
        return Rejected(build=build, filter=filter_, reason=reason, rows=(build, *rows))

    if not usable(build):
        state = {"dropped": "is no longer published", "unverified": "is not known to be published"}
        return no("platform", state.get(build.published, "is not confirmed by any source"))
    floor = glibc_floor(build.torch, build.tag, build.platform)
    if q.glibc and floor and numbers(q.glibc) < numbers(floor):
        return no("platform", f"needs glibc {floor} or newer, but this system has {q.glibc}")
    if q.python:
        grade = python_for_torch(m, build.torch, q.python, q.platform)
        if grade.grade != "ok":
            return no("python", grade.reason, *grade.rows)
    served = served_by(m, build, q.gpus)
    if isinstance(served, str):
        return no("architecture", f"lacks {served.partition(' ')[2]}: it has {' '.join(build.sass)}")
    held = undriven(m, q.driver, q.os, () if q.any_gpu else q.gpus)
    if held:
        return no("driver", *held)
    how = driver_for_tag(m, q.driver, q.os, build.tag, q.eligible)
    if how[0] == "no":
        return no("driver", how[1], *how[3])
    wanted = [wish.package for wish in q.wishes]
    companions = {}
    for package in ("torchvision", "torchaudio"):
        goes = expected(m, build.torch, package)
        specifier = next((wish.specifier for wish in q.wishes if wish.package == package), "")
        if goes is not None and (goes.relation in ("==", ">=") or (specifier and build.pypi_default)):
            companions[package] = next(filter(chooser(specifier), reversed(goes.versions)), goes.version)
        elif package in wanted:
            return no("companion", f"no {package} for torch {build.torch} is listed")
    chosen: list[Chosen] = []
    for wish in sorted(q.wishes, key=lambda one: one.package == "xformers"):  # which vllm may pin
        answer = _wish(m, q, build, wish, companions, tuple(chosen))
        if isinstance(answer, str):
            return no("wish", answer)
        chosen += [answer] if answer else []
    rows = [row for one in chosen for row in one.rows]
    if not q.python and len(chosen) > 1 and not shared_pythons(m, build.torch, q.platform, rows):
        names = " and ".join(f"{one.package} {one.version}" for one in chosen)
        return no("wish", f"no Python version has wheels for {names} and torch {build.torch}", *rows)
    index = index_url(m, build.tag)
    return Candidate(
        build=build,
        grade=how[0],
        why=how[1],
        served=served,
        chosen=tuple(chosen),
        companions=companions,
        index="" if build.pypi_default else index.url if index else f"https://download.pytorch.org/whl/{build.tag}",
        compat_package=how[2],
        rows=(build, *how[3], *((index,) if index else ()), *rows),
    )


def glibc_floor(torch: str, tag: str, platform: str) -> str:
    """The oldest glibc that a Linux wheel supports; '' on Windows.

    torch 2.6 moved aarch64 and CUDA 12.6 to manylinux_2_28, 2.7 all others (pytorch.org/blog/pytorch2-6); before: 2.17.
    """
    if platform == "windows":
        return ""
    version = numbers(torch)[:2]
    early = tag == "cu126" or platform == "linux_aarch64"
    return "2.28" if version >= (2, 7) or (version == (2, 6) and early) else "2.17"


def _wish(
    m: Store, q: Question, build: TorchBuild, wish: Wish, companions: dict[str, str], others: tuple[Chosen, ...]
) -> Chosen | str | None:
    local = wish.specifier.partition("+")[2] if wish.specifier[:1].isdigit() else ""
    if local not in ("", build.tag):
        return f"{wish} does not match this torch build"
    if wish.package == "torch":
        allowed = chooser(wish.specifier)(build.torch)
        return None if allowed else f"{wish} does not match this torch" + (" build" if local else "")
    if wish.package in ("torchvision", "torchaudio"):
        version = companions[wish.package]
        return None if chooser(wish.specifier)(version) else f"torch {build.torch} needs {wish.package} {version}"
    wish = msgspec.structs.replace(wish, specifier=wish.specifier.removesuffix(f"+{local}"))
    return wish_allows(m, wish, build, q.gpus, q.python, q.platform, others, q.assume_builds)


def uv_backend(m: Store, q: Question) -> str:
    """The tag of the index that uv's `--torch-backend=auto` asks first, based on the driver alone; '' if it has none.

    By its table's minimum drivers (the min_driver columns of index_urls): the newest CUDA with a matching torch.
    """
    if not q.driver:
        return ""
    column = "min_driver_linux" if q.os != "windows" else "min_driver_windows"
    # On WSL uv reads the Windows driver's number, and compares it with its table for Linux.
    driver = numbers(newest_of_branch(m, q.driver, "linux" if q.os == "linux" else "windows"))
    wanted = next((chooser(wish.specifier) for wish in q.wishes if wish.package == "torch"), chooser(None))
    tags = [
        row.tag
        for row in m.index_urls
        if (floor := getattr(row, column)) and driver >= numbers(floor)
        if any(wanted(torch) for torch in row.torch)
    ]
    return max(tags, key=lambda tag: minor(tag_cuda(tag)) or (0, 0), default="")


def _uv_leads(m: Store, q: Question, found: Sequence[Candidate], uv: str) -> str:
    """uv's backend if no GPU limit applies: its newest torch (for this Python and these wishes) supports the GPUs."""
    if not uv:
        return ""
    free = msgspec.structs.replace(q, gpus=())
    there = [b for b in m.builds if b.platform == q.platform and b.tag == uv]
    best = max((numbers(b.torch) for b in there if isinstance(fit(m, free, b), Candidate)), default=None)
    held = any(one.build.tag == uv and numbers(one.build.torch) == best for one in found)
    return uv if held else ""


def _conflict(m: Store, q: Question) -> tuple[Wish, ...]:
    """The smallest set of wishes that no build for this machine fulfills; empty if the machine alone rules out all."""

    def possible(wishes: tuple[Wish, ...]) -> bool:
        query = msgspec.structs.replace(q, wishes=wishes)
        builds = (b for b in m.builds if b.platform == q.platform)
        return any(isinstance(fit(m, query, build), Candidate) for build in builds)

    if not possible(()):
        return ()
    for size in range(1, len(q.wishes) + 1):
        for some in combinations(q.wishes, size):
            if not possible(some):
                return some
    return ()
