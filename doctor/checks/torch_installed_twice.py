"""`torch` is installed twice in the folders that this Python searches.

What is wrong: one site-packages folder holds two dist-info folders of `torch`, or two folders on sys.path each hold a
`torch`. Python imports the one that comes first in sys.path order, and the metadata of the other one misleads pip.

Symptoms: `pip show torch` and `torch.__version__` differ; an upgrade seems to have no effect; after an uninstall
`torch` is still there.

Why it happens: an interrupted pip run, pip and conda in one environment, a copied folder, PYTHONPATH.

How to fix it: repeat the uninstall until no `torch` is left, then install it once.

Source: PyPA specification of recording installed projects.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.libraries import reinstall_torch
from ..fixes.origin import off_first_copy
from ..snapshot import Snapshot, known, need
from ._torch import installed
from ._user_site import in_user_site

CHECK = Check(
    __name__,
    title="torch is installed twice",
    sound="torch is installed once in this environment",
    severity="warning",
    layer="python",
    tags=("torch", "python"),
    needs_gpu=False,
    source="packaging.python.org/specifications/recording-installed-packages",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about two distributions named torch, except one in the user's own site folder (another check judges it)."""
    version = installed(s)
    found = [d for d in need("python.distributions", s.python.distributions) if d.name == "torch"]
    copies = {(d.version, d.location) for d in found if not in_user_site(s, d)}
    if len(copies) < 2:
        return
    words = "; ".join(f"{v} in {folder}" for v, folder in sorted(copies))
    fix = off_first_copy(s, [d for d in found if not in_user_site(s, d)]) or reinstall_torch(s, m, "once")
    broken = known(s.torch_run.imported) is False
    say = CHECK.fail if broken else CHECK.warn
    yield say(
        f"torch is installed {len(copies)} times: {', '.join(sorted(v for v, _ in copies))}",
        f"Found: {words}. Python imports {version}.",
        facts={"versions": sorted(v for v, _ in copies), "imported": version},
        fixes=(fix,),
        **({"severity": "error"} if broken else {}),
    )
