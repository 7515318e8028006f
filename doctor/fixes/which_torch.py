"""Which torch to install: the one policy that every command asks.

Where no torch is installed: what `gpudoctor resolve` recommends. Where one is: its minor release if a build of it fits
(the installed patch and CUDA first), else what `resolve` recommends. Either is said, and the newest that fits is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from compat_matrix.versions import numbers, tag_cuda, torch_version

from ..snapshot import Snapshot, known
from .machine import capabilities, driver_version, glibc, python_version, torch_cuda

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.builds import RankedBuild

COMPANIONS = ("torchvision", "torchaudio")
_ALL = 1000
"""More builds than fit any machine."""


class Which(Struct, frozen=True, kw_only=True):
    """A torch to install in words. cuda: '12.9'; installed: the minor release to keep ('2.9'), '' for none."""

    torch: str
    cuda: str
    newest: str
    newest_cuda: str
    installed: str = ""

    @property
    def keeps(self) -> bool:
        """Whether it is of the minor release that is installed."""
        return bool(self.installed) and minor_of(self.torch) == self.installed

    @property
    def sentence(self) -> str:
        """Whether it keeps the installed release, and the newest that fits."""
        newest = f"the newest that fits is torch {self.newest} for CUDA {self.newest_cuda}"
        if self.keeps:
            why = f"This keeps torch {self.installed}, which is installed"
            newest = "it is the newest that fits" if self.torch == self.newest else newest
            return f"{why}; {newest}."
        why = f"No build of torch {self.installed} fits here; " if self.installed else ""
        if self.torch == self.newest:
            return f"{why}torch {self.torch} is the newest that fits."
        return f"{why}gpudoctor resolve recommends torch {self.torch} for CUDA {self.cuda}, and {newest}."


class Choice(Struct, frozen=True, kw_only=True):
    """The build to install; recommended: what `resolve` recommends on this machine; which: both in words."""

    build: RankedBuild
    recommended: RankedBuild
    which: Which


def which_torch(
    s: Snapshot,
    m: Matrix,
    *,
    gpus: Sequence[str] | None = None,
    any_python: bool = False,
    any_driver: bool = False,
    keep: str | None = None,
) -> Choice | None:
    """The torch for this machine; None where no build fits it.

    gpus: compute capabilities in the place of the machine's. keep: another version to stay with than the installed one;
    '' to take what `resolve` recommends at once.
    """
    wanted = list(capabilities(s, m)) if gpus is None else list(gpus)
    if not wanted or not has_wheels(s):
        return None
    driver = None if any_driver else driver_version(s, m)
    system = "wsl" if known(s.host.wsl) in (1, 2) else known(s.host.system) or "linux"

    def ask(release: str | None, limit: int = _ALL) -> tuple[RankedBuild, ...]:
        return m.best_builds(
            wanted,
            driver,
            system,
            known(s.host.architecture) or "x86_64",
            None if any_python else python_version(s),
            release,
            packages=COMPANIONS,
            limit=limit,
            any_gpu=gpus is not None,
            glibc=glibc(s),
        ).builds

    found = ask(None)
    if not found:
        return None
    base, minor = kept_release(known(s.torch.version) or "" if keep is None else keep)
    own = next((of_it for release in (base, minor) if release and (of_it := ask(release))), ())
    tag = "cu" + torch_cuda(s, m).replace(".", "")
    build = next((one for one in own if one.tag == tag), next(iter(own), found[0]))
    newest = max(found, key=lambda one: numbers(one.torch))
    which = Which(
        torch=build.torch,
        cuda=tag_cuda(build.tag) or "",
        newest=newest.torch,
        newest_cuda=tag_cuda(newest.tag) or "",
        installed=minor,
    )
    return Choice(build=build, recommended=found[0], which=which)


def has_wheels(s: Snapshot) -> bool:
    """Whether PyTorch publishes CUDA wheels for this system at all: not for macOS or musl."""
    return known(s.host.system) != "darwin" and not (known(s.host.libc) or "").startswith("musl")


def kept_release(version: str) -> tuple[str, str]:
    """('2.9.1', '2.9') of a release that is to be kept; ('', '') of a nightly, a vendor's build and of none."""
    parts = torch_version(version)
    return (parts.base, minor_of(parts.base)) if parts and parts.kind == "release" else ("", "")


def minor_of(torch: str) -> str:
    """'2.9' of '2.9.1'."""
    return ".".join(map(str, numbers(torch)[:2]))
