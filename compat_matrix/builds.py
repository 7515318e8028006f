"""Which torch build should be installed here? Ranked, with the exact pip arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from .candidate import Candidate
from .companions import expected
from .resolver import Question, ranked
from .rows_torch import TorchBuild
from .served import chooser
from .torchs import index_url
from .versions import numbers
from .wish import Wish

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store

_GRADES = {"no-driver": "unknown", "forward-compat": "needs-forward-compat"}
_STEPS = {"python": "has a wheel for Python {python}", "architecture": "{lacks}", "driver": "runs on driver {driver}"}


class RankedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """One torch build to install.

    grade: the driver's grade (native, minor-version, needs-forward-compat, or unknown without a driver version);
    why: the driver, and the code for the requested GPUs; why_for_any: with all code in the build, if no GPU is known;
    pypi_default: a plain install gives it, so index_url is ''; served_by: capability -> compiled target;
    companions: package -> matching version; requirements: torch and its companions as pip and uv write them, with the
    local version (torch==2.8.0+cu126) if the index's wheels have one: without it any build of 2.8.0 will do. tagged:
    the same, always with it, for tagged_index_url; both empty if that index is not known to have them.
    """

    torch: str
    tag: str
    platform: str
    grade: str
    why: str
    why_for_any: str
    index_url: str
    pypi_default: bool
    served_by: dict[str, str]
    companions: dict[str, str]
    requirements: tuple[str, ...]
    tagged: tuple[str, ...]
    tagged_index_url: str
    confidence: str
    rows: tuple[Row, ...] = ()


class BestBuilds(msgspec.Struct, frozen=True):
    """builds: best first; reason: why there is none, '' otherwise; more: how many more fit. Iterates over and counts
    `builds`."""

    builds: tuple[RankedBuild, ...]
    reason: str = ""
    more: int = 0

    def __iter__(self) -> Iterator[RankedBuild]:
        return iter(self.builds)

    def __len__(self) -> int:
        return len(self.builds)


def best_builds(
    m: Store,
    gpus: Sequence[str],
    driver: str | None = None,
    os: str = "linux",
    arch: str = "x86_64",
    python: str | None = None,
    torch: str | None = None,
    forward_compat: bool = False,
    packages: Sequence[str] = ("torchvision", "torchaudio"),
    limit: int = 8,
    any_gpu: bool = True,
    glibc: str = "",
) -> BestBuilds:
    """Rank torch builds for these compute capabilities, as `resolver.resolve` does: the first is what it recommends.

    Every GPU must have SASS in the build and in the cuDNN that the build brings; the driver must be native or
    minor-version (with forward_compat also needs-forward-compat: last, up to `limit` more); the build must be known to
    be published.
    any_gpu: do not ask whether the driver supports these GPUs at all. glibc: of the system ('2.35'), '' for any.
    torch: '2.6.0', '2.6' (any patch of it) or a specifier such as '>=2.4,<2.9'.
    """
    if not gpus:
        return BestBuilds((), "no GPU given, so no build can be chosen")
    q = Question(
        gpus=tuple(gpus),
        driver=driver or "",
        os=os,
        arch="aarch64" if arch in ("aarch64", "arm64") else "x86_64",
        python=python or "",
        wishes=(Wish("torch", torch),) if torch else (),
        eligible=forward_compat,
        any_gpu=any_gpu,
        glibc=glibc,
    )
    found, out, _ = ranked(m, q)
    if not found:
        if python:  # the filters check the Python first: what would any other Python lack?
            others, lacking, _ = ranked(m, msgspec.structs.replace(q, python=""))
            out = tuple(one for one in out if one.filter == "python") if others else lacking
        rejected: dict[str, int] = {}
        for one in out:
            if one.filter in _STEPS and _allowed(torch, one.build):
                step = _STEPS[one.filter].format(python=python, driver=driver, lacks=_lack(one.reason))
                rejected[step] = rejected.get(step, 0) + 1
        return BestBuilds((), _reason(gpus, q.platform, torch, rejected))
    compat = [one for one in found[limit:] if one.grade == "forward-compat"]  # they are the last of many
    shown = tuple(ranked_build(m, one, python, packages) for one in (*found[:limit], *compat[:limit]))
    return BestBuilds(shown, more=len(found) - len(shown))


def ranked_build(m: Store, one: Candidate, python: str | None, packages: Sequence[str]) -> RankedBuild:
    """What to install for a candidate of the resolver and these companions."""
    grade = _GRADES.get(one.grade, one.grade)
    return _build(m, one.build, grade, one.why, one.served, python=python, packages=packages)


def _allowed(torch: str | None, build: TorchBuild) -> bool:
    return chooser(torch)(build.torch)


def _lack(reason: str) -> str:
    """'lacks machine code for 6.1: ...' as what a fitting build has: 'holds machine code for 6.1'."""
    what = reason.removeprefix("lacks ").partition(":")[0]
    return f"{'holds' if what.startswith('machine') else 'brings'} {what}"


def _reason(gpus: Sequence[str], platform: str, torch: str | None, rejected: dict[str, int]) -> str:
    which = f"published build of torch {torch}" if torch else "published torch build"
    if not rejected:
        return f"no {which} for {platform} is listed in this matrix"
    # What the most promising builds lacked: a later test is only reached by builds that passed the earlier ones.
    order = ("runs on", "brings", "holds", "has a wheel")
    step = min(rejected, key=lambda text: next(i for i, word in enumerate(order) if text.startswith(word)))
    return f"no {which} for {platform} {step}" + (f" and supports {', '.join(gpus)}" if "holds" not in step else "")


def _tagged(build: TorchBuild) -> bool:
    """Whether the wheel on torch's own index has its tag as local version: torch-2.8.0+cu126. On x86_64 that is so
    since the links in torch_stable.html ended (1.10); on aarch64, as far as reports show, since 2.7."""
    return numbers(build.torch)[:2] >= ((2, 7) if build.platform == "linux_aarch64" else (1, 10))


def _build(
    m: Store,
    build: TorchBuild,
    grade: str,
    why: str,
    served: dict[str, str],
    *,
    python: str | None,
    packages: Sequence[str],
) -> RankedBuild:
    url = "" if build.pypi_default else f"https://download.pytorch.org/whl/{build.tag}"
    row = index_url(m, build.tag)
    if row and url:
        url = row.url
    there = bool(row and build.torch in row.torch and _tagged(build))
    versions = {}
    own, local = [f"torch=={build.torch}+{build.tag}"], f"+{build.tag}" if build.platform != "linux_aarch64" else ""
    plain = [f"torch=={build.torch}"]
    for package in packages:
        companion = expected(m, build.torch, package)
        # A package without a pin on torch is left out: it is unknown which index has it.
        if companion is None or companion.relation not in ("==", ">="):
            continue
        versions[package] = companion.version
        pinned = companion.relation == "=="
        plain.append(f"{package}=={companion.version}" if pinned else f"{package}>={companion.versions[0]}")
        own.append(f"{plain[-1]}{local}" if pinned else plain[-1])
    by = ", ".join(gpu if gpu == target else f"{gpu} (its {target} code)" for gpu, target in served.items())
    return RankedBuild(
        torch=build.torch,
        tag=build.tag,
        platform=build.platform,
        grade=grade,
        index_url=url,
        why=f"{why}; machine code for {by}",
        why_for_any=f"{why}; machine code for {', '.join(build.sass)}",
        pypi_default=build.pypi_default,
        served_by=served,
        companions=versions,
        requirements=tuple(own if url and there else plain),
        tagged=tuple(own) if there else (),
        tagged_index_url=row.url if row and there else "",
        confidence=build.confidence,
        rows=(build, row) if row else (build,),
    )
