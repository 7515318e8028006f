"""A package that you require (`--require NAME`) is not installed.

What is wrong: the environment that was examined has no distribution with that name. Names are read from the dist-info
folders; nothing is imported.

Symptoms: `ModuleNotFoundError` when the program starts.

Why it happens: it was never installed, or it went into a different environment. The name of a distribution is not
always the name that you import (`flash-attn` is imported as `flash_attn`, `opencv-python` as `cv2`).

How to fix it: install it into this environment; see the command in the finding.

Source: PyPA specification of recording installed projects.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.companions import install_companion
from ..fixes.cpu_torch import cpu_torch
from ..fixes.extension_install import install_extension, why_not
from ..fixes.found import marked
from ..fixes.install import Install, ways
from ..fixes.packages import needs_new_environment, new_environment, site_packages, with_distributions
from ..fixes.torch import install_torch
from ..fixes.which_torch import COMPANIONS
from ..snapshot import Distribution, Missing, Snapshot, known, need
from ._torch import gpu_needed

CHECK = Check(
    __name__,
    title="A required package is not installed",
    sound="The required packages are installed",
    severity="error",
    layer="python",
    tags=("python",),
    needs_gpu=False,
    source="packaging.python.org/specifications/recording-installed-packages",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each required package that is not installed, except torch (torch-not-installed judges that)."""
    wanted = [name for name in p.require if name != "torch"]
    if not wanted:
        raise Skip("no package other than torch is required")
    have = {d.name for d in need("python.distributions", s.python.distributions)}
    for name in wanted:
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain not in have:
            where = known(s.python.patient.prefix) or "this environment"
            yield CHECK.fail(
                f"{plain} is required but not installed",
                " ".join(filter(None, (f"There is no package with that name in {where}.", _why_not(s, m, plain)))),
                facts={"package": plain},
                subject=plain,
                fixes=_named(p, name, _fixes(s, m, p, plain)),
            )


def _named(p: Policy, name: str, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """The fixes, which say so if only a found file that is not trusted names the package."""
    found = p.found if p.found and name in p.found.require else None
    return tuple(marked(fix, found.path) for fix in fixes) if found else fixes


def _why_not(s: Snapshot, m: Matrix, name: str) -> str:
    """Why an extension cannot be installed as things are; '' for a companion, which comes with its torch."""
    return "" if name in COMPANIONS else why_not(s, m, name)


def _fixes(s: Snapshot, m: Matrix, p: Policy, name: str) -> tuple[Fix, ...]:
    """None for an extension that cannot be installed as things are: the finding says why."""
    if _why_not(s, m, name):
        return ()
    companion = _companion(s, m, p, name) if name in COMPANIONS else None
    if companion:
        return (companion,)
    of_torch = None if needs_new_environment(s) else install_extension(s, m, name)
    return (of_torch or _install(s, name),)


def _companion(s: Snapshot, m: Matrix, p: Policy, name: str) -> Fix | None:
    """The companion of the installed torch, else with a torch of the kind that this machine needs."""
    version = s.torch.version
    if not isinstance(version, Missing) and not needs_new_environment(s):
        fix = install_companion(s, m, version, Distribution(name=name, version="", location=""))
        return fix if fix and fix.id == "install-companion" else None
    if not isinstance(version, Missing) or version.reason != "absent":
        return None
    return install_torch(s, m, also=(name,)) if gpu_needed(s, p) else cpu_torch(s, m, (name,))


def _install(s: Snapshot, name: str) -> Fix:
    steps: list[Step] = []
    if needs_new_environment(s):
        step, s = new_environment(s)
        steps.append(step)
    put = (Distribution(name=name, version="0", location=site_packages(s)),)
    steps.append(
        Step(
            text=f"Install {name}.",
            where="environment",
            **ways(s, Install(packages=(name,))),
            changes={"python.distributions": with_distributions(s, put)},
        )
    )
    return Fix(id="install-package", title=f"Install {name}", steps=tuple(steps))
