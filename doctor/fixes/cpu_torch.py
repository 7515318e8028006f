"""torch for machines without a GPU: its CPU build, without the CUDA libraries that the default wheels include."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compat_matrix.resolver import glibc_floor
from compat_matrix.versions import numbers

from ..findings import Fix, Step
from ..snapshot import ABSENT, Distribution, Snapshot, known
from .install import Install, name_of, note, step
from .machine import glibc, python_version, wheel_platform
from .packages import needs_new_environment, new_environment, site_packages, with_distributions
from .where import RECHECK, recheck_run

if TYPE_CHECKING:
    from compat_matrix import Matrix

INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's index of CPU builds. On macOS the default index has no others; elsewhere its wheels may bring CUDA."""
_WHY = "The CPU build is enough if no GPU is expected, and it comes without the CUDA libraries, which take up gigabytes"


def cpu_torch(s: Snapshot, m: Matrix, also: Sequence[str] = (), allowed: Callable[[str], bool] = bool) -> Fix | None:
    """Install the newest CPU build that this system and Python have a wheel for, with these companions.

    Where this Python has none, in a new environment of one that has. None on musl, for which there are no wheels.
    allowed: which releases somebody allows.
    """
    if (known(s.host.libc) or "").startswith("musl"):
        return None
    mac = known(s.host.system) == "darwin"
    release, python = ("", "") if mac else _release(s, m, allowed)
    if not release and allowed is not bool:
        return None
    steps: list[Step] = []
    if python or needs_new_environment(s):
        made, s = new_environment(s, python)
        steps.append(made)
    packages = [f"torch=={release}" if release else "torch"]
    for name in also:
        listed = next((e for e in m.companions(release) if e.package == name), None) if release else None
        packages.append(f"{name}=={listed.version}" if listed else name)
    request = Install(packages=tuple(packages), index="" if mac else INDEX)
    word = f"the CPU build of torch{f' {release}' if release else ''}"
    steps.append(step(s, request, f"Install {word}.", changes=_after(s, request, release)))
    return Fix(id="install-cpu-torch", title=f"Install {word}", steps=tuple(steps), note=note(s, request, _WHY))


def _release(s: Snapshot, m: Matrix, allowed: Callable[[str], bool]) -> tuple[str, str]:
    """The newest release for this C library and Python, and the Python to make an environment of ('' for this one)."""
    platform, libc = wheel_platform(s), numbers(glibc(s))
    rows = [
        row
        for row in sorted(m.releases, key=lambda row: numbers(row.torch), reverse=True)
        if allowed(row.torch)
        and getattr(row, f"pythons_{platform}")
        and (not libc or platform == "windows" or libc >= numbers(glibc_floor(row.torch, "cpu", platform)))
    ]
    python = python_version(s)
    for row in rows:
        if not python or m.python_for_torch(row.torch, python, platform).grade == "ok":
            return row.torch, ""
    if not rows:
        return "", ""
    plain = [name for name in getattr(rows[0], f"pythons_{platform}") if not name.endswith("t")]
    return rows[0].torch, plain[-3] if len(plain) > 2 else plain[-1]


def _after(s: Snapshot, request: Install, release: str) -> dict[str, Any]:
    site = site_packages(s)
    put = [
        Distribution(name=name_of(line), version=line.partition("==")[2] or "0", location=site, requires=RECHECK)
        for line in request.packages
    ]
    version = f"{release}+cpu" if release else RECHECK
    torch: dict[str, Any] = dict.fromkeys(s.torch.__struct_fields__, RECHECK)
    torch.update(version=version, location=f"{site}/torch", build="cpu", cuda=ABSENT, hip=ABSENT, sass=(), ptx=())
    return {
        **{f"torch.{name}": value for name, value in torch.items()},
        **recheck_run(s),
        "python.patient.torch_version": version,
        "python.distributions": with_distributions(s, put),
    }
