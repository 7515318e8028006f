"""How to install an extension of torch: its project's wheel for this torch, else compiled, else why it cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat_matrix.versions import numbers, torch_version

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .extensions import SOURCE_ONLY, renewed
from .install import Install, step, ways
from .machine import capabilities, python_version, wheel_platform
from .torch_bound import Torch, torch_here

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.extension_wheels import WheelChoice

TOOLS = Install(packages=("setuptools", "wheel", "packaging", "ninja", "psutil"))
"""What the build of such packages imports; without build isolation, nothing else installs it."""


def wheel_for(s: Snapshot, m: Matrix, name: str, torch: Torch | None = None, version: str = "") -> WheelChoice:
    """The wheel of this extension for the torch that is here (or will be)."""
    have = torch or torch_here(s)
    return m.extension_wheel(
        name,
        torch=have.version,
        cuda=have.cuda,
        python=None if known(s.python.patient.free_threaded) else python_version(s),
        abi=have.cxx11_abi,
        platform=wheel_platform(s),
        version=version,
    )


def wheel_request(name: str, url: str, again: bool = False) -> Install:
    """The wheel by its address."""
    return Install(packages=(f"{name} @ {url}",), again=(name,) if again else (), deps=not again)


def why_not(s: Snapshot, m: Matrix, name: str) -> str:
    """Why an extension cannot be installed here as things are; '' if it can."""
    if not _of_torch(m, name):
        return ""
    parts = torch_version(known(s.torch.version) or "")
    if known(s.torch.version) is None or not known(s.torch.cuda):
        return f"It is built for a CUDA build of torch, and none is installed here: install torch first, then {name}."
    if parts is None or parts.kind != "release":
        return "" if name in SOURCE_ONLY else f"Its releases are built for torch releases, not for {s.torch.version}."
    needs = max((row.min_capability for row in m.extension_wheels if row.package == name), default="", key=numbers)
    low = [cap for cap in capabilities(s, m) if numbers(cap) < numbers(needs)]
    return (
        f"{name} needs compute capability {needs}; a GPU here has {low[0]}, so no build of it will run." if low else ""
    )


def _of_torch(m: Matrix, name: str) -> bool:
    rows = (row for row in m.extensions if row.package == name)
    return name in SOURCE_ONLY or any(row.torch.startswith(("==", ">=")) for row in rows)


def install_extension(s: Snapshot, m: Matrix, name: str) -> Fix | None:
    """A fix that installs this extension; None if it is unknown or if `why_not` gives a reason."""
    if not _of_torch(m, name) or why_not(s, m, name):
        return None
    title, changes = f"Install {name}", renewed(s, (name,))
    if name not in SOURCE_ONLY:
        return Fix(id="install-package", title=title, steps=(_from_index(s, m, name),))
    choice = wheel_for(s, m, name)
    parts = torch_version(known(s.torch.version) or "")
    base = parts.base if parts else known(s.torch.version)
    if choice.url:
        text = f"Install the project's own wheel for torch {base}, CUDA {known(s.torch.cuda)} and this Python; "
        text += "nothing is compiled."
        one = step(s, wheel_request(name, choice.url), text, changes=changes)
        return Fix(id="install-package", title=f"{title} {choice.version}", steps=(one,))
    text = (
        f"No wheel fits: {choice.reason}. It has to be compiled here against the installed torch, which needs a "
        f"CUDA {known(s.torch.cuda)} toolkit (nvcc), a C++ compiler and time (gpudoctor check --building checks them)."
    )
    build = Step(
        text=text, where="environment", changes=changes, **ways(s, TOOLS, Install(packages=(name,), isolated=False))
    )
    return Fix(id="build-extension", title=f"Build {name} for this torch", steps=(build,))


def _from_index(s: Snapshot, m: Matrix, name: str) -> Step:
    """From PyPI, torch kept as it is: the release that pins it, where the matrix lists one."""
    parts = torch_version(known(s.torch.version) or "")
    base = parts.base if parts else ""
    rows = [row for row in m.extensions if row.package == name and row.torch == f"=={base}"]
    spec = f"{name}=={rows[-1].version}" if rows else name
    keep = (f"torch=={base}",) if base else ()
    changes = renewed(s, (name,))
    return step(s, Install(packages=(spec, *keep)), f"Install {spec}; torch stays as it is.", changes=changes)


def compatible_wheel(s: Snapshot, m: Matrix, name: str) -> Fix | None:
    """An installed extension replaced by its project's wheel for the torch that is here; None where none fits."""
    choice = wheel_for(s, m, name)
    if not choice.url or why_not(s, m, name):
        return None
    text = "Install the project's own wheel for this torch, CUDA and Python; nothing is compiled."
    put = step(s, wheel_request(name, choice.url, again=True), text, changes=renewed(s, (name,), choice.version))
    title = f"Install {name} {choice.version}, whose wheel is built for this torch"
    return Fix(id="install-fitting-wheel", title=title, steps=(put,))
