"""One driver serves all GPUs of a machine: which ones it supports, and what each choice loses, before installing it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..findings import Finding, Fix, Matrix
from ..findings.patterns import lazy
from ..snapshot import Snapshot, known
from .driver import install_compatible, other_host
from .machine import cards, driver_platform
from .where import another_machine, driver_changes, guest

_NOT_DRIVEN = ("too-old", "too-new", "needs-open-module", "open-module-unsupported")


def lost_by(s: Snapshot, m: Matrix, branch: int, flavour: str) -> list[str]:
    """Names of the GPUs that this driver does not support."""
    platform = driver_platform(s)
    judged = [(name, m.driver_for_gpu(str(branch), cc, flavour or None, platform)) for name, cc in cards(s, m).values()]
    return sorted({name for name, grade in judged if grade.grade in _NOT_DRIVEN})


def for_every_card(s: Snapshot, m: Matrix, fixes: tuple[Fix, ...], branch: int, flavour: str) -> tuple[Fix, ...]:
    """The fixes that install this driver: unchanged if it supports every GPU; otherwise with what is lost, and after
    the choice that loses nothing, putting the GPUs in two machines."""
    lost = lost_by(s, m, branch, flavour)
    if not lost:
        return fixes
    kept = sorted({name for name, _ in cards(s, m).values()} - set(lost))
    if not kept:
        return fixes
    names = " and ".join(lost)
    changed = []
    for fix in fixes:
        if not fix.id.startswith("install-"):
            changed.append(fix)
            continue
        text = f"No driver supports all GPUs in this machine: with this one, {names} can no longer be used."
        changed.append(_with_loss(fix, names, text))
    what = f"Use {' and '.join(kept)} and {names} in two machines: no driver supports both."
    apart = Fix(
        id="separate-gpus",
        title="Put the GPUs in two machines",
        steps=(replace(another_machine(s, "", driver_changes()), text=what),),
    )
    away = [fix for fix in changed if fix.id == other_host(s, "").id]
    return (*away, apart, *(fix for fix in changed if fix not in away))


_LOADS = lazy(r"\breboot\b|\bmodprobe\b.*\bnvidia\b")
_INSTALLS = lazy(r"install-|equal-driver-packages")


def for_reboot(s: Snapshot, m: Matrix, finding: Finding) -> Finding:
    """The finding; fixes that reboot or load the module again are judged by the driver that then runs: of another
    branch than the module that is loaded, it may support fewer GPUs. A branch that supports all replaces them."""
    loaded = known(s.driver.kernel_version) or ""
    disk = known(s.driver.nvml_library_version) or ""
    branch, before = _branch(disk), _branch(loaded)
    loads = any(_loads(fix) for fix in finding.fixes)
    if not loads or not branch or not before or branch == before or guest(s) or driver_platform(s) == "windows":
        return finding
    lost = sorted({*lost_by(s, m, branch, "")} - {*lost_by(s, m, before, "")})
    if not lost:
        return finding
    names = " and ".join(lost)
    text = f"A reboot would load the installed driver {disk}, which no longer supports {names}."
    return replace(finding, fixes=tuple(_with_text(fix, text) for fix in install_compatible(s, m)))


def _branch(version: str) -> int:
    return int(found[0]) if (found := re.match(r"\d+", version)) else 0


def _loads(fix: Fix) -> bool:
    return not _INSTALLS.match(fix.id) and any(_LOADS.search(step.command) for step in fix.steps)


def _with_loss(fix: Fix, names: str, text: str) -> Fix:
    return replace(_with_text(fix, text), title=f"{fix.title}, and lose {names}")


def _with_text(fix: Fix, text: str) -> Fix:
    first, *rest = fix.steps
    return replace(fix, steps=(replace(first, text=f"{text} {first.text}"), *rest))
