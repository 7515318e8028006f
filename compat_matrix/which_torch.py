"""Which torch to install: the one policy that every command uses.

If no torch is installed: what `resolver.resolve` ranks first. If one is: its minor release if a build of it fits (the
installed patch and CUDA first), else what `resolve` ranks first. The report says which it is, and the newest that fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .candidate import Candidate
from .resolver import Question, ranked
from .versions import numbers, tag_cuda, torch_version
from .wish import Wish

if TYPE_CHECKING:
    from .store import Store


USUAL = ("7.5", "8.0", "8.6", "9.0")
"""What a build for a still unknown machine should run on: Turing to Hopper, like every CUDA build since 2.1."""


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """The versions of the torch to install, and of the newest that fits.

    cuda: '12.9'; installed: the minor release to keep ('2.9'), '' for none.
    """

    torch: str
    cuda: str
    newest: str
    newest_cuda: str
    installed: str = ""

    @property
    def keeps(self) -> bool:
        """Whether it belongs to the installed minor release."""
        return bool(self.installed) and minor_of(self.torch) == self.installed

    @property
    def sentence(self) -> str:
        """Whether it keeps the installed release, and the newest that fits."""
        newest = f"the newest that fits is torch {self.newest} for CUDA {self.newest_cuda}"
        if self.keeps:
            kept = f"torch {self.torch} keeps the installed release {self.installed}"
            return f"{kept}, the newest that fits." if self.torch == self.newest else f"{kept}; {newest}."
        why = f"No build of torch {self.installed} fits here" if self.installed else ""
        if self.torch == self.newest:
            return f"{why}; {newest}." if why else f"T{newest[1:]}."
        this = f"gpudoctor resolve recommends torch {self.torch} for CUDA {self.cuda}"
        return f"{why}; {this}, and {newest}." if why else f"Here {this}; {newest}."


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The build to install; recommended: what `resolve` ranks first; which: the versions of both."""

    build: Candidate
    recommended: Candidate
    which: Which


def which_torch(m: Store, q: Question, version: str = "", tag: str = "") -> Choice | None:
    """The torch for this machine, if `version` ('2.9.1+cu128', '' for none) with the CUDA `tag` is installed.

    None if no build fits.
    """
    found = ranked(m, q)[0]
    if not found:
        return None
    base, minor = kept_release(version)
    own: tuple[Candidate, ...] = ()
    for release in (base, minor) if base else ():
        own = own or ranked(m, msgspec.structs.replace(q, wishes=(*q.wishes, Wish("torch", release))))[0]
    build = next((one for one in own if one.build.tag == tag), next(iter(own), found[0]))
    newest = max(found, key=lambda one: numbers(one.build.torch)).build
    which = Which(
        torch=build.build.torch,
        cuda=tag_cuda(build.build.tag) or "",
        newest=newest.torch,
        newest_cuda=tag_cuda(newest.tag) or "",
        installed=minor,
    )
    return Choice(build=build, recommended=found[0], which=which)


def kept_release(version: str) -> tuple[str, str]:
    """('2.9.1', '2.9') for a release to keep; ('', '') for a nightly, a vendor build or none."""
    parts = torch_version(version)
    return (parts.base, minor_of(parts.base)) if parts and parts.kind == "release" else ("", "")


def minor_of(torch: str) -> str:
    """'2.9' of '2.9.1'."""
    return ".".join(map(str, numbers(torch)[:2]))
