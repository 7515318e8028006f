"""Packages in the user's own site folder are imported before those of the environment or the image.

What is wrong: `~/.local/lib/python3.x/site-packages` comes first in sys.path (not in a venv). Packages that were
installed there with `pip install --user` hide those in the image or conda environment.

Symptoms: `torch.__version__` is not the version in the image; packages that were just upgraded keep their old
version; it works with sudo or as another user.

Why it happens: pip falls back to `--user` if the system folder is not writable; or the home folder is shared between
clusters and containers (Apptainer mounts it).

How to fix it: `export PYTHONNOUSERSITE=1`, or remove the copies in the user folder. A different Python's folder on
PYTHONPATH (ROS's setup.bash puts one there) has the same effect; in that case, use `env -u PYTHONPATH python`.

Source: PEP 370.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Findings, Fix, Matrix, Policy, Step
from ..findings.patterns import lazy
from ..fixes.install import pip_remove_line
from ..fixes.interpreter import executable
from ..fixes.where import RECHECK, recheck_run
from ..snapshot import Distribution, EnvVar, Snapshot, known, need
from ._torch import build_kind, gpu_needed
from ._user_site import in_user_site

CHECK = Check(
    __name__,
    title="The user's site folder hides packages in the environment",
    sound="The user's site folder does not hide a different version of any GPU package",
    severity="error",
    layer="python",
    tags=("torch", "python"),
    needs_gpu=False,
    source="peps.python.org/pep-0370",
)


_MATTERS = lazy(r"(torch|torchvision|torchaudio|torchtext|torchcodec|torchao|numpy|triton|nvidia-.*)$")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if a user-site copy with a different version is imported before the environment's; fails if torch fails, or
    if it is a CPU build that hides a build that is not."""
    distributions = need("python.distributions", s.python.distributions)
    hidden: list[tuple[Distribution, Distribution]] = []
    for name in sorted({d.name for d in distributions if in_user_site(s, d) and _MATTERS.match(d.name)}):
        copies = [d for d in distributions if d.name == name]
        rest = [d for d in copies if not in_user_site(s, d)]
        if in_user_site(s, copies[0]) and rest and rest[0].version != copies[0].version:
            hidden.append((copies[0], rest[0]))
    if not hidden:
        return
    words = ", ".join(f"{user.name} {user.version} hides {own.version}" for user, own in hidden[:6])
    facts = {user.name: {"imported": user.version, "hidden": own.version} for user, own in hidden}
    own_builds = [own for user, own in hidden if user.name == "torch" and not own.version.endswith("+cpu")]
    without_gpu = bool(own_builds) and build_kind(s) == "cpu" and gpu_needed(s, p)  # the environment's own may use it
    say = CHECK.fail if without_gpu or known(s.torch_run.imported) is False else CHECK.warn
    yield say(
        f"The user's site folder hides {len(hidden)} package{'s' if len(hidden) > 1 else ''} in this environment",
        f"{hidden[0][0].location} is searched first: {words}.",
        facts=facts,
        fixes=_fixes(s, hidden),
    )


def _fixes(s: Snapshot, hidden: list[tuple[Distribution, Distribution]]) -> tuple[Fix, ...]:
    """For a system's Python one uninstall, which removes the user's copy; in an environment, turn the folder off."""
    off = _no_user_site(s, hidden)
    if known(s.python.patient.kind) != "system" or known(s.python.patient.externally_managed) is not False:
        return (off,)
    names = [user.name for user, _ in hidden[:8]]
    step = Step(
        text="Remove the user's copies: pip uninstalls the copy that is imported, and keeps the system's copy.",
        command=pip_remove_line(names, f"{executable(s)} -m pip"),
        where="environment",
        changes=off.steps[0].changes | {"host.environment": s.host.environment},
    )
    return Fix(id="uninstall-user-copies", title="Uninstall the copies in the user's site folder", steps=(step,)), off


def _no_user_site(s: Snapshot, hidden: list[tuple[Distribution, Distribution]]) -> Fix:
    left = tuple(d for d in known(s.python.distributions) or () if not in_user_site(s, d))
    changes: dict[str, Any] = {**recheck_run(s), "python.distributions": left}
    environment = known(s.host.environment)
    if environment is not None:
        changes["host.environment"] = (*environment, EnvVar("PYTHONNOUSERSITE", "1"))
    own = next((own for user, own in hidden if user.name == "torch"), None)
    if own:
        changes.update({f"torch.{name}": RECHECK for name in s.torch.__struct_fields__})
        changes["python.patient.torch_version"] = RECHECK
    step = Step(
        text="Turn the user site folder off (in a Dockerfile or job script, set the variable there).",
        command="export PYTHONNOUSERSITE=1",
        where="shell",
        changes=changes,
    )
    line = pip_remove_line([user.name for user, _ in hidden[:8]])
    return Fix(
        id="no-user-site",
        title="Turn the user site folder off",
        steps=(step,),
        note=f"Or remove the copies permanently, from outside the environment:\n  {line}",
    )
