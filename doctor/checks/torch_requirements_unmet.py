"""A package that `torch` requires is not installed, or its version is one that `torch`'s own metadata excludes.

What is wrong: `torch`'s METADATA names packages with version bounds (sympy, networkx, typing-extensions, jinja2,
fsspec, filelock ...), and the installed packages do not satisfy them.

Symptoms: `import torch` or the first `torch.compile` raises ModuleNotFoundError, ImportError or AttributeError in
a different package; `pip check` reports it.

Why it happens: a package was installed later with `--no-deps`, or a package pins an older sympy or typing-extensions.

How to fix it: install what `torch` requires; see the command in the finding. The nvidia-* wheels have a separate check,
nvidia-wheels-off-torch-pins; so do triton and the companion packages.

Source: Requires-Dist in torch's own METADATA.
"""

from __future__ import annotations

import re

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Step
from ..findings.patterns import lazy
from ..fixes.install import Install, ways
from ..fixes.packages import site_packages, with_distributions
from ..fixes.pins import Pin, applies, requires
from ..fixes.where import recheck_run
from ..snapshot import Distribution, Missing, Snapshot, need
from ._torch import BROKEN_IMPORT, REPLACED, installed

CHECK = Check(
    __name__,
    title="torch's requirements are not met",
    sound="torch's requirements are met",
    severity="warning",
    layer="python",
    tags=("torch", "python"),
    downstream_of=(*REPLACED, *BROKEN_IMPORT),
    needs_gpu=False,
)

_REQUIREMENT = lazy(r"([A-Za-z0-9][\w.-]{0,80}) ?\(?([^;()\[\]]{0,100})\)? ?(?:;(.{0,400}))?")
_BOUND = lazy(r"(>=|<=|==|!=|<|>)\s*(\d+(?:\.\d+){0,5})$")
_ELSEWHERE = lazy(r"(nvidia-|cuda-|triton|pytorch-triton|torch)")


class _Unmet(Pin, frozen=True):
    """A requirement (its `version` holds the bounds as written)."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about packages that torch requires and that are missing or have an excluded version."""
    installed(s)
    lines = need("torch.requires", requires(s))
    need("python.distributions", s.python.distributions)
    unmet: list[tuple[_Unmet, str]] = []
    for line in lines:
        wanted = _requirement(line)
        if wanted is None:
            continue
        found = s.python.distribution(wanted.name)
        have = "" if found is None or isinstance(found, Missing) else found.version
        if (not have or not _within(have, wanted.version)) and applies(wanted, s):
            unmet.append((wanted, have))
    if not unmet:
        return
    words = ", ".join(f"{w.name}{w.version} ({have or 'not installed'})" for w, have in unmet)
    title = f"torch requires {unmet[0][0].name}{unmet[0][0].version}, but " + (
        f"{unmet[0][1]} is installed" if unmet[0][1] else "it is not installed"
    )
    facts = {w.name: {"required": w.version, "installed": have or None} for w, have in unmet}
    fix = _install(s, [w for w, _ in unmet])
    yield CHECK.warn(title, f"torch's metadata says: {words}.", facts=facts, fixes=(fix,) if fix else ())


def _requirement(line: str) -> _Unmet | None:
    """One Requires-Dist line that is judged here; None for extras, other checks' packages and odd forms."""
    found = _REQUIREMENT.fullmatch(" ".join(line.split()))  # at most one blank: no backtracking
    if not found or "extra" in (found[3] or ""):
        return None
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    bounds = found[2].replace(" ", "")
    if _ELSEWHERE.match(name) or any(not _BOUND.match(bound) for bound in bounds.split(",") if bound):
        return None
    return _Unmet(name, bounds, (found[3] or "").strip())


def _within(have: str, bounds: str) -> bool:
    """Whether a version satisfies simple bounds; pre-releases are compared by their numbers."""
    mine = numbers(have)
    for bound in filter(None, bounds.split(",")):
        found = _BOUND.match(bound)
        if not found or not mine:
            continue
        other = numbers(found[2])
        width = max(len(mine), len(other))
        a, b = mine + (0,) * (width - len(mine)), other + (0,) * (width - len(other))
        good = {">=": a >= b, "<=": a <= b, "==": a == b, "!=": a != b, "<": a < b, ">": a > b}[found[1]]
        if not good:
            return False
    return True


def _install(s: Snapshot, unmet: list[_Unmet]) -> Fix | None:
    if isinstance(s.python.distributions, Missing):
        return None
    site = site_packages(s)
    put = [Distribution(name=w.name, version=_lowest(w.version), location=site) for w in unmet]
    step = Step(
        text="Install what torch's metadata requires.",
        **ways(s, Install(packages=tuple(f"{w.name}{w.version}" for w in unmet))),
        where="environment",
        changes={**recheck_run(s), "python.distributions": with_distributions(s, put)},
    )
    return Fix(id="install-torch-requirements", title="Install the packages that torch requires", steps=(step,))


def _lowest(bounds: str) -> str:
    """A version within simple bounds, to judge by after the install."""
    named = [found for bound in bounds.split(",") if bound and (found := _BOUND.match(bound))]
    low = next((f[2] for f in named if f[1] in (">=", "==")), "")
    return low or next((f"{f[2]}.1" for f in named if f[1] == ">"), "0")
