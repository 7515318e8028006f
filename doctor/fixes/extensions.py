"""Repair extensions: install a different build, build it here, remove it, or update all after a new torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from compat_matrix.versions import minor, numbers, tag_cuda, torch_version

from ..findings import Fix, Matrix, Step
from ..findings.patterns import lazy
from ..snapshot import CodeLibrary, Distribution, Missing, Snapshot, known
from .install import Install, step, ways
from .packages import site_packages, uninstall_command, with_distributions
from .torch_bound import Torch, misfit
from .where import RECHECK

_CUDART = lazy(r"libcudart\.so\.(\d+)(\.0)?")
_COMPANIONS = ("torch", "torchvision", "torchaudio", "torchtext", "torchcodec", "triton")
SOURCE_ONLY = ("flash-attn", "causal-conv1d", "mamba-ssm", "deepspeed", "apex", "grouped-gemm", "detectron2")
"""Compiled on installation: a wheel, if there is one, is built for one torch and is among the project's releases."""
_FORCE_BUILD = {
    "flash-attn": "FLASH_ATTENTION_FORCE_BUILD",
    "mamba-ssm": "MAMBA_FORCE_BUILD",
    "causal-conv1d": "CAUSAL_CONV1D_FORCE_BUILD",
}
"""Their setup.py uses the project's published wheel even if pip is asked to build from source, unless this is TRUE."""


def gone(s: Snapshot, names: Sequence[str]) -> dict[str, Any]:
    """What changes when these packages are removed."""
    return _changes(s, with_distributions(s, (), names), names)


def renewed(s: Snapshot, names: Sequence[str], version: str = "") -> dict[str, Any]:
    """What changes when these packages are reinstalled: whatever was wrong with them has to be checked again."""
    site = site_packages(s)
    have = {d.name: d.version for d in known(s.python.distributions) or () if d.name in names}
    put = [
        Distribution(name=n, version=version or have.get(n, "0").partition("+")[0], location=site, requires=RECHECK)
        for n in names
    ]
    return _changes(s, with_distributions(s, put), names)


def _changes(s: Snapshot, distributions: tuple[Distribution, ...] | Missing, names: Sequence[str]) -> dict[str, Any]:
    return {"python.distributions": distributions, **without_libraries(s, names)}


def without_libraries(s: Snapshot, names: Sequence[str]) -> dict[str, Any]:
    """What changes of the libraries that were read when these packages are gone or replaced."""
    changes: dict[str, Any] = {}
    if (found := known(s.python.extensions)) is not None:
        changes["python.extensions"] = tuple(library for library in found if library.package not in names)
    if (callers := known(s.torch.callers)) is not None:
        changes["torch.callers"] = tuple(caller for caller in callers if caller.package not in names)
    return changes


def cuda_majors(s: Snapshot, package: str) -> list[int]:
    """The CUDA major versions whose runtime a package's libraries need by its plain name."""
    return [
        major
        for library in known(s.python.extensions) or ()
        if library.package == package and (major := cudart_major(library)) is not None
    ]


def cudart_major(library: CodeLibrary) -> int | None:
    """The CUDA major version of the runtime that a library needs (a renamed copy inside a wheel does not count)."""
    found = [match for name in library.needed if (match := _CUDART.fullmatch(name))]
    return int(found[0][1]) if found else None


_OF_ATTENTION = ("flash-attn", "flash-attn-3", "vllm-flash-attn", "xformers", "sageattention")
"""torch has the same operation, and model libraries use it if these are missing."""


def remove(s: Snapshot, name: str, why: str = "") -> Fix:
    """Uninstall a package. `why`: the words of its step, else what programs that use it do then."""
    if not why and name in _OF_ATTENTION:
        why = "Programs that do not find it use torch's own attention instead."
    out = Step(
        text=why or "Do this only if no program here needs it.",
        command=uninstall_command(s, (name,)),
        where="environment",
        destructive=True,
        changes=gone(s, (name,)),
    )
    return Fix(id="remove-extension", title=f"Remove {name}", steps=(out,))


def upgrade(s: Snapshot, name: str, title: str = "", spec: str = "") -> Fix:
    """Install the newest (or `spec`) version that fits the installed torch: pip is told to keep torch as it is."""
    keep = _keep_torch(s)
    request = Install(packages=(spec or name, *([keep] if keep else [])), upgrade=True)
    stays = "; torch stays as it is" if keep else ""
    put = step(s, request, f"Install a version of {name} that fits{stays}.", changes=renewed(s, (name,)))
    return Fix(id="upgrade-extension", title=title or f"Install a newer {name}", steps=(put,))


def build(s: Snapshot, d: Distribution, archs: Sequence[str] = (), title: str = "") -> Fix:
    """Compile the same version against the installed torch (for these compute capabilities)."""
    text = (
        "Compile it here against the installed torch. This needs a CUDA toolkit (nvcc) that matches torch's CUDA "
        "version, a C++ compiler and time; gpudoctor check --building checks them."
    )
    request = compiled(d.name, archs, d.version.partition("+")[0])
    made = step(s, request, text, changes=renewed(s, (d.name,)))
    return Fix(id="build-extension", title=title or f"Build {d.name} for this torch", steps=(made,))


def compiled(name: str, archs: Sequence[str] = (), version: str = "", source: bool = True) -> Install:
    """The request that compiles an extension against the torch that is here, for these compute capabilities.

    Without `source` a wheel that its project has published for this torch does as well.
    """
    variables = [("TORCH_CUDA_ARCH_LIST", ";".join(archs))] if archs else []
    if source and name in _FORCE_BUILD:
        variables.append((_FORCE_BUILD[name], "TRUE"))
    return Install(
        packages=(f"{name}=={version}" if version else name,),
        again=(name,),
        deps=False,
        isolated=False,
        cache=False,
        from_source=(name,) if source else (),
        variables=tuple(variables),
    )


def another(s: Snapshot, d: Distribution) -> tuple[Fix, ...]:
    """Ways to an extension that fits the installed torch, the surest first."""
    if d.name in SOURCE_ONLY or d.wheel:
        return build(s, d), remove(s, d.name)
    return upgrade(s, d.name, f"Install the {d.name} that matches the installed torch"), remove(s, d.name)


def linked_to_torch(s: Snapshot) -> set[str]:
    """The packages whose compiled code calls torch's libraries."""
    return {caller.package for caller in known(s.torch.callers) or ()} | {
        library.package
        for library in known(s.python.extensions) or ()
        if any(name.startswith(("libtorch", "libc10")) for name in library.needed)
    }


def refit(before: Snapshot, s: Snapshot, m: Matrix, torch: str) -> Step | None:
    """The step after torch was replaced: install again what was built against the old one; None where nothing was.

    `s` is the Snapshot after the replacement, `torch` the new version with its tag.
    """
    old, new = torch_version(known(before.torch.version) or ""), torch_version(torch)
    cuda = tag_cuda(new.tag) if new and new.tag else None
    other = not old or not new or old.release[:2] != new.release[:2]
    other = other or numbers(known(before.torch.cuda))[:1] != numbers(cuda)[:1]
    linked = linked_to_torch(s) if other else set()
    if minor(known(before.torch.cuda)) != minor(cuda):
        linked.add("bitsandbytes")  # has a library for each CUDA version
    wanted = Torch(torch, cuda or "", None)
    names = list(
        dict.fromkeys(
            d.name
            for d in known(s.python.distributions) or ()
            if d.name not in _COMPANIONS and (d.name in linked or misfit(s, m, d, wanted))
        )
    )
    if not names:
        return None
    wheels = [name for name in names if name not in SOURCE_ONLY]
    sources = [name for name in names if name in SOURCE_ONLY]
    requests = []
    if wheels:
        requests.append(Install(packages=(f"torch=={torch.partition('+')[0]}", *wheels), upgrade=True))
    if sources:
        requests.append(Install(packages=tuple(sources), again=tuple(sources), deps=False, isolated=False, cache=False))
    text = f"Reinstall the packages that were built against the old torch: {', '.join(names)}."
    return Step(text=text, where="environment", changes=renewed(s, names), **ways(s, *requests))


def _keep_torch(s: Snapshot) -> str:
    version = known(s.torch.version) or ""
    found = re.match(r"\d+(\.\d+)+", version)
    return f"torch=={found[0]}" if found else ""
