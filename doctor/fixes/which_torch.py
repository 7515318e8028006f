"""Which torch to install on the machine that was examined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from compat_matrix.builds import ranked_build
from compat_matrix.resolver import Question, ranked
from compat_matrix.versions import tag_cuda
from compat_matrix.which_torch import Which, kept_release
from compat_matrix.which_torch import which_torch as by_question

from ..snapshot import Snapshot, known
from .machine import SeenGpu, driver_version, glibc, kinds, not_listed, python_version, torch_cuda, visible_gpus

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.builds import RankedBuild
    from compat_matrix.candidate import Candidate

COMPANIONS = ("torchvision", "torchaudio")


class Choice(Struct, frozen=True, kw_only=True):
    """The build to install; recommended: the version that `resolve` ranks first; which: both in words."""

    build: RankedBuild
    recommended: str
    which: Which


def which_torch(
    s: Snapshot,
    m: Matrix,
    *,
    gpus: Sequence[str] | None = None,
    any_python: bool = False,
    any_driver: bool = False,
    keep: str | None = None,
    within: Callable[[Candidate], bool] | None = None,
) -> Choice | None:
    """The torch of the policy (`compat_matrix.which_torch`) for this machine; None where no build fits it.

    gpus: compute capabilities in the place of those of `gpus_to_serve`. keep: another version to stay with than the
    installed one; '' to take what `resolve` recommends at once. within: which builds somebody allows; of these the
    installed version, its minor release, or what `resolve` ranks first.
    """
    q = _question(s, m, any_python, any_driver)
    wanted = tuple(kinds(_served(s, m, q)) if gpus is None else gpus)
    if not wanted or not has_wheels(s):
        return None
    q = replace(q, gpus=wanted, any_gpu=gpus is not None)
    version, tag = installed_torch(s, m)
    if within is not None:
        return _of_allowed(m, q, within, version if keep is None else keep)
    found = by_question(m, q, version if keep is None else keep, tag)
    if found is None:
        return None
    build = ranked_build(m, found.build, q.python or None, COMPANIONS)
    return Choice(build=build, recommended=found.recommended.build.torch, which=found.which)


def _of_allowed(m: Matrix, q: Question, within: Callable[[Candidate], bool], version: str) -> Choice | None:
    found = [one for one in ranked(m, q)[0] if within(one)]
    if not found:
        return None
    kept = kept_release(version)
    same = (one for release in filter(None, kept) for one in found if f"{one.build.torch}.".startswith(f"{release}."))
    best = next(same, found[0])
    which = Which(torch=best.build.torch, cuda=tag_cuda(best.build.tag) or "", newest="", newest_cuda="")
    build = ranked_build(m, best, q.python or None, COMPANIONS)
    return Choice(build=build, recommended=found[0].build.torch, which=which)


def gpus_to_serve(s: Snapshot, m: Matrix) -> list[SeenGpu]:
    """The GPUs to install torch for: those that programs get, and with them the cards on the bus that the driver does
    not list (it is repaired later), where one build serves all."""
    return _served(s, m, _question(s, m))


def _served(s: Snapshot, m: Matrix, q: Question) -> list[SeenGpu]:
    seen = visible_gpus(s, m)
    every = [*seen, *not_listed(s, m)]
    if len(every) > len(seen) and by_question(m, replace(q, gpus=tuple(kinds(every))), "", ""):
        return every
    return seen


def _question(s: Snapshot, m: Matrix, any_python: bool = False, any_driver: bool = False) -> Question:
    """What a build has to fit here, but for the GPUs."""
    return Question(
        gpus=(),
        driver="" if any_driver else driver_version(s, m) or "",
        os="wsl" if known(s.host.wsl) in (1, 2) else known(s.host.system) or "linux",
        arch="aarch64" if known(s.host.architecture) in ("aarch64", "arm64") else "x86_64",
        python="" if any_python else python_version(s) or "",
        glibc=glibc(s),
    )


def installed_torch(s: Snapshot, m: Matrix) -> tuple[str, str]:
    """Version and CUDA tag of the torch that is installed; '' for what it lacks or what is unknown."""
    cuda = torch_cuda(s, m)
    return known(s.torch.version) or "", f"cu{cuda.replace('.', '')}" if cuda else ""


def has_wheels(s: Snapshot) -> bool:
    """Whether PyTorch publishes CUDA wheels for this system at all: not for macOS or musl."""
    return known(s.host.system) != "darwin" and not (known(s.host.libc) or "").startswith("musl")
