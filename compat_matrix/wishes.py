"""What other packages require of a torch build: vLLM, flash-attn, xformers, bitsandbytes and others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .extension_wheels import extension_wheel
from .framework_wishes import FRAMEWORKS, framework_for
from .pythons import shared_pythons, supports_python
from .versions import by_release, numbers, tag_cuda
from .wish import Chosen, Wish, allowed, cuda_by_floor

if TYPE_CHECKING:
    from .rows_more import Extension
    from .rows_torch import TorchBuild
    from .store import Store

EXTENSIONS = ("vllm", "sglang", "xformers", "bitsandbytes")
WHEELS = ("flash-attn", "causal-conv1d", "mamba-ssm")
KNOWN = ("torch", "torchvision", "torchaudio", *EXTENSIONS, *WHEELS, *FRAMEWORKS)


def wish_allows(
    m: Store,
    wish: Wish,
    build: TorchBuild,
    gpus: tuple[str, ...],
    python: str,
    platform: str,
    others: tuple[Chosen, ...] = (),
    assume_builds: bool = False,
) -> Chosen | str:
    """The newest release of the package for this build and machine, or why there is none.

    assume_builds: see Question.
    """
    if wish.package in EXTENSIONS:
        pinned = [pin[1] for one in others for row in one.rows if (pin := re.search(r"xformers==([\w.]+)", row.note))]
        if wish.package == "xformers" and pinned and platform == "linux_x86_64":
            if not allowed(wish.specifier, pinned[0]):
                return f"another package pins xformers {pinned[0]}, not {wish}"
            wish = Wish(wish.package, f"=={pinned[0]}")
        return _extension(m, wish, build, gpus, python, platform, assume_builds)
    if wish.package in WHEELS:
        return _wheel(m, wish, build, gpus, python, platform)
    if wish.package in FRAMEWORKS:
        return framework_for(m, wish, build, python, platform, others)
    return f"{wish.package} is not listed in this matrix"


def releases(m: Store, package: str) -> tuple[Extension, ...]:
    """The listed releases of an extension that can be judged, newest first: those with a wheel whose torch or CUDA is
    known."""
    rows: dict[str, Any] = m.memo("extensions by package", dict)
    if package not in rows:
        own = [row for row in m.extensions if row.package == package and _is_judged(row)]
        rows[package] = tuple(sorted(own, key=lambda row: by_release(row.version), reverse=True))
    return rows[package]  # type: ignore[no-any-return]


def _is_judged(row: Extension) -> bool:
    return row.platforms != "sdist only" and bool(row.cuda or re.match("[<>=~!]", row.torch))


def _extension(
    m: Store, wish: Wish, build: TorchBuild, gpus: tuple[str, ...], python: str, platform: str, assume_builds: bool
) -> Chosen | str:
    out: list[tuple[str, str]] = []
    rows = [row for row in releases(m, wish.package) if allowed(wish.specifier, row.version)]
    for rank, row in enumerate(rows):
        lacks, index = _lacks(m, row, build, gpus, python, platform)
        unlisted = _unlisted(row, build)
        if not lacks and (assume_builds or not unlisted):
            needs_index = "" if build.pypi_default or wish.package == "bitsandbytes" else index
            return Chosen(
                package=wish.package,
                version=row.version,
                requirement=f"{wish.package}=={row.version}",
                index=needs_index,
                rank=rank,
                unlisted=unlisted,
                gives_up=f"{wish.package} {out[0][0]}: {out[0][1]}" if rank else "",
                rows=(row,),
            )
        out.append((row.version, lacks or unlisted))
    return f"{wish.package} {out[0][0]} {out[0][1]}" if out else f"no {wish} is listed in this matrix"


def _lacks(
    m: Store, row: Extension, build: TorchBuild, gpus: tuple[str, ...], python: str, platform: str
) -> tuple[str, str]:
    """(why a release does not fit this build, '' if it does; the index that has it for the build's CUDA)."""
    system = "windows" if platform == "windows" else platform.removeprefix("linux_")
    if system not in row.platforms and not (row.platforms == "linux" and platform.startswith("linux")):
        return f"has no wheel for {platform}", ""
    if python and not supports_python(row, python):
        span = f"is for Python {row.pythons[0]} to {row.pythons[-1]}" if row.pythons else ""
        return span or f"requires Python {row.requires_python}", ""
    if row.torch and not allowed(row.torch, build.torch):
        return f"requires torch {row.torch}", ""
    cuda = tag_cuda(build.tag) or ""
    index = ""
    if row.package in ("vllm", "sglang"):
        published = cuda_by_floor(row.min_driver)
        if published != cuda.partition(".")[0]:
            other = next(
                (
                    i
                    for i in m.extension_indexes
                    if (i.package, i.version, i.tag) == (row.package, row.version, build.tag)
                ),
                None,
            )
            if other is None:
                return f"is published for CUDA {published}", ""
            index = other.url
        elif not build.pypi_default:
            return f"is built with torch {build.torch} from the default index", ""
    elif row.package == "xformers" and (listed := _listed(row)) and build.tag not in listed and not build.pypi_default:
        return f"has no build for {build.tag}", ""
    if row.package == "bitsandbytes" and not _within(cuda, row.cuda):
        return f"has no library for CUDA {cuda}", ""
    floor = re.match(r"\d+\.\d", row.min_sm)
    low = [gpu for gpu in gpus if floor and numbers(gpu) < numbers(floor[0])]
    if low:
        return f"requires compute capability {floor[0] if floor else ''}; this GPU has {low[0]}", ""
    if not python and not shared_pythons(m, build.torch, platform, (row,)):
        return f"has no wheel for a Python that torch {build.torch} supports", ""
    return "", index


def _unlisted(row: Extension, build: TorchBuild) -> str:
    """What is unknown about a release's build for this CUDA; '' if it is listed or known to be absent."""
    if row.package != "xformers" or build.pypi_default or _listed(row):
        return ""
    return f"is not known to have a build for {build.tag}"


def _listed(row: Extension) -> list[str]:
    """The tags of PyTorch's indexes that have a release; empty if its row says only 'that of the torch build'."""
    return re.findall(r"cu\d+", row.cuda)


def _within(cuda: str, text: str) -> bool:
    """Whether CUDA is within 'a to b' in a text; True if it names no range."""
    found = re.search(r"(\d+\.\d+) to (\d+\.\d+)", text)
    return found is None or numbers(found[1]) <= numbers(cuda) <= numbers(found[2])


def _wheel(m: Store, wish: Wish, build: TorchBuild, gpus: tuple[str, ...], python: str, platform: str) -> Chosen | str:
    rows = [row for row in m.extension_wheels if row.package == wish.package and allowed(wish.specifier, row.version)]
    if not rows:
        return f"no wheels for {wish} are known"
    floor = rows[-1].min_capability
    low = [gpu for gpu in gpus if floor and numbers(gpu) < numbers(floor)]
    if low:
        return f"{wish.package} requires compute capability {floor}; this GPU has {low[0]}"
    release = numbers(build.torch)[:2]
    # torch 2.7 wheels have the new C++ ABI; so did those of 2.6 for CUDA 12.6 and for aarch64 (release notes).
    new_abi = release >= (2, 7) or (release == (2, 6) and (build.tag == "cu126" or platform == "linux_aarch64"))
    cuda = tag_cuda(build.tag) or ""
    for version in dict.fromkeys(row.version for row in reversed(rows)):
        found = extension_wheel(
            m,
            wish.package,
            torch=build.torch,
            cuda=cuda,
            python=python or "3.12",
            abi=new_abi,
            platform=platform,
            version=version,
        )
        if found.url:
            return Chosen(
                package=wish.package,
                version=version,
                requirement=f"{wish.package} @ {found.url}",
                url=found.url,
                rows=found.rows,
            )
    return f"{wish.package}: {found.reason}"
