"""A package that you require (`--require NAME`) is not installed.

What is wrong: the environment that was diagnosed has no distribution of that name. Names are read from the dist-info
folders; nothing is imported.

How it shows: `ModuleNotFoundError` when the program starts.

Why it happens: it was never installed, or it went into another environment. The name of a distribution is not always
the name that is imported (`flash-attn` is imported as `flash_attn`, `opencv-python` as `cv2`).

How to fix it: install it into this environment; see the command in the finding.

Source: PyPA specification of recording installed projects.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.extension_install import install_extension, why_not
from ..fixes.install import Install, ways
from ..fixes.packages import needs_new_environment, new_environment, site_packages, with_distributions
from ..snapshot import Distribution, Snapshot, known, need

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
    """Fails for each required package, but torch (torch-not-installed judges that), that is not installed."""
    wanted = [name for name in p.require if name != "torch"]
    if not wanted:
        raise Skip("no package but torch is required")
    have = {d.name for d in need("python.distributions", s.python.distributions)}
    for name in wanted:
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain not in have:
            where = known(s.python.patient.prefix) or "this environment"
            yield CHECK.fail(
                f"{plain} is required and not installed",
                " ".join(filter(None, (f"There is no package of that name in {where}.", why_not(s, m, plain)))),
                facts={"package": plain},
                subject=plain,
                fixes=_fixes(s, m, plain),
            )


def _fixes(s: Snapshot, m: Matrix, name: str) -> tuple[Fix, ...]:
    """None for an extension that cannot be had as things are: the finding says why."""
    if why_not(s, m, name):
        return ()
    of_torch = None if needs_new_environment(s) else install_extension(s, m, name)
    return (of_torch or _install(s, name),)


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
