"""No `torch` wheel for this Python works on this machine.

What is wrong: each PyTorch release supports a range of Python versions (2.15: 3.11 to 3.15). For other versions pip
finds nothing, or falls back to a build that does not work with the GPU or driver.

Symptoms: `ERROR: Could not find a version that satisfies the requirement torch (from versions: none)`, `No
matching distribution found for torch==...`.

Why it happens: this Python came out after the newest PyTorch, or it is so old that no build for this GPU supports it;
or it is a free-threaded build (3.13t).

How to fix it: create an environment with a different Python version; see the command in the finding. The system's
Python stays unchanged.

Checked only if PyTorch is not installed or has no CUDA support: an installed CUDA build shows that a wheel exists.

Source: file names of torch's wheels.
"""

from __future__ import annotations

from compat_matrix.versions import numbers
from compat_matrix.which_torch import USUAL

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.compatible import compatible_torch
from ..fixes.cpu_torch import cpu_torch
from ..fixes.machine import capabilities, python_version, wheel_platform
from ..fixes.python import new_python_fix
from ..fixes.which_torch import which_torch
from ..snapshot import Missing, Snapshot, known, need
from ._torch import gpu_needed, unlisted

CHECK = Check(
    __name__,
    title="torch has no wheel for this Python",
    sound="torch has a wheel for this Python",
    severity="error",
    layer="python",
    tags=("torch", "python"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails (warns while torch is merely absent) if no fitting torch build has a wheel for this Python."""
    absent = isinstance(s.torch.version, Missing)
    if isinstance(s.torch.version, Missing) and s.torch.version.reason != "absent":
        need("torch.version", s.torch.version)
    if not absent and (known(s.torch.build) != "cpu" or not gpu_needed(s, p)):
        raise Skip("torch is installed, so there was a wheel for this Python")
    if known(s.host.system) not in (None, "linux", "windows"):
        raise NotExamined("the matrix lists only wheels for Linux and Windows")
    if absent and p.expect.kind == "none" and "torch" not in p.require:
        raise Skip("torch is not installed", without="torch")
    need("python.patient.version", s.python.patient.version)
    python, platform = python_version(s) or "", wheel_platform(s)
    cards = capabilities(s, m)
    listed = m.torch_for_python(python, platform)
    if not listed and _newer_than_all(m, python, platform):
        raise unlisted(f"Python {python} is newer than this matrix")
    if listed and (not cards or which_torch(s, m) or not which_torch(s, m, any_python=True)):
        return
    condition = f" that supports this driver and compute capability {', '.join(cards)}" if listed else ""
    if gpu_needed(s, p) or p.expect.kind == "none":
        fix = new_python_fix(s, m, None if cards else USUAL) or compatible_torch(s, m)
    else:
        fix = cpu_torch(s, m)
    title = f"No torch build{condition} has a wheel for Python {python}"
    newest = f"The newest torch with a wheel for this Python is {listed[0].torch}." if listed else ""
    facts = {"python": python, "newest_torch": listed[0].torch if listed else None}
    say = CHECK.fail if not absent or "torch" in p.require else CHECK.warn
    yield say(title, newest, facts=facts, direct=False, fixes=(fix,) if fix else ())


def _newer_than_all(m: Matrix, python: str, platform: str) -> bool:
    known_ones = [numbers(name)[:2] for row in m.releases for name in getattr(row, f"pythons_{platform}")]
    return numbers(python)[:2] > max(known_ones, default=(0, 0))
