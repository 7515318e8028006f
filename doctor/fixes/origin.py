"""Where torch is imported from: until that place is repaired, installing torch elsewhere changes nothing."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from msgspec.structs import replace

from ..findings import Finding, Fix, Step
from ..findings.patterns import lazy
from ..snapshot import Distribution, Missing, Snapshot, known
from ..snapshot.typed import quoted
from .install import remove_line
from .packages import uninstall_command
from .selection import environment_with
from .where import RECHECK, recheck_run

_INSTALLS_TORCH = lazy(r"\binstall\b[^&;|]*\s'?(?:py)?torch(?:[=<>~\s]|$)")


def on_pythonpath(s: Snapshot) -> str:
    """The entry of PYTHONPATH that torch is imported from; empty where it is installed in the environment."""
    folder = (known(s.torch.location) or "").rpartition("/")[0]
    entries = (known(s.host.env("PYTHONPATH")) or "").split(":")
    return next((entry for entry in entries if entry and posixpath.normpath(entry) == folder), "")


def off_pythonpath(s: Snapshot, entry: str) -> Fix:
    """Take the entry off PYTHONPATH; unset it where nothing else is named."""
    value = known(s.host.env("PYTHONPATH")) or ""
    rest = ":".join(one for one in value.split(":") if one and one != entry)
    step = Step(
        text=f"Python imports torch from {entry}, which is listed in PYTHONPATH; pip does not install there. Also "
        "remove it where it is set: ~/.bashrc, the Dockerfile (ENV), the job script.",
        command=f"export PYTHONPATH={quoted(rest)}" if rest else "unset PYTHONPATH",
        where="shell",
        changes={
            **_without(s, posixpath.normpath(entry)),
            "host.environment": environment_with(s, "PYTHONPATH", rest or None),
        },
    )
    return Fix(id="fix-pythonpath", title=f"Remove {entry} from PYTHONPATH", steps=(step,))


def off_first_copy(s: Snapshot, copies: list[Distribution]) -> Fix | None:
    """The step that makes Python import the other copy, where the first is not an install of its own; else None."""
    entry, first = on_pythonpath(s), copies[0]
    base = known(s.host.env("PYTHONUSERBASE")) or "/.local"
    if f"{base.rstrip('/')}/lib/python" in first.location:
        return None  # the user's site folder: user-site-shadows-packages
    if entry:
        return off_pythonpath(s, entry)
    prefix = known(s.python.patient.prefix) or ""
    inside = [one for one in copies if prefix and one.location.startswith(f"{prefix}/")]
    if first.editable:
        step = Step(
            text="The first copy is an editable install: one uninstall removes its link and leaves the checkout alone.",
            command=uninstall_command(s, ("torch",)),
            where="environment",
            changes=_without(s, first.location),
        )
        return Fix(id="uninstall-editable-torch", title="Uninstall the editable torch", steps=(step,))
    if inside and first not in inside and inside[0].location in (known(s.python.patient.site_packages) or ()):
        site, folder = inside[0].location, re.sub(r"([][.*^$\\#])", r"\\\1", first.location)  # for sed's basic syntax
        beside = "[^[:alnum:]_./-]"  # the quotes in `import sys; sys.path.insert(0, "FOLDER")`
        edit = quoted(rf"\#^{folder}/*$#d;\#^import.*{beside}{folder}/*{beside}#d")
        step = Step(
            text=f"A .pth file in this environment adds {first.location}. Remove that line.",
            command=f"sed -i {edit} {quoted(site)}/*.pth",
            where="shell",  # the shell fills in the names: --apply starts none
            changes=_without(s, first.location),
        )
        return Fix(id="remove-pth-line", title=f"Remove {first.location} from the .pth file", steps=(step,))
    return None


def both_installers(s: Snapshot, copies: list[Distribution]) -> Step | None:
    """Remove torch with conda and pip if both wrote it into one folder: each considers the other's files its own,
    and conda installs nothing that its own records list already. None elsewhere."""
    if len({d.location for d in copies}) != 1 or len({d.installer == "conda" for d in copies}) != 2:
        return None
    left = s.python.distributions
    assert not isinstance(left, Missing)
    return Step(
        text="Remove torch with both conda and pip: each installed it into this environment, over the other's files.",
        command=f"{remove_line(s, ['torch'], True)} && {remove_line(s, ['torch'], False)}",
        where="environment",
        changes={**_rechecked(s), "python.distributions": tuple(d for d in left if d.name != "torch")},
    )


def _after(first: Step, fix: Fix) -> Fix:
    """The fix after this step, if it installs torch and does not begin with it."""
    installs = any(_INSTALLS_TORCH.search(step.command) for step in fix.steps)
    return replace(fix, steps=(first, *fix.steps)) if installs and fix.steps[0] != first else fix


def _without(s: Snapshot, folder: str) -> dict[str, Any]:
    """What changes once nothing is imported from a folder anymore."""
    left = known(s.python.distributions)
    rest = RECHECK if left is None else tuple(d for d in left if d.location != folder)
    return {**_rechecked(s), "python.distributions": rest}


def _rechecked(s: Snapshot) -> dict[str, Any]:
    facts = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    return {**facts, **recheck_run(s), "python.patient.torch_version": RECHECK}


def for_origin(s: Snapshot, finding: Finding) -> Finding:
    """The finding; a fix that installs torch makes way for the step that brings the environment's own copy back, if
    there is one. Where PYTHONPATH names the only copy, that is taken off first."""
    if not any(_INSTALLS_TORCH.search(step.command) for fix in finding.fixes for step in fix.steps):
        return finding
    copies = [d for d in known(s.python.distributions) or () if d.name == "torch"]
    if both := both_installers(s, copies):
        return replace(finding, fixes=tuple(_after(both, fix) for fix in finding.fixes))
    off = off_first_copy(s, copies) if len({d.location for d in copies}) > 1 else None
    if off:
        return replace(finding, fixes=(off,))
    if not on_pythonpath(s):
        return finding
    first = off_pythonpath(s, on_pythonpath(s)).steps[0]
    return replace(finding, fixes=tuple(replace(fix, steps=(first, *fix.steps)) for fix in finding.fixes))
