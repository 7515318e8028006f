"""Companions of torch: the version that matches it, or none."""

from __future__ import annotations

from typing import Any

from compat_matrix.versions import torch_version

from ..findings import Fix, Matrix, Step
from ..snapshot import Distribution, Snapshot, known
from .extensions import without_libraries
from .install import Install, step
from .machine import names_no_system, wheel_platform
from .packages import installed, site_packages, uninstall_command, with_distributions
from .pins import pin_of, requires
from .where import recheck_run

COMPILED = ("torchvision", "torchaudio", "torchtext", "torchcodec")
"""Those that are built against one torch."""
LAST_NUMPY_1 = "1.26.4"


def install_companion(s: Snapshot, m: Matrix, version: str, d: Distribution) -> Fix | None:
    """The version that matches this torch, from the index of the same build; if there is none, remove it.

    If it is not installed yet, its dependencies are installed too.
    """
    parts = torch_version(version)
    if parts is None:
        return None
    pins = {pin.name: pin for pin in filter(None, map(pin_of, known(requires(s)) or ()))}
    pinned = next((e for e in m.companions(parts.base) if e.package == d.name), None)
    target = pins["triton"].version if d.name == "triton" and "triton" in pins else pinned.version if pinned else ""
    if not target:
        return remove_companion(s, d.name, f"No {d.name} was published for torch {parts.base}.")
    url = ""
    row = m.torch_build(parts.base, parts.tag or "cpu", wheel_platform(s))
    index = m.index_url(parts.tag or parts.local) if parts.local and d.name in COMPILED else None
    plain = row is not None and row.pypi_default and not names_no_system(s)
    if index and not plain and (pinned is None or pinned.relation in ("==", ">=")):
        url = index.url
    new = not installed(s, (d.name,))
    request = Install(packages=(f"{d.name}=={target}",), index=url, again=() if new else (d.name,), deps=new)
    put = (Distribution(name=d.name, version=target, location=site_packages(s)),)
    word = f" ({'the CPU build' if parts.local == 'cpu' else parts.tag})" if index and parts.local else ""
    put_it = step(
        s,
        request,
        f"Install the {d.name} version that matches torch {parts.base}.",
        changes=_without_libraries(s, d.name, with_distributions(s, put)),
    )
    return Fix(id="install-companion", title=f"Install {d.name} {target}{word}", steps=(put_it,))


_WHY = "Code that uses it fails until a matching version is installed."


def remove_companion(s: Snapshot, name: str, why: str = _WHY) -> Fix:
    """Uninstall a companion."""
    changes = _without_libraries(s, name, with_distributions(s, (), (name,)))
    gone = Step(text=why, command=uninstall_command(s, (name,)), where="environment", destructive=True, changes=changes)
    return Fix(id="remove-companion", title=f"Remove {name}", steps=(gone,))


def _without_libraries(s: Snapshot, name: str, distributions: Any) -> dict[str, Any]:
    return {"python.distributions": distributions, **without_libraries(s, (name,))}


def older_numpy(s: Snapshot) -> Fix:
    """The last NumPy 1."""
    put = (Distribution(name="numpy", version=LAST_NUMPY_1, location=site_packages(s)),)
    changes = {**recheck_run(s), "python.distributions": with_distributions(s, put)}
    put_it = step(s, Install(packages=("numpy<2",)), "Install the last NumPy 1.x release.", changes=changes)
    return Fix(
        id="install-numpy-1",
        title="Install NumPy 1.26",
        steps=(put_it,),
        note="Alternatively, install a newer torch: from 2.3 on, it is built for NumPy 2.",
    )
