"""What to install for a torch build, and every fact that changes with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compat_matrix.versions import numbers, tag_cuda

from ..findings import Matrix
from ..snapshot import ABSENT, Distribution, Snapshot, known
from .extensions import without_libraries
from .install import Install, name_of
from .machine import names_no_system
from .packages import installed, site_packages, with_distributions
from .where import RECHECK, recheck_run

if TYPE_CHECKING:
    from compat_matrix.builds import RankedBuild
    from compat_matrix.rows_torch import TorchBuild, TorchRelease

AS_PUBLISHED = "the published build"
"""Witness of the GPU code of a torch that is not installed: no library was read."""


def request_for(s: Snapshot, m: Matrix, build: RankedBuild, names: Sequence[str], old: Sequence[str]) -> Install:
    """What to install for a build and these companions. `old`: what is there now, or may be.

    A companion without a pin on torch comes from the default index: which of torch's carries it is not known.
    """
    lines, index = build.requirements, build.index_url
    same = any(_same(s, line) for line in lines if name_of(line) in old)
    if build.tagged and not index and (same or names_no_system(s)):
        lines, index = build.tagged, build.tagged_index_url
    packages, beside = [lines[0]], False
    listed = {name_of(line): line for line in lines}
    for name in names[1:]:
        if name in build.companions:
            exact = "==" in listed.get(name, "")
            packages.append(listed[name] if exact else f"{name}=={build.companions[name]}")
        elif companion := next((e for e in m.companions(build.torch) if e.package == name), None):
            packages.append(f"{name}=={companion.version}")
            beside = True
    seen = {"torch", *(d.name for d in installed(s, old))}  # a companion that is only guessed is not reinstalled
    named = [(name_of(package), package) for package in packages]
    again = tuple(name for name, package in named if name in old and name in seen and _same(s, package))
    return Install(
        packages=tuple(packages), again=again, index="" if beside else index, extra_index=index if beside else ""
    )


def _same(s: Snapshot, package: str) -> bool:
    """Whether pip and uv may take what is there for the version that is asked for: another build of it, or unknown."""
    name, _, wanted = package.partition("==")
    if "+" in wanted:
        return False
    have = [d.version for d in installed(s, (name,))] or [known(s.torch.version) or "" if name == "torch" else ""]
    return any(version.partition("+")[0] in ("", wanted) for version in have)


def after_install(s: Snapshot, m: Matrix, build: RankedBuild, request: Install) -> dict[str, Any]:
    """Every fact that changes when this build and its companions have been installed."""
    row = m.torch_build(build.torch, build.tag, build.platform)
    release = m.torch_release(build.torch).release
    sass = row.sass if row else tuple(dict.fromkeys(build.served_by.values()))
    ptx = RECHECK if row is None or row.ptx_unknown else row.ptx
    cudnn = cudnn_of(release, build) if release else ""
    site = site_packages(s)
    put = [
        Distribution(name=name_of(line), version=line.partition("==")[2], location=site, requires=RECHECK)
        for line in request.packages
    ]
    text = tuple("sm_" + cc.replace(".", "") for cc in sass)
    short = ".".join(cudnn.split(".")[:3])
    torch: dict[str, Any] = dict.fromkeys(_RECHECKED, RECHECK)
    torch.update(
        version=f"{build.torch}+{build.tag}",
        location=f"{site}/torch",
        build="cuda",
        cuda=tag_cuda(build.tag),
        hip=ABSENT,
        debug=False,
        installer="pip",
        sass=sass,
        ptx=ptx,
        arch_text=text,
        missing_libraries=(),
        cudnn_bundled=short or RECHECK,
    )
    return {
        **without_libraries(s, (*map(name_of, request.packages), "nvidia-nccl", "nvidia-cudnn")),
        **{f"torch.{name}": value for name, value in torch.items()},
        **recheck_run(s),
        "python.patient.torch_version": f"{build.torch}+{build.tag}",
        "python.distributions": with_distributions(s, [*_brought(s, m, build), *put], replaced_wheels(s, build.tag)),
    }


def cudnn_of(release: TorchRelease, build: TorchBuild | RankedBuild) -> str:
    """The version of the wheel that a build brings; '' if unknown. What PyPI's wheel pins comes first: PyTorch's list
    of builds has another one for 2.11.0."""
    return (release.cudnn if build.pypi_default else "") or release.cudnn_per_build.get(build.tag, "")


def pinned_by_torch(m: Matrix, torch: str) -> dict[str, str]:
    """Package to version of what a torch release requires in one version and brings: its Triton."""
    return {e.package: e.version for e in m.companions(torch, "triton") if e.relation in ("==", "~=")}


def _brought(s: Snapshot, m: Matrix, build: RankedBuild) -> list[Distribution]:
    """What pip installs with this build besides what was requested, if its version is known. Only the wheels for Linux
    x86_64 are known to require Triton."""
    if build.platform != "linux_x86_64":
        return []
    site = site_packages(s)
    pins = pinned_by_torch(m, build.torch)
    return [Distribution(name=name, version=version, location=site) for name, version in pins.items()]


_RECHECKED = (
    "git_version", "cxx11_abi", "requires_python", "requires", "libraries", "linked_libraries", "cudnn_path",
    "nccl_bundled", "nccl_path", "preloads", "callers",
)  # fmt: skip


def replaced_wheels(s: Snapshot, tag: str) -> list[str]:
    """Wheels that torch brings and that this build brings in other versions: nvidia-*, triton, cuda-*. Those of another
    CUDA major version stay where they are."""
    major = next(iter(numbers(tag_cuda(tag))), 0)
    found = (
        re.match(r"(?:nvidia-.*?(?:-cu(\d+))?|cuda-.*|pytorch-triton.*|triton)$", d.name) and d.name
        for d in known(s.python.distributions) or ()
    )
    return [name for name in found if name and (not (old := re.search(r"-cu(\d+)$", name)) or int(old[1]) == major)]
